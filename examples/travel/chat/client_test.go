package chat_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/examples/travel/chat"
)

const apiKey = "sk-test-0123456789"

// dial returns a client of a server that answers with h.
func dial(t *testing.T, h http.HandlerFunc, edit ...func(*chat.Config)) *chat.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	cfg := chat.Config{BaseURL: server.URL + "/v1", APIKey: apiKey}
	for _, e := range edit {
		e(&cfg)
	}
	c, err := chat.New(cfg)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func text(s string) *string { return &s }

var hello = chat.Request{Model: "m", Messages: []chat.Message{{Role: "user", Content: text("hello")}}}

func TestRequest_format(t *testing.T) {
	t.Parallel()
	var got map[string]any
	var path, auth, kind string
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		path, auth, kind = r.Method+" "+r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type")
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&got))
		answer(200, `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`)(w, r)
	})
	_, err := c.Complete(t.Context(), chat.Request{
		Model: "m",
		Messages: []chat.Message{
			{Role: "user", Content: text("hello")},
			{Role: "assistant", ToolCalls: []chat.ToolCall{{ID: "c1", Type: "function", Function: chat.Function{Name: "f", Arguments: `{}`}}}},
			{Role: "tool", ToolCallID: "c1", Content: text("")},
		},
		Tools: []chat.Tool{{Type: "function", Function: chat.Describe{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)}}},
	})
	require.NoError(t, err)
	assert.Equal(t, "POST /v1/chat/completions", path)
	assert.Equal(t, "Bearer "+apiKey, auth)
	assert.Equal(t, "application/json", kind)
	want := `{"model":"m","messages":[
		{"role":"user","content":"hello"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":""}],
		"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	assert.JSONEq(t, want, string(raw))
}

func TestReply_textCallsUsage(t *testing.T) {
	t.Parallel()
	c := dial(t, answer(200, `{"choices":[{"message":{"role":"assistant","content":"let me see",
		"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}],
		"usage":{"prompt_tokens":7,"completion_tokens":3}}`))
	got, err := c.Complete(t.Context(), hello)
	require.NoError(t, err)
	assert.Equal(t, chat.Reply{
		Content:      "let me see",
		ToolCalls:    []chat.ToolCall{{ID: "a", Type: "function", Function: chat.Function{Name: "f", Arguments: `{"x":1}`}}},
		FinishReason: "tool_calls", TokensIn: 7, TokensOut: 3,
	}, got)
}

func TestStatusErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status     int
		retryAfter string
		body       string
		want       []string
	}{
		{401, "", `{"error":{"message":"Incorrect API key provided: ` + apiKey + `"}}`, []string{"401 Unauthorized", "check the API key", "Incorrect API key provided: [API key]"}},
		{403, "", ``, []string{"403 Forbidden", "check the API key"}},
		{404, "", `page not found`, []string{"404 Not Found", "check the base URL and the model", "page not found"}},
		{429, "20", `{"error":{"message":"slow down"}}`, []string{"429 Too Many Requests", "retry after 20 s", "slow down"}},
		{429, "whenever", ``, []string{"429 Too Many Requests", "retry later"}},
		{500, "", "<html>\n\n oops\x1b[2J \x00</html>", []string{"500 Internal Server Error", "<html> oops [2J </html>"}},
		{307, "", ``, []string{"307 Temporary Redirect", "redirects aren't followed"}},
		{204, "", ``, []string{"204 No Content"}},
	}
	for _, tt := range tests {
		t.Run(http.StatusText(tt.status)+tt.retryAfter, func(t *testing.T) {
			t.Parallel()
			c := dial(t, func(w http.ResponseWriter, r *http.Request) {
				if tt.retryAfter != "" {
					w.Header().Set("Retry-After", tt.retryAfter)
				}
				if tt.status == http.StatusTemporaryRedirect {
					w.Header().Set("Location", "/elsewhere")
				}
				answer(tt.status, tt.body)(w, r)
			})
			_, err := c.Complete(t.Context(), hello)
			var status *chat.StatusError
			require.ErrorAs(t, err, &status)
			assert.Equal(t, tt.status, status.Status)
			for _, want := range tt.want {
				assert.ErrorContains(t, err, want)
			}
			assert.NotContains(t, err.Error(), apiKey)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestStatusError_excerpt(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"long text":              strings.Repeat("ñ", 100_000),
		"key at the text's end":  strings.Repeat(" ", 4096-5) + apiKey,
		"key across the excerpt": strings.Repeat("x", 190) + apiKey,
		"key behind spaces":      strings.Repeat(" ", 4000) + strings.Repeat("x", 90) + apiKey + apiKey,
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := dial(t, answer(500, body)).Complete(t.Context(), hello)
			var status *chat.StatusError
			require.ErrorAs(t, err, &status)
			assert.LessOrEqual(t, len([]rune(status.Excerpt)), 201)
			assert.NotContains(t, err.Error(), "sk-te")
		})
	}
}

func TestReply_noCompletion(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ body, want string }{
		"malformed JSON":  {`{"choices":[`, "it isn't JSON"},
		"HTML":            {`<!doctype html>`, "it isn't JSON"},
		"empty":           {``, "it isn't JSON"},
		"trailing data":   {`{"choices":[]} {}`, "it isn't JSON"},
		"wrong type":      {`{"choices":[{"message":{"content":7}}]}`, "content is a JSON number"},
		"array":           {`[]`, "it is a JSON array"},
		"no choices":      {`{"choices":[]}`, "without choices"},
		"null":            {`null`, "without choices"},
		"error with 200":  {`{"error":{"message":"model not loaded"}}`, "sent an error: model not loaded"},
		"empty message":   {`{"choices":[{"message":{"content":null},"finish_reason":"stop"}]}`, "empty reply"},
		"calls missing":   {`{"choices":[{"message":{"content":""},"finish_reason":"tool_calls"}]}`, "empty reply"},
		"cut off":         {`{"choices":[{"message":{"content":"Booked a"},"finish_reason":"length"}]}`, "cut its reply off"},
		"content filter":  {`{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}`, "content filter"},
		"over the bounds": {`{"choices":[{"message":{"content":"` + strings.Repeat("x", 2000) + `"}}]}`, "more than 1000 bytes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, answer(200, tt.body), func(cfg *chat.Config) { cfg.MaxBytes = 1000 })
			_, err := c.Complete(t.Context(), hello)
			require.ErrorContains(t, err, tt.want)
			assert.Less(t, len(err.Error()), 500)
		})
	}
}

func TestClient_endpointDown(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	c, err := chat.New(chat.Config{BaseURL: "http://user:secret@" + l.Addr().String() + "/v1?key=secret", APIKey: apiKey})
	require.NoError(t, err)
	_, err = c.Complete(t.Context(), hello)
	require.ErrorContains(t, err, "the model endpoint http://"+l.Addr().String()+"/v1/chat/completions can't be reached")
	assert.NotContains(t, err.Error(), "secret")
}

func TestClient_connectionBreaksOff(t *testing.T) {
	t.Parallel()
	c := dial(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"choices"`)
	})
	_, err := c.Complete(t.Context(), hello)
	require.ErrorContains(t, err, "broke off its reply")
}

// hang answers nothing until the client has gone.
func hang(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // else the server doesn't notice
	<-r.Context().Done()
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	c := dial(t, hang, func(cfg *chat.Config) { cfg.Timeout = 20 * time.Millisecond })
	_, err := c.Complete(t.Context(), hello)
	require.ErrorContains(t, err, "no complete reply within 20ms")
}

func TestClient_ctxIsObeyed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		hang(w, r)
	})
	_, err := c.Complete(ctx, hello)
	require.ErrorIs(t, err, context.Canceled)

	late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	_, err = c.Complete(late, hello)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "localhost:11434", "ftp://localhost", "http://", "http://%zz", "/v1"} {
		_, err := chat.New(chat.Config{BaseURL: bad})
		assert.ErrorContains(t, err, "the base URL must be like", bad)
	}
	for _, good := range []string{"http://localhost:11434/v1", "http://localhost:11434/v1/", " https://example.com "} {
		_, err := chat.New(chat.Config{BaseURL: good})
		assert.NoError(t, err, good)
	}
}

func TestClient_keyIsNoHeader(t *testing.T) {
	t.Parallel()
	c := dial(t, answer(200, `{}`), func(cfg *chat.Config) { cfg.APIKey = "sk-secret\nmore" })
	_, err := c.Complete(t.Context(), hello)
	require.Error(t, err)
	assert.NotErrorIs(t, err, context.Canceled)
	assert.NotContains(t, err.Error(), "sk-secret")
}

// begun sends a status, the beginning of a body, and then calls rest.
func begun(status int, body string, rest func(http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
		rest(w, r)
	}
}

func TestStatusError_bodyThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	bodies := map[string]func(http.ResponseWriter, *http.Request){
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for err := error(nil); err == nil; {
				_, err = io.WriteString(w, "more ")
			}
		},
		"breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	for name, rest := range bodies {
		for _, status := range []int{307, 401, 403, 404, 418, 429, 500, 503} {
			t.Run(name+http.StatusText(status), func(t *testing.T) {
				t.Parallel()
				c := dial(t, begun(status, "said so far", rest), func(cfg *chat.Config) { cfg.Timeout = 100 * time.Millisecond })
				_, err := c.Complete(t.Context(), hello)
				var got *chat.StatusError
				require.ErrorAs(t, err, &got)
				assert.Equal(t, status, got.Status)
				assert.True(t, strings.HasPrefix(got.Excerpt, "said so far"), got.Excerpt)
				assert.NotErrorIs(t, err, context.DeadlineExceeded)
				assert.NotContains(t, err.Error(), "within")
			})
		}
	}
}

func TestStatusError_bodyIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	c := dial(t, begun(401, "no", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // less than the client's own
	defer cancel()
	_, err := c.Complete(ctx, hello)
	var got *chat.StatusError
	require.ErrorAs(t, err, &got)
	assert.NoError(t, ctx.Err())
}

func TestStatusError_ctxDoneBehindIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := dial(t, begun(429, "", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	_, err := c.Complete(ctx, hello)
	require.ErrorIs(t, err, context.Canceled)
}

func TestStatusError_keyIsCutOff(t *testing.T) {
	t.Parallel()
	for n := range len(apiKey) {
		c := dial(t, begun(401, "the key ("+apiKey[:n+1], func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		_, err := c.Complete(t.Context(), hello)
		var got *chat.StatusError
		require.ErrorAs(t, err, &got)
		assert.Equal(t, "the key (", got.Excerpt)
	}
}

func TestTimeout_bodyOfAReplyHangs(t *testing.T) {
	t.Parallel()
	c := dial(t, begun(200, `{"choices":[`, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		func(cfg *chat.Config) { cfg.Timeout = 50 * time.Millisecond })
	_, err := c.Complete(t.Context(), hello)
	require.ErrorContains(t, err, "no complete reply within 50ms")
}
