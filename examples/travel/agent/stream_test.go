// Replies that are shown piece by piece.

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/agent"
	"github.com/loophooks/hooks/examples/travel/chat"
)

// speaker is a model that says its replies in pieces of so many bytes.
type speaker struct {
	replies []chat.Reply
	size    int
	asked   int
	whole   int // how often a reply was asked for that comes in one
}

func (s *speaker) Complete(context.Context, chat.Request) (chat.Reply, error) {
	s.whole++
	s.asked++
	return s.replies[s.asked-1], nil
}

func (s *speaker) Stream(_ context.Context, _ chat.Request, piece func(chat.Piece) error) (chat.Reply, error) {
	s.asked++
	reply := s.replies[s.asked-1]
	cut := func(text string, p chat.Piece) error {
		for ; text != ""; text = text[len(p.Text):] {
			p.Text = text[:min(s.size, len(text))]
			if err := piece(p); err != nil {
				return err
			}
		}
		return nil
	}
	if err := cut(reply.Content, chat.Piece{}); err != nil {
		return chat.Reply{}, err
	}
	for i, c := range reply.ToolCalls {
		if err := cut(c.Function.Arguments, chat.Piece{Tool: true, Index: i, ID: c.ID, Name: c.Function.Name}); err != nil {
			return chat.Reply{}, err
		}
	}
	return reply, nil
}

// onlyWhole hides that a model can stream.
type onlyWhole struct{ agent.Model }

func said() []chat.Reply {
	return []chat.Reply{
		{Content: "I'll look.", ToolCalls: []chat.ToolCall{
			{ID: "1", Function: chat.Function{Name: "a", Arguments: `{"x":"one"}`}},
			{ID: "2", Function: chat.Function{Name: "a", Arguments: `{"x":"two"}`}},
		}},
		{Content: "It is done."},
	}
}

// screen keeps what is shown.
type screen struct {
	text   string // "turn: text" pieces, joined
	pieces int
	calls  map[string]string // arguments by the ID of the call
}

func (s *screen) show(turn int, c hooks.Chunk) error {
	s.pieces++
	switch c.Kind {
	case hooks.ChunkText:
		if mark := fmt.Sprint(" ", turn, ": "); !strings.Contains(s.text, mark) {
			s.text += mark
		}
		s.text += c.Text
	case hooks.ChunkToolCall:
		if s.calls == nil {
			s.calls = map[string]string{}
		}
		s.calls[c.ID+" "+c.Name] += c.Text
	}
	return nil
}

func TestShow_everyTurnInPieces(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(*speaker) agent.Model{
		"a model that streams":     func(s *speaker) agent.Model { return s },
		"a model that can't do so": func(s *speaker) agent.Model { return onlyWhole{s} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := new(screen)
			m := &speaker{replies: said(), size: 3}
			a := &agent.Agent{Model: wrap(m), Tools: []agent.Tool{echo("a")}, Show: got.show}
			result, err := a.Run(t.Context(), "go")
			require.NoError(t, err)
			assert.Equal(t, "It is done.", result.Answer)
			assert.Equal(t, " 1: I'll look. 2: It is done.", got.text)
			assert.Equal(t, map[string]string{"1 a": `{"x":"one"}`, "2 a": `{"x":"two"}`}, got.calls)
			if m.whole == 0 {
				assert.Greater(t, got.pieces, 10)
			}
		})
	}
}

// secretly redacts a word, and holds what may be its beginning.
func secretly(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
	const word = "done"
	return func(_ context.Context, w *hooks.Window) error {
		text := string(w.Text())
		if at := strings.Index(text, word); at >= 0 {
			w.Replace(at, at+len(word), "over")
			return nil
		}
		for n := min(len(word), len(text)); n > 0 && !w.Final(); n-- {
			if strings.HasPrefix(word, text[len(text)-n:]) {
				w.Hold(len(text) - n)
				return nil
			}
		}
		return nil
	}
}

func TestShow_whatFiltersLetThrough(t *testing.T) {
	t.Parallel()
	r, ctx := scope(t)
	hooks.OnStream(hooks.ModelStream, secretly, hooks.In(r))
	got := new(screen)
	a := &agent.Agent{Model: &speaker{replies: said(), size: 2}, Tools: []agent.Tool{echo("a")}, Show: got.show}
	result, err := a.Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, " 1: I'll look. 2: It is over.", got.text)
	assert.Equal(t, "It is over.", result.Answer, "which is kept, too")
	assert.Equal(t, "It is over.", result.History[len(result.History)-1].Content)
}

func TestShow_guardEndsTheStream(t *testing.T) {
	t.Parallel()
	r, ctx := scope(t)
	hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
		return func(_ context.Context, w *hooks.Window) error {
			if strings.Contains(string(w.Text()), "done") {
				return hooks.Abort("too soon")
			}
			return nil
		}
	}, hooks.In(r), hooks.AsGuard())
	got := new(screen)
	a := &agent.Agent{Model: &speaker{replies: said(), size: 100}, Tools: []agent.Tool{echo("a")}, Show: got.show}
	result, err := a.Run(ctx, "go")
	var abort *hooks.HookAborted
	require.ErrorAs(t, err, &abort)
	assert.Equal(t, " 1: I'll look.", got.text)
	assert.Empty(t, result.Answer)
}

// Where a hook decides on the turn or on the answer as a whole, nothing is shown
// before it has.
func TestShow_notWhereSomebodyHasYetToDecide(t *testing.T) {
	t.Parallel()
	for name, register := range map[string]func(...hooks.Option){
		"the turn": func(o ...hooks.Option) {
			hooks.On(hooks.PostStep, func(context.Context, *hooks.Step) error { return nil }, o...)
		},
		"the answer": func(o ...hooks.Option) {
			hooks.On(hooks.Output, func(context.Context, *hooks.Execution) error { return nil }, o...)
		},
		"the end": func(o ...hooks.Option) {
			hooks.On(hooks.ExecutionEnd, func(context.Context, *hooks.Execution) error { return nil }, o...)
		},
	} {
		for what, tt := range map[string]struct {
			opts  []hooks.Option
			shown bool
		}{
			"guard":              {[]hooks.Option{hooks.AsGuard()}, false},
			"hook":               {nil, true},
			"guard, after shown": {[]hooks.Option{hooks.AsGuard(), hooks.AfterShown()}, true},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				r, ctx := scope(t)
				register(append(tt.opts, hooks.In(r))...)
				got := new(screen)
				m := &speaker{replies: said(), size: 3}
				result, err := (&agent.Agent{Model: m, Tools: []agent.Tool{echo("a")}, Show: got.show}).Run(ctx, "go")
				require.NoError(t, err)
				assert.Equal(t, "It is done.", result.Answer)
				assert.Equal(t, tt.shown, got.pieces > 0)
				assert.Equal(t, tt.shown, m.whole == 0)
			})
		}
	}
}

func TestShow_fails(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	m := &speaker{replies: said(), size: 3}
	a := &agent.Agent{Model: m, Tools: []agent.Tool{echo("a")}, Show: func(int, hooks.Chunk) error { return full }}
	_, err := a.Run(t.Context(), "go")
	require.ErrorIs(t, err, full)
	assert.Equal(t, 1, m.asked)
}
