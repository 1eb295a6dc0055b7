// Streams on a transport of their own, so that it is known how the bytes arrive
// and when: the clock is that of a bubble.

package chat

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// arriving returns a client to which every stream is body.
func arriving(t *testing.T, timeout time.Duration, body func(ctx context.Context) io.Reader) *Client {
	t.Helper()
	c, err := New(Config{BaseURL: "http://model/v1", Timeout: timeout})
	require.NoError(t, err)
	c.http.Transport = transport(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK,
			Header:     http.Header{"Content-Type": {"text/event-stream"}},
			Body:       io.NopCloser(body(r.Context())),
		}, nil
	})
	return c
}

const conversation = ": hello\n\n" +
	`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Lucía "}}]}` + "\r\n\r\n" +
	`data: {"choices":[{"index":0,` + "\n" + `data: "delta":{"content":"天😀"}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":"}}]}}]}` + "\r\r" +
	`data:{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"3}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n" +
	`data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}` + "\n\n" +
	"data: [DONE]\n\n"

func TestStream_cutAtEveryByte(t *testing.T) {
	t.Parallel()
	want := []Piece{
		{Text: "Lucía "}, {Text: "天😀"},
		{Tool: true, ID: "a", Name: "f", Text: `{"n":`},
		{Tool: true, ID: "a", Name: "f", Text: `3}`},
	}
	for at := range len(conversation) + 1 {
		c := arriving(t, time.Minute, func(context.Context) io.Reader { return cut(conversation, at) })
		var got []Piece
		reply, err := c.Stream(t.Context(), Request{}, func(p Piece) error {
			got = append(got, p)
			return nil
		})
		require.NoError(t, err, "cut at %d", at)
		require.Equal(t, want, got, "cut at %d", at)
		require.Equal(t, Reply{
			Content:      "Lucía 天😀",
			ToolCalls:    []ToolCall{{ID: "a", Type: "function", Function: Function{Name: "f", Arguments: `{"n":3}`}}},
			FinishReason: "tool_calls", TokensIn: 7, TokensOut: 3,
		}, reply)
	}
}

// What ends at any byte before the model has said why it ended is no reply.
func TestStream_endsAtEveryByte(t *testing.T) {
	t.Parallel()
	complete := strings.Index(conversation, `data: {"choices":[],`)
	for at := range len(conversation) {
		c := arriving(t, time.Minute, func(context.Context) io.Reader { return strings.NewReader(conversation[:at]) })
		_, err := c.Stream(t.Context(), Request{}, func(Piece) error { return nil })
		if at >= complete {
			require.NoError(t, err, "ends at %d", at)
			continue
		}
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "ends at %d", at)
	}
}

// slow is a reader of a text of which one byte comes each time.
type slow struct {
	ctx   context.Context
	text  string
	every time.Duration
}

func (r *slow) Read(p []byte) (int, error) {
	if r.text == "" {
		return 0, io.EOF
	}
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case <-time.After(r.every):
	}
	n := copy(p[:1], r.text)
	r.text = r.text[n:]
	return n, nil
}

func TestStream_silenceIsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		every time.Duration // a byte comes
		shown time.Duration // a piece takes
		fails bool
	}{
		"all in time":               {every: time.Second},
		"slower than the timeout":   {every: 61 * time.Second, fails: true},
		"the whole takes an hour":   {every: 10 * time.Second},
		"whoever reads takes hours": {every: time.Second, shown: 24 * time.Hour},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := arriving(t, time.Minute, func(ctx context.Context) io.Reader { return &slow{ctx, conversation, tt.every} })
				begin := time.Now()
				_, err := c.Stream(t.Context(), Request{}, func(Piece) error {
					time.Sleep(tt.shown) // of the bubble
					return nil
				})
				if tt.fails {
					require.ErrorContains(t, err, "sent nothing for 1m0s")
					assert.Equal(t, time.Minute, time.Since(begin))
					return
				}
				require.NoError(t, err)
				assert.GreaterOrEqual(t, time.Since(begin), 4*tt.shown)
			})
		})
	}
}

// A cancelled ctx ends a call at once, not when the endpoint says more.
func TestStream_cancelledWhileSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := arriving(t, time.Hour, func(ctx context.Context) io.Reader { return &slow{ctx, conversation, 30 * time.Minute} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		_, err := c.Stream(ctx, Request{}, func(Piece) error { return nil })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(begin))
	})
}
