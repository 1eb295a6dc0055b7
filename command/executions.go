package command

// The scripts of executions.

import (
	"context"
	"log/slog"

	"github.com/loophooks/hooks"
)

func (r *registered) userPromptSubmit() {
	r.add(hooks.On(hooks.Input, func(ctx context.Context, x *hooks.Execution) error {
		said, err := r.askPrompt(ctx, x, true)
		if err != nil {
			return err
		}
		return said.failure()
	}, r.with(userPromptSubmit, 0)...))
	r.add(hooks.Guard(hooks.Input, func(ctx context.Context, x *hooks.Execution) error {
		prompt, err := r.promptOf(x)
		if err != nil {
			return err
		}
		if v, ok := x.Get(memory{r, userPromptSubmit}); ok {
			if kept := v.(remembered); kept.about == prompt {
				return kept.abort()
			}
		}
		said, err := r.askPrompt(ctx, x, false)
		if err != nil {
			return err
		}
		said.logFailures(ctx)
		return said.abort()
	}, r.with(userPromptSubmit, 0)...))
}

// askPrompt asks the scripts about the prompt, and remembers what they said about
// what it is then.
func (r *registered) askPrompt(ctx context.Context, x *hooks.Execution, edit bool) (ruling, error) {
	said, err := r.ask(ctx, r.matching(userPromptSubmit, ""), func() (in input, err error) {
		prompt, err := r.promptOf(x)
		in = r.input(userPromptSubmit, &x.Caller)
		in.Prompt = &prompt
		return in, err
	}, func(a *answer) error {
		if !edit {
			return nil
		}
		return r.addToPrompt(x, a.added)
	})
	if err != nil {
		return ruling{}, err
	}
	prompt, err := r.promptOf(x)
	x.Put(memory{r, userPromptSubmit}, remembered{ruling: said, about: prompt})
	return said, err
}

// addToPrompt adds text to the prompt, which it becomes where there is none.
func (r *registered) addToPrompt(x *hooks.Execution, text string) error {
	if text == "" {
		return nil
	}
	prompt, err := r.promptOf(x)
	if err == nil {
		x.Inputs[r.prompt] = joined(prompt, text)
	}
	return err
}

func (r *registered) sessionStart() {
	ask := func(ctx context.Context, x *hooks.Execution, edit bool) (ruling, error) {
		said, err := r.ask(ctx, r.matching(sessionStart, ""), func() (input, error) {
			in := r.input(sessionStart, &x.Caller)
			if in.Source = "startup"; x.Resumed {
				in.Source = "resume"
			}
			return in, nil
		}, func(a *answer) error {
			if !edit {
				return nil
			}
			return r.addToPrompt(x, a.added)
		})
		if err == nil {
			x.Put(memory{r, sessionStart}, said)
		}
		return said, err
	}
	r.add(hooks.On(hooks.ExecutionStart, func(ctx context.Context, x *hooks.Execution) error {
		if !outermost(ctx, x) {
			return nil
		}
		said, err := ask(ctx, x, true)
		if err != nil {
			return err
		}
		return said.failure()
	}, r.with(sessionStart, 0)...))
	r.add(hooks.Guard(hooks.ExecutionStart, func(ctx context.Context, x *hooks.Execution) error {
		if !outermost(ctx, x) {
			return nil
		}
		if v, ok := x.Get(memory{r, sessionStart}); ok {
			kept := v.(ruling)
			return kept.abort()
		}
		said, err := ask(ctx, x, false)
		if err != nil {
			return err
		}
		said.logFailures(ctx)
		return said.abort()
	}, r.with(sessionStart, 0)...))
}

func (r *registered) sessionEnd() {
	r.add(hooks.Watch(hooks.ExecutionEnd, func(ctx context.Context, x *hooks.Execution, _ error) {
		if !outermost(ctx, x) {
			return
		}
		said, err := r.ask(ctx, r.matching(sessionEnd, ""), func() (input, error) {
			in := r.input(sessionEnd, &x.Caller)
			in.Reason = "other"
			return in, nil
		}, func(*answer) error { return nil })
		if err != nil {
			said.failures = append(said.failures, err)
		}
		said.logFailures(ctx)
		if said.verdict >= denies && len(said.failures) == 0 {
			slog.Default().LogAttrs(ctx, slog.LevelWarn, "command: a hook script refuses the end of a session, which can't be", slog.String("reason", said.reason))
		}
	}, r.with(sessionEnd, 0)...))
}

func (r *registered) stop() {
	r.add(hooks.Guard(hooks.Output, func(ctx context.Context, x *hooks.Execution) error {
		said, err := r.ask(ctx, r.matching(stop, ""), func() (input, error) {
			in := r.input(stop, &x.Caller)
			in.StopHookActive = new(bool)
			if text, ok := x.Output.(string); ok {
				in.LastMessage = &text
			}
			return in, nil
		}, func(*answer) error { return nil })
		if err != nil {
			return err
		}
		said.logFailures(ctx)
		return said.abort()
	}, r.with(stop, 0)...))
}

// place tells executions apart: each has a value of its own.
type place struct{ _ byte }

var places hooks.RunVar[place]

// outermost says that x isn't inside another execution of this process.
func outermost(ctx context.Context, x *hooks.Execution) bool {
	own, ok := places.Of(ctx)
	if !ok { // dispatched without a seam
		return x.ParentRunID == ""
	}
	around, _ := places.Root(ctx)
	return own == around
}
