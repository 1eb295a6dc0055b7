// The model's words as server-sent events: the same as in one reply, in pieces
// that cut words and numbers, each sent as it is said.

package modelserver_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/examples/travel/chat"
	"github.com/loophooks/hooks/examples/travel/modelserver"
)

// streamed asks for a stream of the reply to body.
func streamed(body string) string { return strings.Replace(body, "{", `{"stream":true,`, 1) }

func counted(body string) string {
	return strings.Replace(body, "{", `{"stream":true,"stream_options":{"include_usage":true},`, 1)
}

// flushed is a client that sees what was written between two flushes.
type flushed struct {
	*httptest.ResponseRecorder
	writes []string
	gone   int // it is, after so many flushes, if not 0
}

var errGone = errors.New("the client is gone")

func (f *flushed) FlushError() error {
	f.writes = append(f.writes, f.Body.String())
	f.Body.Reset()
	if len(f.writes) == f.gone {
		return errGone
	}
	return nil
}

func listen(body string, gone int) *flushed {
	f := &flushed{ResponseRecorder: httptest.NewRecorder(), gone: gone}
	modelserver.Handler().ServeHTTP(f, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
	return f
}

type chunk struct {
	ID, Object, Model string
	Created           int64
	Choices           []struct {
		Index int
		Delta struct {
			Role, Content string
			ToolCalls     []struct {
				Index    int
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish *string `json:"finish_reason"`
	}
	Usage map[string]int
}

// chunks returns the events of a stream but the last, which is [DONE].
func chunks(t *testing.T, body string) []chunk {
	t.Helper()
	f := listen(body, 0)
	require.Equal(t, http.StatusOK, f.Code)
	assert.Equal(t, "text/event-stream", f.Header().Get("Content-Type"))
	assert.Empty(t, f.Body.String(), "all is flushed")
	var list []chunk
	for i, event := range f.writes {
		data, found := strings.CutPrefix(event, "data: ")
		require.True(t, found, event)
		data, found = strings.CutSuffix(data, "\n\n")
		require.True(t, found, event)
		require.NotContains(t, data, "\n", "one event at a time")
		if i == len(f.writes)-1 {
			assert.Equal(t, "[DONE]", data)
			return list
		}
		var c chunk
		require.NoError(t, json.Unmarshal([]byte(data), &c))
		list = append(list, c)
	}
	return list
}

func TestStream_format(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"text": body(`[]`, user), "calls": body(allTools, user), "both": body(allTools, user, askTrains, trains)} {
		list := chunks(t, streamed(body))
		assert.NotContains(t, strings.Join(listen(streamed(body), 0).writes, ""), "usage", "nobody asked for it")
		require.Greater(t, len(list), 10, name)
		for i, c := range list {
			assert.Equal(t, list[0].ID, c.ID)
			assert.Equal(t, "chat.completion.chunk", c.Object)
			assert.Equal(t, "m", c.Model)
			assert.Equal(t, list[0].Created, c.Created)
			require.Len(t, c.Choices, 1)
			assert.Equal(t, i == len(list)-1, c.Choices[0].Finish != nil, "the last says why")
			assert.Equal(t, i == 0, c.Choices[0].Delta.Role == "assistant", "the first says who")
		}
	}
}

func TestStream_usage(t *testing.T) {
	t.Parallel()
	list := chunks(t, counted(body(`[]`, user)))
	for _, c := range list[:len(list)-1] {
		assert.Nil(t, c.Usage)
	}
	last := list[len(list)-1]
	assert.Empty(t, last.Choices)
	assert.NotNil(t, last.Choices, "an empty list, not null")
	assert.Positive(t, last.Usage["prompt_tokens"])
	assert.Equal(t, last.Usage["total_tokens"], last.Usage["prompt_tokens"]+last.Usage["completion_tokens"])
}

func TestStream_piecesCutWordsAndNumbers(t *testing.T) {
	t.Parallel()
	var text, args []string
	for _, c := range append(
		chunks(t, streamed(body(allTools, user, askTrains, trains, askFirst, strings.ReplaceAll(firstDone, "Ana", "Lucía 123456789")))),
		chunks(t, streamed(body(allTools, user)))...,
	) {
		d := c.Choices[0].Delta
		text = append(text, d.Content)
		for _, call := range d.ToolCalls {
			args = append(args, call.Function.Arguments)
		}
	}
	for _, piece := range append(text, args...) {
		assert.LessOrEqual(t, utf8.RuneCountInString(piece), 3, piece)
		assert.True(t, utf8.ValidString(piece))
	}
	for _, whole := range []string{"Lucía", "123456789", "reference", "San Luis"} {
		assert.Contains(t, strings.Join(text, ""), whole)
		assert.NotContains(t, text, whole)
	}
	assert.Contains(t, strings.Join(args, ""), `{"date":"Monday","to":"San Luis"}{}`)
}

// The client is one for any endpoint, so what it understands is the format.
func TestStream_sameAsWhole(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(modelserver.Handler())
	t.Cleanup(server.Close)
	client, err := chat.New(chat.Config{BaseURL: server.URL + "/v1"})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	for name, body := range map[string]string{
		"nothing known":       body(allTools, user),
		"trains known":        body(allTools, user, askTrains, trains),
		"first class refused": body(allTools, user, askTrains, trains, askFirst, refused),
		"tourist booked":      body(allTools, user, askTrains, trains, askFirst, refused, askTourist, done),
		"no tools":            body(`[]`, user),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var req chat.Request
			require.NoError(t, json.Unmarshal([]byte(body), &req))
			want, err := client.Complete(t.Context(), req)
			require.NoError(t, err)
			var text string
			args := make([]string, len(want.ToolCalls))
			got, err := client.Stream(t.Context(), req, func(p chat.Piece) error {
				if p.Tool {
					assert.Equal(t, want.ToolCalls[p.Index].ID, p.ID)
					assert.Equal(t, want.ToolCalls[p.Index].Function.Name, p.Name)
					args[p.Index] += p.Text
					return nil
				}
				text += p.Text
				return nil
			})
			require.NoError(t, err)
			assert.Equal(t, want.Content, text)
			for i, c := range want.ToolCalls {
				assert.Equal(t, c.Function.Arguments, args[i])
			}
			// The request is longer by the wish for a stream, and is counted so.
			assert.Greater(t, got.TokensIn, want.TokensIn)
			got.TokensIn = want.TokensIn
			assert.Equal(t, want, got)
		})
	}
}

func TestStream_clientIsGone(t *testing.T) {
	t.Parallel()
	for gone := 1; gone <= 5; gone++ {
		assert.Len(t, listen(streamed(body(allTools, user)), gone).writes, gone, "nothing more is said")
	}
}
