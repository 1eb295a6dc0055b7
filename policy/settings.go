package policy

// What policies have to know of the options that their users give them.

import (
	"context"

	"github.com/loophooks/hooks"
)

// settings returns a registration that has what the options of a policy set, such as
// its name. Options can't be read, and once a function is registered calls may come,
// so this one is registered, and removed, where nobody dispatches.
func (r *registrar) settings(name string) *hooks.Registration {
	nobody := func(context.Context, *hooks.ToolCall) error { return nil }
	reg := hooks.Guard(hooks.PreToolCall, nobody, append(r.with(name, 0), hooks.In(hooks.NewRegistry()))...)
	reg.Remove()
	return reg
}
