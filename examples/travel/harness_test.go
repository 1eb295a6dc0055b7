package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/examples/travel/modelserver"
)

// endpoint is a model endpoint on loopback that keeps what it was sent.
type endpoint struct {
	url string

	mu     sync.Mutex
	bodies []string
	keys   []string
}

// serve starts an endpoint that answers its nth request, from 1, with h.
func serve(t *testing.T, h func(n int, w http.ResponseWriter, r *http.Request)) *endpoint {
	t.Helper()
	e := new(endpoint)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		e.mu.Lock()
		e.bodies = append(e.bodies, string(body))
		e.keys = append(e.keys, r.Header.Get("Authorization"))
		n := len(e.bodies)
		e.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(n, w, r)
	}))
	t.Cleanup(server.Close)
	e.url = server.URL + "/v1"
	return e
}

// scripted starts an endpoint that plays the embedded model.
func scripted(t *testing.T) *endpoint {
	model := modelserver.Handler()
	return serve(t, func(_ int, w http.ResponseWriter, r *http.Request) { model.ServeHTTP(w, r) })
}

// saying starts an endpoint that answers with the replies, and from then on
// with the last.
func saying(t *testing.T, replies ...string) *endpoint {
	return serve(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, replies[min(n, len(replies))-1])
	})
}

func says(text string) string {
	return fmt.Sprintf(`{"choices":[{"message":{"content":%q},"finish_reason":"stop"}]}`, text)
}

func asks(name, args string) string {
	return fmt.Sprintf(`{"choices":[{"message":{"tool_calls":[{"id":"1","type":"function","function":{"name":%q,"arguments":%q}}]},"finish_reason":"tool_calls"}]}`, name, args)
}

func noEnv(string) string { return "" }

// outcome is what a person sees of one run of the program.
type outcome struct {
	status      int
	out, errOut string
}

func travel(ctx context.Context, t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	status := run(ctx, args, strings.NewReader(stdin), &out, &errOut, noEnv)
	o := outcome{status, out.String(), errOut.String()}
	assert.NotContains(t, o.out+o.errOut, "goroutine ", "no stack trace")
	assert.NotContains(t, o.out+o.errOut, "30.123.456", "no document number")
	return o
}

// at points the program at e.
func (e *endpoint) at(args ...string) []string {
	return append([]string{"-base-url", e.url, "-model", "m"}, args...)
}

// terminal calls typed with what is written to it. A question that is given up
// may still be being written when the program says something else.
type terminal struct {
	typed func(string)

	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *terminal) Write(p []byte) (int, error) {
	w.typed(string(p))
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *terminal) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// interruptAnywhere has Ctrl-C come at one write after the other of a run with the
// arguments given, each at the next step, until a run ends before it; that is to be
// after more than least writes.
func interruptAnywhere(t *testing.T, step, least int, args ...string) {
	t.Helper()
	for at := 0; ; at += step {
		require.Less(t, at, 1000)
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		out := &terminal{typed: func(string) {
			if n++; n > at {
				cancel()
			}
		}}
		var errOut bytes.Buffer
		status := run(ctx, args, strings.NewReader(""), out, &errOut, noEnv)
		reached := ctx.Err() != nil
		cancel()
		if !reached {
			assert.Equal(t, exitOK, status)
			assert.Greater(t, at, least)
			return
		}
		require.Equal(t, exitInterrupted, status, at)
		require.Equal(t, "travel: interrupted\n", errOut.String())
	}
}
