package main

// The scripted model: an actor who says what the scene has for each turn, and keeps what
// it was sent.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
)

// firstModel is the model that the loop asks; Fallback knows another one.
const firstModel = "large"

// reply is what the actor does in one turn. Behind the last one of a scene it says "Done.".
type reply struct {
	say    []string // pieces, as a provider streams them
	calls  []request
	busyAs string // a model that can't answer now
}

// request is a tool call that the actor asks for. An address in it has PORT in the place of
// that of the office's web server, which is another one each time.
type request struct{ tool, arguments string }

// asks is a turn with one tool call.
func asks(tool, arguments string) reply {
	return reply{calls: []request{{tool, arguments}}}
}

// actor plays one scene.
type actor struct {
	replies []reply
	port    string

	sent  []hooks.Message // by the last model call that reached it
	names []string        // as which model it was asked, in order
}

// play is a model.
func (a *actor) play(_ context.Context, m *hooks.ModelCall, push func(hooks.Chunk) error) ([]hooks.ToolRequest, hooks.Usage, error) {
	a.sent, a.names = slices.Clone(m.Messages), append(a.names, m.Model)
	r := reply{say: []string{"Done."}}
	if m.Iterations < len(a.replies) {
		r = a.replies[m.Iterations]
	}
	if r.busyAs == m.Model {
		return nil, hooks.Usage{}, errBusy
	}
	for _, piece := range r.say {
		if err := push(hooks.Chunk{Kind: hooks.ChunkText, Text: piece}); err != nil {
			return nil, hooks.Usage{}, err
		}
	}
	var calls []hooks.ToolRequest
	for i, c := range r.calls {
		calls = append(calls, hooks.ToolRequest{
			ID:        fmt.Sprintf("call_%d_%d", m.Iterations+1, i+1),
			Name:      c.tool,
			Arguments: strings.ReplaceAll(c.arguments, "PORT", a.port),
		})
	}
	return calls, hooks.Usage{In: 100 * len(m.Messages), Out: 20}, nil
}

// statusError is the status by which a provider refuses. Retry knows it by its method.
type statusError int

func (e statusError) Error() string   { return fmt.Sprintf("%d %s", int(e), http.StatusText(int(e))) }
func (e statusError) StatusCode() int { return int(e) }

const errBusy = statusError(http.StatusServiceUnavailable)
