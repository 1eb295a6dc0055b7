package hooksopenai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksopenai"
	"github.com/loophooks/hooks/adapters/hooksopenai/internal/fake"
	"github.com/loophooks/hooks/redact"
)

func TestStream_filters(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Says("the sec", "ret is out")))
	r, ctx := scope(t)
	set, err := redact.Compile(redact.Pattern{Name: "secret", Expr: "secret"})
	require.NoError(t, err)
	hooks.OnStream(hooks.ModelStream, redact.Stream[hooks.ModelCall](set, func(string, string) string { return "***" }), hooks.In(r))
	var shown []string
	m := new(hooks.ModelCall)
	reply, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), m, func(text string) { shown = append(shown, text) })
	require.NoError(t, err)
	assert.Equal(t, "the *** is out", strings.Join(shown, ""))
	assert.Equal(t, "the *** is out", reply.Content)
	assert.True(t, m.ResponseEdited())
	n, err := hooksopenai.Native(&reply)
	require.NoError(t, err)
	assert.NotContains(t, wire(t, n), "secret")
}

func TestStream_waitsForGuards(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Says("a", "b")))
	r, ctx := scope(t)
	shown := ""
	hooks.Guard(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error {
		assert.Empty(t, shown)
		return nil
	}, hooks.In(r))
	_, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), nil, func(text string) { shown += text })
	require.NoError(t, err)
	assert.Equal(t, "ab", shown)
}

// Hooks see pieces of reasoning and of arguments too, and nobody is shown them.
func TestStream_kindsOfPieces(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ context.Context, _ *fake.Request, w *fake.Writer) {
		w.Reasoning("hm")
		w.Text("so")
		w.Call(0, fake.Call{ID: "c1", Name: "shell", Arguments: "ls -l", Custom: true})
		w.Call(1, fake.Call{ID: "c2", Name: "alpha", Arguments: "{}"})
	})
	r, ctx := scope(t)
	seen := map[hooks.ChunkKind]string{}
	hooks.OnStream(hooks.ModelStream, func(_ context.Context, _ *hooks.ModelCall, k hooks.ChunkKind) hooks.Filter {
		return func(_ context.Context, w *hooks.Window) error {
			seen[k] += string(w.Text())
			return nil
		}
	}, hooks.In(r))
	shown := ""
	_, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), nil, func(text string) { shown += text })
	require.NoError(t, err)
	assert.Equal(t, map[hooks.ChunkKind]string{"text": "so", "reasoning": "hm", "tool_call": "ls -l{}"}, seen)
	assert.Equal(t, "so", shown)
}

func TestStream_abortStopsReading(t *testing.T) {
	t.Parallel()
	stopped := make(chan struct{})
	s := serve(t, func(ctx context.Context, _ *fake.Request, w *fake.Writer) {
		w.Text("bad")
		<-ctx.Done() // the client goes
		close(stopped)
	})
	r, ctx := scope(t)
	hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
		return func(context.Context, *hooks.Window) error { return hooks.Abort("no") }
	}, hooks.In(r))
	_, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), nil, func(text string) { t.Error("shown:", text) })
	assert.ErrorAs(t, err, new(*hooks.HookAborted))
	<-stopped
}

// A connection that is closed in the midst of a reply looks to the SDK as its end.
func TestStream_cutShort(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ context.Context, _ *fake.Request, w *fake.Writer) {
		w.Text("delete all but ")
		w.Cut()
	})
	_, err := hooksopenai.Complete(t.Context(), s.Client(), asking("hello"), nil, func(string) {})
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)

	s = serve(t, func(_ context.Context, _ *fake.Request, w *fake.Writer) {
		w.Text("a")
		w.Fail(http.StatusInternalServerError, "overloaded")
	})
	_, err = hooksopenai.Complete(t.Context(), s.Client(), asking("hello"), nil, func(string) {})
	assert.ErrorContains(t, err, "overloaded")

	s = serve(t, func(_ context.Context, _ *fake.Request, w *fake.Writer) {
		w.Raw(`{"index":0,"delta":{"content":"[DONE] all"}}`) // no reason to finish, and the mark of the end
	})
	reply, err := hooksopenai.Complete(t.Context(), s.Client(), asking("hello"), nil, func(string) {})
	require.NoError(t, err)
	assert.Equal(t, "[DONE] all", reply.Content)

	s = serve(t, func(_ context.Context, _ *fake.Request, w *fake.Writer) {
		w.Text("data: [DONE]")
		w.Cut()
	})
	_, err = hooksopenai.Complete(t.Context(), s.Client(), asking("hello"), nil, func(string) {})
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF, "what the model says isn't the mark")
}

func TestStream_callsOfOtherServers(t *testing.T) {
	t.Parallel()
	piece := func(index, id, name, arguments string) string {
		return `{"index":0,"delta":{"tool_calls":[{"index":` + index + `,"id":"` + id + `","function":{"name":"` + name + `","arguments":"` + arguments + `"}}]}}`
	}
	for name, tc := range map[string]struct {
		pieces []string
		want   []hooks.ToolRequest
	}{
		"negative index": {[]string{piece("-1", "c1", "alpha", "{"), piece("-1", "", "", "}")}, []hooks.ToolRequest{{ID: "c1", Name: "alpha", Arguments: "{}"}}},
		"one index for all": {
			[]string{piece("0", "c1", "alpha", "{}"), piece("0", "c2", "beta", "{"), piece("0", "", "", "}")},
			[]hooks.ToolRequest{{ID: "c1", Name: "alpha", Arguments: "{}"}, {ID: "c2", Name: "beta", Arguments: "{}"}},
		},
		"in turns": {
			[]string{piece("0", "c1", "alpha", "{"), piece("7", "c2", "beta", "{"), piece("0", "", "", "}"), piece("7", "", "", "}")},
			[]hooks.ToolRequest{{ID: "c1", Name: "alpha", Arguments: "{}"}, {ID: "c2", Name: "beta", Arguments: "{}"}},
		},
	} {
		s := serve(t, func(_ context.Context, _ *fake.Request, w *fake.Writer) {
			for _, p := range tc.pieces {
				w.Piece(p)
			}
		})
		reply, err := hooksopenai.Complete(t.Context(), s.Client(), asking("hello"), nil, func(string) {})
		require.NoError(t, err, name)
		assert.Equal(t, tc.want, reply.ToolCalls, name)
	}
}

func TestStream_onlyOneAttemptIsShown(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(func(w *fake.Writer) {
		w.Text("first")
		w.Fail(http.StatusInternalServerError, "overloaded")
	}, fake.Says("second")))
	r, ctx := scope(t)
	var again error
	hooks.Around(hooks.ModelBody, func(ctx context.Context, _ *hooks.ModelCall, next func(context.Context) error) error {
		_ = next(ctx)
		again = next(ctx)
		return again
	}, hooks.In(r))
	shown := ""
	_, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), nil, func(text string) { shown += text })
	assert.ErrorIs(t, again, hooks.ErrNotAgain)
	assert.ErrorContains(t, err, "overloaded")
	assert.Equal(t, "first", shown)
}

func TestStream_cancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := serve(t, func(ctx context.Context, _ *fake.Request, w *fake.Writer) {
		w.Text("a")
		<-ctx.Done()
	})
	_, err := hooksopenai.Complete(ctx, s.Client(), asking("hello"), nil, func(string) { cancel() })
	assert.ErrorIs(t, err, context.Canceled)
}

func TestStream_optionsOfProgram(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Says("ok")))
	p := asking("hello")
	p.StreamOptions.IncludeUsage = openai.Bool(false)
	_, err := hooksopenai.Complete(t.Context(), s.Client(), p, nil, func(string) {})
	require.NoError(t, err)
	assert.JSONEq(t, `{"include_usage":false}`, string(s.Requests()[0].Raw["stream_options"]))
}

func TestStream_panicOfOnText(t *testing.T) {
	t.Parallel()
	s := serve(t, fake.Script(fake.Says("ok")))
	_, err := func() (_ hooks.Message, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = errors.New("it panicked")
			}
		}()
		return hooksopenai.Complete(t.Context(), s.Client(), asking("hello"), nil, func(string) { panic("screen") })
	}()
	assert.Error(t, err)
}
