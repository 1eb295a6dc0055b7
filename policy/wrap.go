package policy

// What the policies share that wrap model calls or, where they have Tools, the calls
// of those.

import (
	"fmt"
	"slices"

	"github.com/loophooks/hooks"
)

// wrapBody registers model around model calls if tools is nil, and else tool around
// the calls of those tools.
func wrapBody(r *registrar, policy string, priority int, tools []string, model hooks.AroundFunc[hooks.ModelCall], tool hooks.AroundFunc[hooks.ToolCall]) {
	name := "policy." + policy
	if tools == nil {
		r.add(hooks.Around(hooks.ModelBody, model, r.with(name, priority)...))
		return
	}
	r.add(hooks.Around(hooks.ToolBody, tool, r.with(name, priority, hooks.WithTools(tools...))...))
}

// checkWrapped panics if tools names none, which would make a policy that never
// applies out of one that somebody wanted.
func checkWrapped(policy string, tools []string) {
	switch {
	case tools != nil && len(tools) == 0:
		panic(fmt.Sprintf("policy: %s: Tools is empty, so it would never apply; name tools, or leave it nil for model calls", policy))
	case slices.Contains(tools, ""):
		panic(fmt.Sprintf(`policy: %s: Tools holds the empty name ""; leave it out`, policy))
	}
}
