package hookstest_test

// Scenarios that are left out, and loops of which nothing comes at all.

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/hookstest"
)

func TestSkip_leavesScenarioOut(t *testing.T) {
	t.Parallel()
	newLoop := newFlawed("refuses blank arguments")
	failures := hookstest.CheckLoop(t.Context(), newLoop, flawedOptions...)
	var names []string
	for _, f := range failures {
		names = append(names, f.Scenario)
	}
	require.Equal(t, []string{"no-arguments", "blank-arguments"}, names)
	failures = hookstest.CheckLoop(t.Context(), newLoop, append(flawedOptions[:3:3],
		hookstest.Skip("no-arguments", "the provider sends {}"), hookstest.Skip("blank-arguments", "the provider sends {}"))...)
	assert.Empty(t, failures)
}

func TestSkip_leavesVariantsOut(t *testing.T) {
	t.Parallel()
	failures := hookstest.CheckLoop(t.Context(), newFlawed("sends raw results from the fifth call on"),
		append(flawedOptions[:3:3], hookstest.Skip("fifth-call", "a turn has at most four calls"))...)
	assert.Empty(t, failures)
}

func TestSkip_refusesUnknownNameAndNoReason(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ scenario, reason, want, got string }{
		{"blocked-tol", "we can't", "blocked-tool,", `"blocked-tol"`},
		{"", "we can't", "a scenario such as", `""`},
		{"blocked-tool", " ", `why "blocked-tool" is left out`, "no reason"},
	} {
		built := false
		failures := hookstest.CheckLoop(t.Context(), func(hookstest.Setup) hookstest.Loop {
			built = true
			return nil
		}, hookstest.Skip(tc.scenario, tc.reason))
		require.Len(t, failures, 1)
		assert.Equal(t, tc.scenario, failures[0].Scenario)
		assert.Equal(t, "Skip takes the name of a scenario and a reason", failures[0].Rule)
		assert.Contains(t, failures[0].Want, tc.want)
		assert.Equal(t, tc.got, failures[0].Got)
		assert.False(t, built, "nothing is played")
	}
}

// reportedLoopVariable makes TestReport_child test a loop, and says which way.
const reportedLoopVariable = "HOOKSTEST_REPORTED_LOOP"

// TestReport_child runs in the processes that the tests below start.
func TestReport_child(t *testing.T) {
	newLoop := newFlawed("")
	switch os.Getenv(reportedLoopVariable) {
	case "":
		t.Skip("this is for the other tests of this file")
	case "skip":
		hookstest.TestLoop(t, newLoop, append(flawedOptions[:3:3], hookstest.Skip("interrupting-tool", "nobody is asked here"))...)
	case "unknown":
		hookstest.TestLoop(t, newLoop, marksErrors, hookstest.Skip("interrupted-tool", "nobody is asked here"))
	case "hidden":
		hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop { return (&chat{Setup: s, hides: true}).run }, noSteps)
	case "plain":
		hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop { return (&plain{Setup: s, bare: true}).run }, marksErrors)
	case "broken":
		hookstest.TestLoop(t, newFlawed("fails at once"))
	}
}

// report returns what TestReport_child prints.
func report(t *testing.T, mode string, fails bool) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReport_child$", "-test.v")
	cmd.Env = append(os.Environ(), reportedLoopVariable+"="+mode)
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	if fails {
		require.Error(t, err, "%s", out.String())
	} else {
		require.NoError(t, err, "%s", out.String())
	}
	return out.String()
}

func TestSkip_isInReport(t *testing.T) {
	t.Parallel()
	out := report(t, "skip", false)
	assert.Contains(t, out, "left out: nobody is asked here")
	assert.Contains(t, out, "--- SKIP: TestReport_child/interrupting-tool")
}

func TestSkip_unknownNameIsInReport(t *testing.T) {
	t.Parallel()
	out := report(t, "unknown", true)
	assert.Contains(t, out, "a scenario such as interrupting-tool")
	assert.NotContains(t, out, "every-point", "nothing is played")
}

func TestReport_saysWhatWasNotJudged(t *testing.T) {
	t.Parallel()
	out := report(t, "hidden", false)
	assert.Contains(t, out, "--- SKIP: TestReport_child/edited-prompt")
	assert.Contains(t, out, "not judged: the prompt was not found among the inputs")
}

func TestReport_saysWhichRulesWereNotJudged(t *testing.T) {
	t.Parallel()
	out := report(t, "plain", false)
	for _, want := range []string{
		"--- PASS: TestReport_child/iterations", "--- PASS: TestReport_child/turns",
		"not judged: the loop doesn't say which turn it is in",
		"--- PASS: TestReport_child/ids-of-calls", "not judged: the loop keeps no ids of calls",
		"--- PASS: TestReport_child/ids-of-results", "not judged: the loop keeps no ids in its messages",
	} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, out, "call-renamed", "the loop doesn't say that hooks may")
}

func TestReport_endsAfterHopelessStart(t *testing.T) {
	t.Parallel()
	out := report(t, "broken", true)
	assert.Contains(t, out, "the error: no configuration")
	assert.Contains(t, out, "the other scenarios are not played")
	assert.NotContains(t, out, "text-only")
}

func TestCheckLoop_givesUpAfterHopelessStart(t *testing.T) {
	t.Parallel()
	for _, b := range []bug{"panics while it is built", "is nil", "fails at once", "panics", "ends its goroutine"} {
		failures := hookstest.CheckLoop(t.Context(), newFlawed(b))
		assert.Len(t, failures, 1, "%s", b)
	}
	// A model that can't be reached is no reason to tell of it in every scenario.
	failures := hookstest.CheckLoop(t.Context(), func(s hookstest.Setup) hookstest.Loop {
		s.Model = func(context.Context, hookstest.Request) (hookstest.Reply, error) {
			return hookstest.Reply{}, errors.New("no such host")
		}
		return (&chat{Setup: s}).run
	}, noSteps)
	assert.Len(t, failures, 1)
}
