package hookstest_test

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

func TestLoopPassesACorrectLoop(t *testing.T) {
	t.Parallel()
	hookstest.TestLoop(t, newFlawed(""), marksErrors)
}

func TestLoopPassesACorrectLoopWithParallelTools(t *testing.T) {
	t.Parallel()
	hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
		return (&flawed{Setup: s, parallel: true, steps: true}).run
	}, marksErrors)
}

func TestLoopPassesALoopWithoutStepsThatSaysSo(t *testing.T) {
	t.Parallel()
	hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
		return (&flawed{Setup: s}).run
	}, marksErrors, hookstest.Without(hooks.PreStep, hooks.PostStep))
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

// wrongLoops has a flawed loop for each rule.
var wrongLoops = []struct {
	bug  bug
	rule string
	also []string // what the same mistake breaks elsewhere
}{
	{"bypasses the hooks for the second tool", "no tool and no model runs without its pre point", nil},
	{"bypasses the hooks for tools", "no tool and no model runs without its pre point", nil},
	{"calls the model without hooks", "no tool and no model runs without its pre point", nil},
	{"never fires steps", "every point that the loop has fires in a run, under the ctx of the run", nil},
	{"fires no execution points", "every point that the loop has fires in a run, under the ctx of the run", nil},
	{"ends its goroutine", "a run ends", nil},
	{"adds to the answer", "a run returns the text of the last reply, unless a hook changes it", nil},
	{"panics", "a loop doesn't panic", nil},
	{"takes the prompt for a text", "a loop doesn't panic", nil},
	{"takes the input of a step for its own", "a loop doesn't panic", nil},
	{"takes the output of a step for a text", "a loop doesn't panic", nil},
	{"takes the output for a text", "a loop doesn't panic", nil},
	{"asks on", "a reply that asks for no tools ends the run", nil},
	{"offers no tools", "the model is offered the loop's tools", nil},

	{"fires no post point of tools", "a pre point is followed by its post point, whatever happens in between", nil},
	{"fires no post point of blocked tools", "a pre point is followed by its post point, whatever happens in between", nil},
	{"fires no post point of a failed model call", "a pre point is followed by its post point, whatever happens in between", nil},
	{"fires the post point twice", "a post point fires once for each pre point", nil},
	{"fires the post point of the model twice", "a post point fires once for each pre point", nil},
	{"fires a post point alone", "a post point fires only for a pre point that has fired", nil},
	{"fires the post point before the tool", "a post point fires after what it follows has ended", nil},
	{"fires a post point after an abort", "a model call, a step or an execution that its pre hooks abort has no post point", nil},
	{"ends what was aborted at its start", "a model call, a step or an execution that its pre hooks abort has no post point", nil},
	{"fires the post point with another context", "one and the same context goes through a pre point and its post point", nil},
	{"fires a step after the end", "steps, model calls and tool calls happen between the input and the output of an execution", nil},
	{"fires input twice", "a run fires input once, after execution_start", nil},
	{"fires no output", "a run that succeeds fires output once, before execution_end", nil},
	{"fires no end after an error", "execution_end fires once on every way out of a run that has started", nil},
	{"fires no end after a panic", "execution_end fires once on every way out of a run that has started", nil},
	{"fires the end twice", "execution_end fires once on every way out of a run that has started", nil},
	{"keeps the error from execution_end", "execution_end is told how the run ended", nil},
	{"runs tools without their ctx", "tools and models run under the ctx of the run, with its values, scopes and cancellation", nil},
	{"runs tools without cancellation", "tools and models run under the ctx of the run, with its values, scopes and cancellation", nil},
	{"calls the model without its ctx", "tools and models run under the ctx of the run, with its values, scopes and cancellation", nil},

	{"ignores Blocked", "a tool call that a hook blocks does not run", nil},
	{"calls an aborted model", "a model call that a hook aborts is not made", nil},
	{"ignores answers", "what a hook has answered does not run, and the answer stands for it", nil},
	{"ignores answered model calls", "what a hook has answered does not run, and the answer stands for it", nil},
	{"runs tools twice", "a tool runs once for each call", nil},
	{"ends the run at a blocked tool", "a tool call that is blocked, withheld or failed does not end the run", nil},
	{"ends the run at a failed tool", "a tool call that is blocked, withheld or failed does not end the run", []string{
		"an abort that ends an inner run is a failed tool call of the outer run",
	}},
	{"swallows tool errors", "post hooks are told of a failure in Err, and of a block in Blocked", []string{
		"a tool's panic is a failed call, and its value never reaches the model",
		"an abort with StopRun that ends an inner run ends the outer run too",
	}},
	{"tells the model what a tool panics with", "a tool's panic is a failed call, and its value never reaches the model", nil},
	{"lets a tool's panic end the loop", "a tool call that is blocked, withheld or failed does not end the run", nil},
	{"passes unknown tools by", "a call of an unknown tool fires both tool points, with a nil Tool", nil},
	{"hands out a nil pointer as the tool", "a call of an unknown tool fires both tool points, with a nil Tool", nil},
	{"passes bad arguments by", "a tool call whose arguments are not a JSON object fires both tool points and does not run", nil},
	{"runs on bad arguments", "a tool call whose arguments are not a JSON object fires both tool points and does not run", nil},

	{"skips the calls after one that failed", "a tool call that is blocked or failed does not touch the other calls of its turn", nil},
	{"mixes up the results", "each tool call of a turn has one result in the next request, in the order of the calls", nil},
	{"forgets the results but the first", "each tool call of a turn has one result in the next request, in the order of the calls", nil},
	{"sends failed calls no result", "each tool call of a turn has one result in the next request, in the order of the calls", nil},
	{"keeps dropped tool calls in the history", "each tool call of a turn has one result in the next request, in the order of the calls", nil},
	{"sends the raw result", "the model reads a result as the post hooks left it, and nothing of what it was", []string{
		"a result that a post hook withholds never reaches the model",
	}},
	{"keeps the reason to itself", "the model reads why a tool call was blocked", nil},
	{"sends withheld results", "a result that a post hook withholds never reaches the model", nil},
	{"marks no errors", "a result is marked as an error where the call was blocked, withheld or failed, and nowhere else", nil},
	{"runs the tool that the model named", "the tool that runs is the one that its call names", nil},
	{"ignores edited input", "a tool gets the input as the pre hooks left it", nil},
	{"ignores replaced input", "a tool gets the input as the pre hooks left it", nil},
	{"runs the tool calls of before the post hooks", "what runs are the tool calls that the post hooks of the model call left", nil},
	{"keeps the raw response", "the response of a model is what the post hooks left, in the history and as the result", nil},
	{"ignores the edited output of a step", "where the output of a step is the final text, the run returns it as the post hooks of the step left it", nil},
	{"ignores hidden tools", "a tool that a hook hides is not offered to the model", nil},
	{"offers nothing to the hooks", "a tool that a hook hides is not offered to the model", nil},
	{"ignores edited messages", "the model is sent the messages as the pre hooks left them", nil},
	{"hides the prompt", "a run works on the inputs that its hooks left", nil},
	{"ignores edited inputs", "a run works on the inputs that its hooks left", nil},
	{"ignores edited output", "a run returns the output that its hooks left", nil},

	{"goes on after an abort at the model", "after an abort that ends the run, nothing of the run starts", nil},
	{"retries aborted model calls", "what a hook has aborted is not tried again", nil},
	{"flattens aborts", "an abort comes out of the run as it is: errors.As finds the *HookAborted", nil},
	{"swallows aborts", "an abort comes out of the run as it is: errors.As finds the *HookAborted", nil},
	{"returns vetoed output", "an output that a hook has vetoed is not returned", nil},
	{"ignores StopRun", "an abort with StopRun at a tool point ends the run", nil},
	{"hides model errors", "the error of a model comes out of the run as it is", nil},
	{"ignores the cancellation of a hook", "a cancelled run starts nothing more and returns the error of its ctx", nil},
	{"tells of the end with the cancelled ctx", "post points and execution_end get a ctx that is not cancelled, in a cancelled run too", nil},
	{"gives a run inside a tool no start of its own", "a run inside a tool has a start and an end of its own, within those of the outer run", nil},
	{"ends the run at an abort of an inner run", "an abort that ends an inner run is a failed tool call of the outer run", nil},
	{"ignores StopRun of inner runs", "an abort with StopRun that ends an inner run ends the outer run too", nil},
}

func TestEveryRuleHasALoopThatBreaksIt(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "rules.go", nil, 0)
	require.NoError(t, err)
	broken := make(map[string]bool)
	for _, w := range wrongLoops {
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

func TestCheckLoopNamesTheRuleThatAWrongLoopBreaks(t *testing.T) {
	t.Parallel()
	for _, tc := range wrongLoops {
		t.Run(strings.ReplaceAll(string(tc.bug), " ", "-"), func(t *testing.T) {
			t.Parallel()
			failures := hookstest.CheckLoop(t.Context(), newFlawed(tc.bug), marksErrors)
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

func TestCheckLoopGivesUpOnALoopThatHangs(t *testing.T) {
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

func TestFailureReadsAsRuleScenarioWantAndGot(t *testing.T) {
	t.Parallel()
	failures := hookstest.CheckLoop(t.Context(), newFlawed("bypasses the hooks for the second tool"), marksErrors)
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
		post_step
		output
		execution_end
		the loop returns "the final answer"`, failures[0].String())
}

func TestTestLoopTakesNoNilLoop(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { hookstest.CheckLoop(t.Context(), nil) })
}

func TestCheckLoopLeavesOutWhatALoopSaysItDoesNotHave(t *testing.T) {
	t.Parallel()
	failures := hookstest.CheckLoop(t.Context(), newFlawed("fires no execution points"), marksErrors, nil,
		hookstest.Without(hooks.ExecutionStart, hooks.Input, hooks.Output, hooks.ExecutionEnd))
	assert.Empty(t, failures)
}
