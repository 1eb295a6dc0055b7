// What a caller sees of a reply that comes piece by piece, and that it is the
// same in the end as one that comes whole.

package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/examples/travel/chat"
)

// events answers with server-sent events of these data, each flushed.
func events(data ...string) http.HandlerFunc { return eventsThen(nil, data...) }

// eventsThen calls then, if it isn't nil, behind the events.
func eventsThen(then func(http.ResponseWriter, *http.Request), data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, d := range data {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", d)
			_ = http.NewResponseController(w).Flush()
		}
		if then != nil {
			then(w, r)
		}
	}
}

// delta is the data of an event with this delta.
func delta(d string) string {
	return `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}],"usage":null}`
}

// finish is the data of the event that says why the model ended.
func finish(why string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + why + `"}]}`
}

const (
	done    = "[DONE]"
	counted = `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}`
)

// stream returns what Stream does, and the pieces.
func stream(t *testing.T, c *chat.Client) ([]chat.Piece, chat.Reply, error) {
	t.Helper()
	var pieces []chat.Piece
	reply, err := c.Stream(t.Context(), hello, func(p chat.Piece) error {
		pieces = append(pieces, p)
		return nil
	})
	return pieces, reply, err
}

func TestStream_request(t *testing.T) {
	t.Parallel()
	var path, auth, accept string
	var raw []byte
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		path, auth, accept = r.Method+" "+r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Accept")
		raw, _ = io.ReadAll(r.Body)
		events(delta(`{"content":"hi"}`), done)(w, r)
	})
	_, _, err := stream(t, c)
	require.NoError(t, err)
	assert.Equal(t, "POST /v1/chat/completions", path)
	assert.Equal(t, "Bearer "+apiKey, auth)
	assert.Contains(t, accept, "text/event-stream")
	assert.JSONEq(t, `{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true,"stream_options":{"include_usage":true}}`, string(raw))
}

func TestStream_textCallsUsage(t *testing.T) {
	t.Parallel()
	c := dial(t, events(
		delta(`{"role":"assistant","content":""}`),
		delta(`{"content":"let "}`), delta(`{"content":"me see"}`),
		delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`),
		finish("tool_calls"), counted, done,
	))
	pieces, reply, err := stream(t, c)
	require.NoError(t, err)
	assert.Equal(t, []chat.Piece{
		{Text: "let "}, {Text: "me see"},
		{Tool: true, ID: "a", Name: "f"},
		{Tool: true, ID: "a", Name: "f", Text: `{"x"`},
		{Tool: true, ID: "a", Name: "f", Text: `:1}`},
	}, pieces)
	assert.Equal(t, chat.Reply{
		Content:      "let me see",
		ToolCalls:    []chat.ToolCall{{ID: "a", Type: "function", Function: chat.Function{Name: "f", Arguments: `{"x":1}`}}},
		FinishReason: "tool_calls", TokensIn: 7, TokensOut: 3,
	}, reply)
}

// Servers differ in how they cut calls up. "id name arguments" of each is told.
func TestStream_toolCalls(t *testing.T) {
	t.Parallel()
	call := func(index, id, name, args string) string {
		fields := []string{}
		if index != "" {
			fields = append(fields, `"index":`+index)
		}
		if id != "" {
			fields = append(fields, fmt.Sprintf(`"id":%q`, id))
		}
		return fmt.Sprintf(`{%s}`, strings.Join(append(fields, fmt.Sprintf(`"function":{"name":%q,"arguments":%q}`, name, args)), ","))
	}
	tests := map[string]struct {
		calls []string // an event each
		want  []string
	}{
		"one in one":             {[]string{call("0", "a", "f", "{}")}, []string{"a f {}"}},
		"two in one event":       {[]string{call("0", "a", "f", "{}") + "," + call("1", "b", "g", "[]")}, []string{"a f {}", "b g []"}},
		"one after the other":    {[]string{call("0", "a", "f", ""), call("0", "", "", "{}"), call("1", "b", "g", ""), call("1", "", "", "[]")}, []string{"a f {}", "b g []"}},
		"alternating":            {[]string{call("0", "a", "f", "{"), call("1", "b", "g", "["), call("0", "", "", "}"), call("1", "", "", "]")}, []string{"a f {}", "b g []"}},
		"indices with holes":     {[]string{call("7", "a", "f", "{"), call("-3", "b", "g", "["), call("7", "", "", "}"), call("-3", "", "", "]")}, []string{"a f {}", "b g []"}},
		"a name in pieces":       {[]string{call("0", "a", "find_", ""), call("0", "", "tra", ""), call("0", "", "ins", "{}")}, []string{"a find_trains {}"}},
		"a name of equal pieces": {[]string{call("0", "a", "ha", ""), call("0", "", "ha", "{}")}, []string{"a haha {}"}},
		"an ID that comes late":  {[]string{call("0", "", "f", "{"), call("0", "a", "", "}")}, []string{"a f {}"}},
		"ID and name each time":  {[]string{call("0", "a", "f", "{"), call("0", "a", "f", "}")}, []string{"a f {}"}},
		"ID each time":           {[]string{call("0", "a", "f", "{"), call("0", "a", "", "}")}, []string{"a f {}"}},
		"ID with pieces of it":   {[]string{call("0", "a", "find_", ""), call("0", "a", "trains", "{}")}, []string{"a find_trains {}"}},
		"a new ID each time":     {[]string{call("0", "a", "f", "{"), call("0", "b", "", "}")}, []string{"a f {}"}},
		"no index":               {[]string{call("", "a", "f", "{"), call("", "", "", "}"), call("", "b", "g", "["), call("", "", "", "]")}, []string{"a f {}", "b g []"}},
		"index 0 for all":        {[]string{call("0", "a", "f", "{}"), call("0", "b", "f", "["), call("0", "", "", "]")}, []string{"a f {}", "b f []"}},
		"no ID at all":           {[]string{call("0", "", "f", "{}"), call("1", "", "f", "[]")}, []string{" f {}", " f []"}},
		"no arguments":           {[]string{call("0", "a", "f", "")}, []string{"a f "}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var data []string
			for _, c := range tt.calls {
				data = append(data, delta(`{"tool_calls":[`+c+`]}`))
			}
			pieces, reply, err := stream(t, dial(t, events(append(data, finish("tool_calls"), done)...)))
			require.NoError(t, err)
			var got []string
			for _, c := range reply.ToolCalls {
				got = append(got, c.ID+" "+c.Function.Name+" "+c.Function.Arguments)
			}
			assert.Equal(t, tt.want, got)
			args := make([]string, len(reply.ToolCalls))
			for _, p := range pieces {
				require.True(t, p.Tool)
				args[p.Index] += p.Text
			}
			for i, c := range reply.ToolCalls {
				assert.Equal(t, c.Function.Arguments, args[i], "the pieces are the whole")
			}
		})
	}
}

func TestStream_ends(t *testing.T) {
	t.Parallel()
	hi := delta(`{"content":"hi"}`)
	tests := map[string]struct {
		data []string
		want chat.Reply
	}{
		"all there is":         {[]string{hi, finish("stop"), counted, done}, chat.Reply{Content: "hi", FinishReason: "stop", TokensIn: 7, TokensOut: 3}},
		"no usage":             {[]string{hi, finish("stop"), done}, chat.Reply{Content: "hi", FinishReason: "stop"}},
		"no DONE":              {[]string{hi, finish("stop"), counted}, chat.Reply{Content: "hi", FinishReason: "stop", TokensIn: 7, TokensOut: 3}},
		"no reason":            {[]string{hi, done}, chat.Reply{Content: "hi"}},
		"more behind DONE":     {[]string{hi, finish("stop"), done + " ", hi, `{`}, chat.Reply{Content: "hi", FinishReason: "stop"}},
		"usage with each":      {[]string{`{"choices":[{"delta":{"content":"hi"}}],"usage":{"completion_tokens":1}}`, counted, done}, chat.Reply{Content: "hi", TokensIn: 7, TokensOut: 3}},
		"another choice":       {[]string{hi, `{"choices":[{"index":1,"delta":{"content":"ho"},"finish_reason":"length"}]}`, done}, chat.Reply{Content: "hi"}},
		"events without sense": {[]string{``, ` `, `{}`, `null`, `{"choices":null}`, `{"choices":[{}]}`, hi, `{"error":null}`, done}, chat.Reply{Content: "hi"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pieces, reply, err := stream(t, dial(t, events(tt.data...)))
			require.NoError(t, err)
			assert.Equal(t, tt.want, reply)
			assert.Equal(t, []chat.Piece{{Text: "hi"}}, pieces)
		})
	}
}

func TestStream_noCompletion(t *testing.T) {
	t.Parallel()
	hi := delta(`{"content":"hi"}`)
	tests := map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"nothing":            {events(), "broke off its reply"},
		"text alone":         {events(hi), "broke off its reply"},
		"usage without end":  {events(hi, counted), "broke off its reply"},
		"DONE not ended":     {eventsThen(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "data: [DONE]\n") }, hi), "broke off its reply"},
		"connection breaks":  {eventsThen(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, hi), "broke off its reply"},
		"breaks behind it":   {eventsThen(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, hi, finish("stop")), "broke off its reply"},
		"malformed JSON":     {events(hi, `{"choices":[`, done), "isn't of a chat completion (it isn't JSON): {\"choices\":["},
		"wrong type":         {events(hi, delta(`{"content":7}`), done), "content is a JSON number"},
		"no JSON":            {events("hello", done), "it isn't JSON"},
		"error":              {events(hi, `{"error":{"message":"out of memory"}}`, done), "sent an error: out of memory"},
		"error behind it":    {events(hi, finish("stop"), `{"error":{"message":"out of memory"}}`, done), "sent an error: out of memory"},
		"error with the key": {events(`{"error":{"message":"bad key ` + apiKey + `"}}`), "sent an error: bad key [API key]"},
		"error by its name": {eventsThen(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "event: error\ndata: overloaded\n\ndata: [DONE]\n\n")
		}, hi), "sent an error: overloaded"},
		"nothing said":    {events(finish("stop"), done), "empty reply"},
		"cut off":         {events(hi, finish("length"), done), "cut its reply off"},
		"content filter":  {events(hi, finish("content_filter"), done), "content filter"},
		"a long text":     {events(delta(`{"content":"`+strings.Repeat("x", 600)+`"}`), delta(`{"content":"`+strings.Repeat("x", 600)+`"}`), done), "more than 1000 bytes"},
		"long arguments":  {events(delta(`{"tool_calls":[{"function":{"arguments":"`+strings.Repeat("x", 600)+`"}}]}`), delta(`{"tool_calls":[{"function":{"arguments":"`+strings.Repeat("x", 600)+`"}}]}`), done), "more than 1000 bytes"},
		"a long event":    {events(delta(`{"content":"` + strings.Repeat("x", 2000) + `"}`)), "more than 1000 bytes"},
		"a line for good": {eventsThen(func(w http.ResponseWriter, _ *http.Request) { endless(w, "x") }), "more than 1000 bytes"},
		"comments no end": {eventsThen(func(w http.ResponseWriter, _ *http.Request) { endless(w, ": still there\n\n") }), "more than 1000 bytes"},
		"calls without end": {eventsThen(func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				_, _ = fmt.Fprintf(w, "data: %s\n\n", delta(fmt.Sprintf(`{"tool_calls":[{"index":%d}]}`, i)))
			}
		}), "more than 1000 bytes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, tt.h, func(cfg *chat.Config) { cfg.MaxBytes = 1000 })
			_, reply, err := stream(t, c)
			require.ErrorContains(t, err, tt.want)
			assert.ErrorContains(t, err, "/v1/chat/completions ")
			assert.Less(t, len(err.Error()), 500)
			assert.NotContains(t, err.Error(), apiKey)
			assert.Zero(t, reply)
		})
	}
}

// endless writes text until the client has gone.
func endless(w http.ResponseWriter, text string) {
	for err := error(nil); err == nil; {
		_, err = io.WriteString(w, text)
	}
}

// A server that doesn't know streams answers as it would have anyway, with the
// same errors.
func TestStream_serverDoesNotStream(t *testing.T) {
	t.Parallel()
	c := dial(t, answer(200, `{"choices":[{"message":{"content":"let me see","tool_calls":[
		{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},
		{"id":"b","type":"function","function":{"name":"g","arguments":"[]"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7}}`))
	pieces, reply, err := stream(t, c)
	require.NoError(t, err)
	assert.Equal(t, []chat.Piece{
		{Text: "let me see"},
		{Tool: true, Index: 0, ID: "a", Name: "f", Text: "{}"},
		{Tool: true, Index: 1, ID: "b", Name: "g", Text: "[]"},
	}, pieces)
	whole, err := c.Complete(t.Context(), hello)
	require.NoError(t, err)
	assert.Equal(t, whole, reply)

	for body, want := range map[string]string{
		`<!doctype html>`:                    "isn't a chat completion (it isn't JSON)",
		`{"error":{"message":"not loaded"}}`: "sent an error: not loaded",
		`{"choices":[{"message":{"content":"a"},"finish_reason":"length"}]}`: "cut its reply off",
		strings.Repeat(" ", 2000): "more than 1000 bytes",
	} {
		pieces, _, err := stream(t, dial(t, answer(200, body), func(cfg *chat.Config) { cfg.MaxBytes = 1000 }))
		require.ErrorContains(t, err, want)
		assert.Empty(t, pieces)
	}
}

func TestStream_statusErrors(t *testing.T) {
	t.Parallel()
	for _, status := range []int{204, 307, 400, 401, 404, 429, 500, 503} {
		c := dial(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "20")
			answer(status, `{"error":{"message":"no, `+apiKey+`"}}`)(w, r)
		})
		_, plain := c.Complete(t.Context(), hello)
		_, _, err := stream(t, c)
		var got *chat.StatusError
		require.ErrorAs(t, err, &got)
		assert.Equal(t, status, got.Status)
		assert.Equal(t, plain, err, "as the plain call has it")
	}
}

func TestStream_statusErrorWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]func(http.ResponseWriter, *http.Request){
		"hangs":   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"endless": func(w http.ResponseWriter, _ *http.Request) { endless(w, "more ") },
		"breaks":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		for _, timeout := range []time.Duration{50 * time.Millisecond, time.Hour} {
			t.Run(name+timeout.String(), func(t *testing.T) {
				t.Parallel()
				c := dial(t, begun(503, "said so far", rest), func(cfg *chat.Config) { cfg.Timeout = timeout })
				_, _, err := stream(t, c)
				var got *chat.StatusError
				require.ErrorAs(t, err, &got)
				assert.True(t, strings.HasPrefix(got.Excerpt, "said so far"), got.Excerpt)
			})
		}
	}
}

func TestStream_endpointDown(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	c, err := chat.New(chat.Config{BaseURL: "http://user:secret@" + l.Addr().String() + "/v1"})
	require.NoError(t, err)
	_, _, err = stream(t, c)
	require.ErrorContains(t, err, "can't be reached")
	assert.NotContains(t, err.Error(), "secret")
}

func TestStream_silence(t *testing.T) {
	t.Parallel()
	wait := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, h := range map[string]http.HandlerFunc{
		"before the answer":   hang,
		"before an event":     eventsThen(wait, ""),
		"within a reply":      eventsThen(wait, delta(`{"content":"hi"}`)),
		"within an event":     eventsThen(func(w http.ResponseWriter, r *http.Request) { begunEvent(w); wait(w, r) }, delta(`{"content":"hi"}`)),
		"before DONE":         eventsThen(wait, delta(`{"content":"hi"}`), finish("stop")),
		"within a whole body": begun(200, `{"choices":[`, wait),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, h, func(cfg *chat.Config) { cfg.Timeout = 50 * time.Millisecond })
			_, _, err := stream(t, c)
			require.ErrorContains(t, err, "sent nothing for 50ms")
			assert.NotErrorIs(t, err, context.Canceled)
		})
	}
}

func begunEvent(w http.ResponseWriter) {
	_, _ = io.WriteString(w, "data: {")
	_ = http.NewResponseController(w).Flush()
}

func TestStream_ctxIsObeyed(t *testing.T) {
	t.Parallel()
	wait := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	hi := delta(`{"content":"hi"}`)
	cancelled := func(h func(cancel func()) http.HandlerFunc) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := dial(t, h(cancel)).Stream(ctx, hello, func(chat.Piece) error { return nil })
		return err
	}
	for name, h := range map[string]func(cancel func()) http.HandlerFunc{
		"before the answer": func(cancel func()) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { cancel(); hang(w, r) }
		},
		"within a reply": func(cancel func()) http.HandlerFunc {
			return eventsThen(func(w http.ResponseWriter, r *http.Request) { cancel(); wait(w, r) }, hi)
		},
		"within an error": func(cancel func()) http.HandlerFunc {
			return begun(429, "no", func(w http.ResponseWriter, r *http.Request) { cancel(); wait(w, r) })
		},
	} {
		require.ErrorIs(t, cancelled(h), context.Canceled, name)
	}

	late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	_, err := dial(t, events(hi, done)).Stream(late, hello, func(chat.Piece) error { return nil })
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// Pieces that are there already aren't handed over once ctx is done.
func TestStream_cancelledByAPiece(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := dial(t, events(delta(`{"content":"a"}`), delta(`{"content":"b"}`), delta(`{"content":"c"}`), done))
	pieces := 0
	_, err := c.Stream(ctx, hello, func(chat.Piece) error {
		pieces++
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, pieces)
}

func TestStream_errorOfAPiece(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	gone := make(chan struct{})
	streams := eventsThen(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(gone)
	}, delta(`{"content":"a"}`), delta(`{"tool_calls":[{"index":0,"id":"a"}]}`))
	whole := answer(200, `{"choices":[{"message":{"content":"a","tool_calls":[{"id":"a"},{"id":"b"}]}}]}`)
	for name, h := range map[string]http.HandlerFunc{"streams": streams, "doesn't stream": whole} {
		for last := 1; last <= 2; last++ {
			if name == "streams" && last == 1 {
				continue // one connection, one goodbye
			}
			pieces := 0
			_, err := dial(t, h).Stream(t.Context(), hello, func(chat.Piece) error {
				if pieces++; pieces == last {
					return enough
				}
				return nil
			})
			assert.Same(t, enough, err, name)
			assert.Equal(t, last, pieces, name)
		}
	}
	<-gone // the endpoint need say no more
}

// The callback's error is the caller's own, also where ctx is done.
func TestStream_errorOfAPieceThatCancels(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := dial(t, events(delta(`{"content":"a"}`), done)).Stream(ctx, hello, func(chat.Piece) error {
		cancel()
		return enough
	})
	assert.Same(t, enough, err)
}

func TestStream_everyByteOnItsOwn(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, d := range []string{delta(`{"content":"Lucía "}`), delta(`{"content":"天😀"}`),
		delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":3}"}}]}`), finish("tool_calls"), counted, done} {
		fmt.Fprintf(&text, ": comment\r\ndata: %s\r\n\r\n", d)
	}
	c := dial(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, b := range []byte(text.String()) {
			_, _ = w.Write([]byte{b})
			_ = http.NewResponseController(w).Flush()
		}
	})
	pieces, reply, err := stream(t, c)
	require.NoError(t, err)
	assert.Len(t, pieces, 3)
	raw, err := json.Marshal(reply)
	require.NoError(t, err)
	assert.JSONEq(t, `{"Content":"Lucía 天😀","ToolCalls":[{"id":"a","type":"","function":{"name":"f","arguments":"{\"n\":3}"}}],
		"FinishReason":"tool_calls","TokensIn":7,"TokensOut":3}`, string(raw))
}
