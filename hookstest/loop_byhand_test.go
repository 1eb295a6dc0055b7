package hookstest_test

// A loop that fires every point with Dispatch, and is right.

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// byHand is a loop that uses none of the seams: it fires every point with
// Dispatch, and keeps the rules itself.
type byHand struct{ hookstest.Setup }

func TestLoop_passesDispatchByHand(t *testing.T) {
	t.Parallel()
	hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop { return byHand{s}.run },
		hookstest.Without(hooks.PreStep, hooks.PostStep),
		hookstest.Renames(),
		hookstest.Resumes(func(s hookstest.Setup) hookstest.Resume { return byHand{s}.resume }),
		hookstest.Skip("asked-call", "a question belongs to a passage of the tool seam"),
		hookstest.Skip("wrapped-tool", "around hooks belong to the seams"),
		hookstest.Skip("wrapped-model", "around hooks belong to the seams"))
}

func (l byHand) run(ctx context.Context, prompt string) (string, error) {
	return l.execute(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: rand.Text()}, Inputs: map[string]any{"prompt": prompt}}, kept{})
}

func (l byHand) resume(ctx context.Context, state []byte) (string, error) {
	var k kept
	if err := json.Unmarshal(state, &k); err != nil {
		return "", err
	}
	return l.execute(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: k.RunID}, Resumed: true}, k)
}

func (l byHand) execute(ctx context.Context, x *hooks.Execution, k kept) (string, error) {
	x.Status = hooks.StatusRunning
	ctx = hooks.WithCaller(ctx, x.Caller)
	if err := hooks.Dispatch(ctx, hooks.ExecutionStart, x); err != nil {
		return "", err
	}
	err := hooks.Dispatch(ctx, hooks.Input, x)
	if err == nil {
		err = l.safely(func() (err error) {
			if !x.Resumed {
				k = kept{RunID: x.RunID, History: []hooks.Message{{Role: "user", Content: fmt.Sprint(x.Inputs["prompt"])}}}
			}
			x.Output, err = l.turns(ctx, &k)
			return err
		})
	}
	if err == nil {
		err = hooks.Dispatch(context.WithoutCancel(ctx), hooks.Output, x)
	}
	x.Status = hooks.StatusCompleted
	switch {
	case isSuspended(err):
		x.Status, x.Err = hooks.StatusSuspended, err
		state, broken := json.Marshal(k)
		if broken != nil {
			return "", broken
		}
		l.Save(state)
	case err != nil:
		x.Status, x.Err, x.Output = hooks.StatusFailed, err, nil
	}
	if end := hooks.Dispatch(context.WithoutCancel(ctx), hooks.ExecutionEnd, x); err == nil {
		err = end
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprint(x.Output), nil
}

// safely makes a panic an error.
func (l byHand) safely(fn func() error) (err error) {
	returned := false
	defer func() {
		if !returned {
			err = &hooks.PanicError{Value: recover()}
		}
	}()
	err = fn()
	returned = true
	return err
}

func (l byHand) turns(ctx context.Context, k *kept) (string, error) {
	for ; k.Turn < l.MaxTurns; k.Turn++ {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if k.Calls == nil {
			m, err := l.model(ctx, k.Turn, k.History)
			if err != nil {
				return "", err
			}
			if len(m.ToolCalls) == 0 {
				return m.Response, nil
			}
			k.History = append(k.History, hooks.Message{Role: "assistant", Content: m.Response, ToolCalls: m.ToolCalls})
			k.Calls, k.Results = m.ToolCalls, make([]*hooks.Message, len(m.ToolCalls))
		}
		var waits []error
		for i, req := range k.Calls {
			if k.Results[i] != nil {
				continue
			}
			c, err := l.tool(ctx, req)
			switch {
			case isSuspended(err):
				waits = append(waits, err)
			case err != nil:
				return "", err
			}
			if !isSuspended(c.Err) {
				k.Results[i] = &hooks.Message{Role: "tool", ToolCallID: c.ID, Content: c.Result}
			}
		}
		if waits != nil {
			return "", errors.Join(waits...)
		}
		for _, result := range k.Results {
			k.History = append(k.History, *result)
		}
		k.Calls, k.Results = nil, nil
	}
	return "", errors.New("no answer")
}

func (l byHand) model(ctx context.Context, n int, history []hooks.Message) (*hooks.ModelCall, error) {
	m := &hooks.ModelCall{Caller: hooks.CallerFrom(ctx), Iterations: n, Messages: slices.Clone(history)}
	for _, t := range l.Tools {
		m.Tools = append(m.Tools, t.Name)
	}
	if err := hooks.Dispatch(ctx, hooks.PreModelCall, m); err != nil {
		return nil, err
	}
	if !m.Answered() {
		m.Err = l.safely(func() error {
			if m.Model != "" {
				return fmt.Errorf("the model %q: %w", m.Model, errors.ErrUnsupported)
			}
			reply, err := l.Model(ctx, hookstest.Request{Messages: m.Messages, Tools: m.Tools})
			m.Response, m.ToolCalls = reply.Text, reply.ToolCalls
			return err
		})
	}
	err := m.Err
	if post := hooks.Dispatch(context.WithoutCancel(ctx), hooks.PostModelCall, m); err == nil {
		err = post
	}
	return m, err
}

// tool returns an error only where the run is to end.
func (l byHand) tool(ctx context.Context, req hooks.ToolRequest) (*hooks.ToolCall, error) {
	c := &hooks.ToolCall{Caller: hooks.CallerFrom(ctx), ID: req.ID, Name: req.Name}
	if tool := l.find(req.Name); tool != nil {
		c.Tool = tool
	}
	argErr := c.SetArguments(req.Arguments)
	var stop error
	if err := hooks.Dispatch(ctx, hooks.PreToolCall, c); isSuspended(err) {
		c.Err = err
		return c, err // it hasn't passed its pre point
	} else if err != nil {
		stop = refuse(c, err)
	} else if !c.Answered() {
		c.Err = errors.Join(argErr, ctx.Err())
		if c.Err == nil {
			c.Err = l.safely(func() (err error) {
				c.Result, err = l.body(ctx, c)
				return err
			})
		}
		if c.Err != nil {
			c.Result = c.Err.Error()
			if abort, ok := errors.AsType[*hooks.HookAborted](c.Err); ok && abort.StopRun || isSuspended(c.Err) {
				stop = c.Err
			}
		}
	}
	if err := hooks.Dispatch(context.WithoutCancel(ctx), hooks.PostToolCall, c); err != nil {
		stop = errors.Join(stop, refuse(c, err))
	}
	return c, stop
}

func (l byHand) body(ctx context.Context, c *hooks.ToolCall) (string, error) {
	tool := l.find(c.Name) // what the pre hooks made of the name
	if tool == nil {
		return "", errors.New("there is no such tool")
	}
	return tool.Run(ctx, c.Input)
}

func (l byHand) find(name string) *hookstest.Tool {
	for i := range l.Tools {
		if l.Tools[i].Name == name {
			return &l.Tools[i]
		}
	}
	return nil
}

// refuse makes c a refused call, and returns the abort if it ends the run.
func refuse(c *hooks.ToolCall, err error) error {
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	if !ok {
		return err
	}
	c.Blocked, c.Result = abort, "not allowed: "+abort.PublicText()
	if abort.StopRun {
		return abort
	}
	return nil
}
