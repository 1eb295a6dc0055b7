package hookstest

// Values of a type that no loop expects.

import (
	"context"

	"github.com/loophooks/hooks"
)

// odd is a value of a type that no loop knows.
type odd struct{}

// oddScenarios have a hook put a value of another type where the contexts take
// any. A loop may fail then, or go on without it; that it doesn't panic is
// checked in every scenario.
var oddScenarios = []scenario{
	{name: "prompt-of-another-type", needs: []hooks.AnyPoint{hooks.Input}, play: oddAt(hooks.Input, func(x *hooks.Execution) {
		for name := range x.Inputs {
			x.Inputs[name] = odd{}
		}
	})},
	{name: "step-input-of-another-type", needs: stepPoints, play: oddAt(hooks.PreStep, func(s *hooks.Step) { s.Input = odd{} })},
	{name: "step-output-of-another-type", needs: stepPoints, play: oddAt(hooks.PostStep, func(s *hooks.Step) { s.Output = odd{} })},
	{name: "output-of-another-type", needs: []hooks.AnyPoint{hooks.Output}, play: oddAt(hooks.Output, func(x *hooks.Execution) { x.Output = odd{} })},
	{name: "output-of-another-type-at-end", needs: []hooks.AnyPoint{hooks.ExecutionEnd}, play: oddAt(hooks.ExecutionEnd, func(x *hooks.Execution) { x.Output = odd{} })},
}

func oddAt[C any](p hooks.Point[C], put func(*C)) func(*trial) {
	return func(t *trial) {
		t.strange = true
		on(t, p, func(_ context.Context, c *C) error {
			put(c)
			return nil
		})
		t.run(asks(request("alpha", "c1")), answers(theAnswer))
	}
}
