package main

// A run that waits: who decides, and how the desk is told.

import (
	"context"
	"errors"
	"fmt"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

// decider decides a question that waits, and says by whom.
type decider func(ctx context.Context, q hooks.Question) (hooks.Decision, error)

// ana approves of everything. She has been shown the question with the digest.
func ana(_ context.Context, q hooks.Question) (hooks.Decision, error) {
	return hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest, By: "ana"}, nil
}

// terminal asks the person at h, who is shown all that would run.
func terminal(h hooks.HumanInput) decider {
	return func(ctx context.Context, q hooks.Question) (hooks.Decision, error) {
		decision, _, err := desk.Human().Ask(hooks.WithHumanInput(ctx, h), &q)
		decision.By = "you"
		return decision, err
	}
}

// decideAll decides the questions that a run waits for. They are in the desk, which a
// program may as well list in another process.
func (p *performance) decideAll(ctx context.Context, err error) error {
	waiting, ok := errors.AsType[*hooks.Suspended](err)
	if !ok || len(waiting.Questions) == 0 {
		return fmt.Errorf("nobody can decide what the run waits for: %w", err)
	}
	for _, q := range waiting.Questions {
		p.decided = append(p.decided, line{"run waits", fmt.Sprintf("%s %s %s", q.Prompt, q.Tool, q.Arguments)})
		decision, err := p.decide(ctx, q)
		if err != nil {
			return err
		}
		if err := p.office.desk.Decide(ctx, q.ID, decision); err != nil {
			return err
		}
		p.decided = append(p.decided, line{"decided", fmt.Sprintf("%s, by %s", decision.Verdict, decision.By)})
	}
	return nil
}
