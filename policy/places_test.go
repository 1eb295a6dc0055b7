package policy_test

import (
	"math"
	"slices"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
)

// registrations returns what is registered at the points of a body.
func registrations(reg *hooks.Registry) []*hooks.Registration {
	return slices.Concat(reg.Hooks(hooks.ModelBody), reg.Hooks(hooks.ToolBody), reg.Hooks(hooks.PreModelCall), reg.Hooks(hooks.PostToolCall))
}

// What the policies of this file's neighbours are called, where they stand, and what
// becomes of options and of a group that is removed.
func TestRegister_namesAndPlaces(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy interface {
			Register(opts ...hooks.Option) *hooks.Group
		}
		name     string
		at       hooks.InterceptionPoint
		priority int
		tools    []string
	}{
		{policy.Retry{}, "policy.Retry", "model_body", 500, nil},
		{policy.Retry{Tools: []string{"search"}}, "policy.Retry", "tool_body", 500, []string{"search"}},
		{policy.Fallback{Models: []string{"small"}}, "policy.Fallback", "model_body", 700, nil},
		{policy.Timeout{After: 1}, "policy.Timeout", "model_body", 300, nil},
		{policy.Timeout{After: 1, Tools: []string{"s*"}}, "policy.Timeout", "tool_body", 300, []string{"s*"}},
		{policy.Cache{}, "policy.Cache", "model_body", 900, nil},
		{policy.Cache{Tools: []string{"search"}}, "policy.Cache", "tool_body", 900, []string{"search"}},
		{policy.Truncate{}, "policy.Truncate", "post_tool_call", -900, nil},
		{policy.History{Tokens: 10}, "policy.History", "pre_model_call", -950, nil},
	} {
		reg := hooks.NewRegistry()
		group := tt.policy.Register(hooks.In(reg))
		again := tt.policy.Register(hooks.In(reg), hooks.WithName("mine"), hooks.WithPriority(3))
		all := registrations(reg)
		if assert.Len(t, all, 2, tt.name) {
			mine, own := all[0], all[1]
			if mine.Name() != "mine" {
				mine, own = own, mine
			}
			assert.Equal(t, "mine", mine.Name())
			assert.Equal(t, 3, mine.Priority(), tt.name)
			assert.Equal(t, tt.name, own.Name())
			assert.Equal(t, tt.at, own.Point(), tt.name)
			assert.Equal(t, tt.priority, own.Priority(), tt.name)
			assert.Equal(t, tt.tools, own.Tools(), tt.name)
		}
		assert.True(t, group.Remove())
		assert.False(t, group.Remove())
		assert.True(t, again.Remove())
		assert.Empty(t, registrations(reg), tt.name)
	}
}

func TestRegister_refusesWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]interface {
		Register(opts ...hooks.Option) *hooks.Group
	}{
		"Retry: negative Max":       policy.Retry{Max: -1},
		"Retry: negative First":     policy.Retry{First: -1},
		"Retry: negative Most":      policy.Retry{Most: -1},
		"Retry: negative Total":     policy.Retry{Total: -1},
		"Retry: First over Most":    policy.Retry{First: 2, Most: 1},
		"Retry: no tools":           policy.Retry{Tools: []string{}},
		"Retry: empty name":         policy.Retry{Tools: []string{"a", ""}},
		"Fallback: nil Models":      policy.Fallback{},
		"Fallback: no Models":       policy.Fallback{Models: []string{}},
		"Fallback: repeated":        policy.Fallback{Models: []string{"a", "b", "a"}},
		"Fallback: empty name":      policy.Fallback{Models: []string{""}},
		"Timeout: no After":         policy.Timeout{},
		"Timeout: negative After":   policy.Timeout{After: -1},
		"Timeout: no tools":         policy.Timeout{After: 1, Tools: []string{}},
		"Cache: negative TTL":       policy.Cache{TTL: -1},
		"Cache: negative Max":       policy.Cache{Max: -1},
		"Cache: no tools":           policy.Cache{Tools: []string{}},
		"Truncate: Max too small":   policy.Truncate{Max: 255},
		"Truncate: negative Max":    policy.Truncate{Max: -1},
		"Truncate: more than all":   policy.Truncate{Tail: 1.01},
		"Truncate: no number":       policy.Truncate{Tail: math.NaN()},
		"History: no Tokens":        policy.History{},
		"History: negative Tokens":  policy.History{Tokens: -1},
		"History: negative Keep":    policy.History{Tokens: 1, Keep: -1},
		"options of the wrong kind": badOption{policy.Retry{}},
	} {
		reg := hooks.NewRegistry()
		assert.Panics(t, func() { p.Register(hooks.In(reg)) }, name)
		assert.Empty(t, registrations(reg), name)
	}
}

// badOption registers a policy for model calls with tools.
type badOption struct{ policy.Retry }

func (b badOption) Register(opts ...hooks.Option) *hooks.Group {
	return b.Retry.Register(append(opts, hooks.WithTools("search"))...)
}
