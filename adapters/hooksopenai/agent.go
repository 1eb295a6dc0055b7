package hooksopenai

// A loop as a tool of another one: a sub-agent.

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/loophooks/hooks"
)

// Agent makes l a tool of another Loop. The model gives it one argument, "prompt", and
// reads its answer. Each call is a run of its own with a new conversation; what hooks do
// there is told apart by its RunID, and RootRunID is that of the outermost run. Where
// that run waits, so does the run of the outer Loop, whose State keeps it (Agents), and
// Resume of the outer one goes on with it. A sub-agent should have a Role of its own.
//
// In a program without an outer Loop its tool runs as well; a run that waits is lost
// then, and its call begins anew.
func (l *Loop) Agent(name, description string) Tool {
	return Tool{
		Name: name, Description: description,
		Schema: map[string]any{
			"type":       "object",
			"properties": map[string]any{InputPrompt: map[string]any{"type": "string"}},
			"required":   []any{InputPrompt},
		},
		Run: func(ctx context.Context, call *hooks.ToolCall) (err error) {
			around, _ := ctx.Value(agentsKey{}).(*agents)
			key := call.Name + " " + call.ID
			if st := around.take(key); st != nil {
				call.Result, err = l.Resume(ctx, st)
				around.keep(key, st, err)
				return err
			}
			prompt, err := call.StringArg(InputPrompt)
			if err != nil {
				return err
			}
			st := new(State)
			call.Result, err = l.Run(ctx, st, prompt)
			around.keep(key, st, err)
			return err
		},
	}
}

// agentsKey is where a tool finds the sub-agents of the run that it is called in.
type agentsKey struct{}

// agents are the runs of sub-agents that wait.
type agents struct {
	mu     sync.Mutex
	states map[string]*State
}

// take returns the run of a call, nil if none waits. It may be called on nil.
func (a *agents) take(key string) *State {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.states[key]
}

// keep keeps a run that waits, and forgets one that is over. It may be called on nil.
func (a *agents) keep(key string, st *State, err error) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, suspended := errors.AsType[*hooks.Suspended](err); suspended && st.Waiting {
		a.states[key] = st
		return
	}
	delete(a.states, key)
}

// waiting returns the runs that wait, nil if there are none.
func (a *agents) waiting() map[string]*State {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.states) == 0 {
		return nil
	}
	return maps.Clone(a.states)
}
