package hookstest_test

// That the kit finds wrong loops, names the rule, and lets right ones pass.

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

var marksErrors = hookstest.MarksErrors(func(m hooks.Message) bool { return strings.HasPrefix(m.Content, "Error: ") })

func TestLoop_passesRightLoop(t *testing.T) {
	t.Parallel()
	hookstest.TestLoop(t, newFlawed(""), append(flawedOptions[:3:3], hookstest.Renames())...)
}

// brokenRules returns each rule that is broken once, in order.
func brokenRules(failures []hookstest.Failure) []string {
	var rules []string
	for _, f := range failures {
		if !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}

func TestRules_eachHasWrongLoop(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "rules.go", nil, 0)
	require.NoError(t, err)
	broken := make(map[string]bool)
	for _, w := range slices.Concat(wrongLoops, wrongBodies, wrongStreams) {
		broken[w.rule] = true
	}
	rules := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			rule, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			assert.True(t, broken[rule], "no loop breaks the rule %q", rule)
			rules++
		}
		return true
	})
	assert.NotZero(t, rules)
}

func TestCheckLoop_namesBrokenRule(t *testing.T) {
	t.Parallel()
	for _, tc := range wrongLoops {
		t.Run(strings.ReplaceAll(string(tc.bug), " ", "-"), func(t *testing.T) {
			t.Parallel()
			failures := hookstest.CheckLoop(t.Context(), newFlawed(tc.bug), append(flawedOptions[:3:3], hookstest.Renames())...)
			require.NotEmpty(t, failures)
			assert.ElementsMatch(t, append(tc.also, tc.rule), brokenRules(failures), "%v", failures)
			for _, f := range failures {
				assert.NotEmpty(t, f.Scenario)
				assert.NotEmpty(t, f.Want)
				assert.NotEmpty(t, f.Got)
			}
		})
	}
}

func TestCheckLoop_givesUpOnLoopThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		failures := hookstest.CheckLoop(t.Context(), func(s hookstest.Setup) hookstest.Loop {
			return func(ctx context.Context, prompt string) (string, error) {
				<-never
				_, err := s.Model(ctx, hookstest.Request{})
				return "", err
			}
		})
		require.Len(t, failures, 1, "one wait is enough")
		assert.Equal(t, "a run ends", failures[0].Rule)
		assert.Contains(t, failures[0].Got, "still running")
		close(never) // or the bubble would not end
	})
}

func TestFailure_readsAsRuleScenarioWantGot(t *testing.T) {
	t.Parallel()
	failures := hookstest.CheckLoop(t.Context(), newFlawed("bypasses the hooks for the second tool"), flawedOptions...)
	require.NotEmpty(t, failures)
	assert.Equal(t, `no tool and no model runs without its pre point
	scenario: several-tools
	want:     pre_tool_call before tool beta (c2)
	got:      it ran without
	what happened:
		execution_start
		input
		pre_step
		pre_model_call
		    the model is called
		post_model_call
		pre_tool_call alpha (c1)
		    tool alpha (c1) runs
		post_tool_call alpha (c1)
		    tool beta (c2) runs
		pre_tool_call alpha (c3)
		    tool alpha (c3) runs
		post_tool_call alpha (c3)
		post_step
		pre_step
		pre_model_call
		    the model is called
		post_model_call
		    the loop shows "the final answer"
		post_step
		output
		execution_end
		the loop returns "the final answer"`, failures[0].String())
}

func TestCheckLoop_panicsWithoutLoop(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { hookstest.CheckLoop(t.Context(), nil) })
}

func TestRenames_isOptIn(t *testing.T) {
	t.Parallel()
	newLoop := newFlawed("runs the tool of the old name")
	assert.Empty(t, hookstest.CheckLoop(t.Context(), newLoop, flawedOptions...))
	assert.NotEmpty(t, hookstest.CheckLoop(t.Context(), newLoop, append(flawedOptions[:3:3], hookstest.Renames())...))
}

func TestWithout_refusesPointThatFires(t *testing.T) {
	t.Parallel()
	for _, points := range [][]hooks.AnyPoint{{hooks.PreToolCall, hooks.PostToolCall}, {hooks.PostModelCall}} {
		failures := hookstest.CheckLoop(t.Context(), newFlawed(""), append(flawedOptions[:3:3], hookstest.Without(points...))...)
		require.Len(t, failures, 1)
		assert.Equal(t, "a point that the loop is declared not to have doesn't fire", failures[0].Rule)
		for _, p := range points {
			assert.Contains(t, failures[0].Got, string(p.Name()))
		}
	}
	assert.PanicsWithValue(t, "hookstest: Without: nil point; give one such as hooks.PreStep", func() {
		hookstest.CheckLoop(t.Context(), newFlawed(""), hookstest.Without(nil))
	})
}

func TestRenames_saysWhichToolShouldRun(t *testing.T) {
	t.Parallel()
	failures := hookstest.CheckLoop(t.Context(), newFlawed("runs the tool of the old name"), append(flawedOptions[:3:3], hookstest.Renames())...)
	require.NotEmpty(t, failures)
	assert.Equal(t, "tool beta for pre_tool_call alpha (c1)", failures[0].Want)
	assert.Equal(t, "tool alpha (c1) ran", failures[0].Got)
}

func TestWithout_leavesPointsOut(t *testing.T) {
	t.Parallel()
	failures := hookstest.CheckLoop(t.Context(), newFlawed("fires no execution points"),
		append(flawedOptions[:3:3], nil, hookstest.Without(hooks.ExecutionStart, hooks.Input, hooks.Output, hooks.ExecutionEnd))...)
	assert.Empty(t, failures)
}
