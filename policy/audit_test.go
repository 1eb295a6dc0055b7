package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var auditKey = []byte("a key of 32 bytes for the audits")

// auditLine is a record as others read it.
type auditLine struct {
	Seq                                                    int64
	Time, Kind, Point, Run, Root, Tenant, Role, Call, Tool string
	Model, Input, Result, Reason, Source, Error, Prev, Mac string
}

// audited runs fn in an execution under r, where an Audit is registered, and returns the records.
func audited(t *testing.T, r *hooks.Registry, p policy.Audit, fn func(ctx context.Context)) []auditLine {
	t.Helper()
	var out bytes.Buffer
	p.Log = policy.NewAuditLog(&out, auditKey)
	p.Register(hooks.In(r))
	hookstest.Run(t, r, fn)
	require.NoError(t, p.Log.Close())
	head, err := policy.VerifyAudit(bytes.NewReader(out.Bytes()), auditKey)
	require.NoError(t, err)
	assert.Equal(t, p.Log.Head(), head)
	return auditLines(t, out.String())
}

func auditLines(t *testing.T, text string) (lines []auditLine) {
	t.Helper()
	for line := range strings.Lines(text) {
		var l auditLine
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		lines = append(lines, l)
	}
	return lines
}

// auditTold tells kind, point, and the rest of what a test is about.
func auditTold(lines []auditLine) (all []string) {
	for _, l := range lines {
		all = append(all, strings.Join(strings.Fields(fmt.Sprintln(l.Kind, l.Point, l.Call, l.Model, l.Reason, l.Error)), " "))
	}
	return all
}

func auditTool(t *testing.T, ctx context.Context, id string, body func() error) *hooks.ToolCall {
	t.Helper()
	call := &hooks.ToolCall{ID: id, Name: "read_file", Input: map[string]any{"path": "a.txt"}}
	require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, c *hooks.ToolCall) error {
		if body != nil {
			return body()
		}
		c.Result = "content"
		return nil
	}))
	return call
}

func TestAudit_recordsOfARun(t *testing.T) {
	t.Parallel()
	lines := audited(t, hooks.NewRegistry(), policy.Audit{}, func(ctx context.Context) {
		m := &hooks.ModelCall{Model: "large", Messages: []hooks.Message{{Role: "user", Content: "hello"}}}
		m.Tenant, m.AgentRole = "acme", "writer"
		require.NoError(t, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			m.Response = "hi"
			return nil
		}))
		auditTool(t, ctx, "c1", nil)
		auditTool(t, ctx, "c2", func() error { return fmt.Errorf("wrapped: %w", os.ErrNotExist) })
	})
	assert.Equal(t, []string{
		"outcome execution_start",
		"intent pre_model_call large", "outcome post_model_call large",
		"intent pre_tool_call c1", "outcome post_tool_call c1",
		"intent pre_tool_call c2", "outcome post_tool_call c2 *errors.errorString",
		"outcome execution_end",
	}, auditTold(lines))
	run := lines[0].Run
	assert.NotEmpty(t, run)
	for i, l := range lines {
		assert.Equal(t, int64(i+1), l.Seq)
		assert.Equal(t, run, l.Run)
		assert.Equal(t, run, l.Root)
		assert.Len(t, l.Mac, 64)
		assert.NotEmpty(t, l.Time)
		if i > 0 {
			assert.Equal(t, lines[i-1].Mac, l.Prev)
		}
	}
	assert.Empty(t, lines[0].Prev)
	assert.Equal(t, "acme", lines[1].Tenant)
	assert.Equal(t, "writer", lines[1].Role)
	assert.Equal(t, "read_file", lines[3].Tool)
	assert.Len(t, lines[3].Input, 64)
	assert.Equal(t, lines[3].Input, lines[4].Input, "equal payloads have equal digests")
	assert.Equal(t, lines[3].Input, lines[5].Input)
	assert.Len(t, lines[4].Result, 64)
	assert.Empty(t, lines[3].Result)
}

func TestAudit_holdsNoPayloadByDefault(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{false, true} {
		var out bytes.Buffer
		log := policy.NewAuditLog(&out, auditKey)
		r := hooks.NewRegistry()
		policy.Audit{Log: log, Full: full}.Register(hooks.In(r))
		x := &hooks.Execution{Inputs: map[string]any{"topic": "payload1"}}
		require.NoError(t, hooks.RunExecution(hooks.WithScope(context.Background(), r), x, func(ctx context.Context, x *hooks.Execution) error {
			m := &hooks.ModelCall{Messages: []hooks.Message{{Content: "payload2 <>"}}}
			require.NoError(t, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
				m.Response, m.ToolCalls = "payload3", []hooks.ToolRequest{{ID: "1", Name: "x", Arguments: "payload4"}}
				return nil
			}))
			call := &hooks.ToolCall{ID: "1", Name: "x", Input: map[string]any{"v": "payload5"}}
			require.NoError(t, hooks.RunTool(ctx, call, func(_ context.Context, c *hooks.ToolCall) error {
				c.Result = "payload6"
				return errors.New("payload7")
			}))
			x.Output = "payload8"
			return nil
		}))
		for i := range 8 {
			payload := fmt.Sprintf("payload%d", i+1)
			assert.Equal(t, full && i != 6, strings.Contains(out.String(), payload), "%s, full: %v", payload, full)
		}
		if full {
			lines := auditLines(t, out.String())
			assert.Equal(t, `{"topic":"payload1"}`, lines[0].Input)
			assert.Equal(t, `{"messages":[{"text":"payload2 <>"}]}`, lines[1].Input)
			assert.Equal(t, `{"text":"payload3","calls":[{"id":"1","name":"x","arguments":"payload4"}]}`, lines[2].Result)
			assert.Equal(t, `{"v":"payload5"}`, lines[3].Input)
			assert.Equal(t, "payload6", lines[4].Result)
			assert.Equal(t, "payload8", lines[5].Result)
		}
		_, err := policy.VerifyAudit(&out, auditKey)
		require.NoError(t, err)
	}
}

func TestAudit_callsThatGuardsRefuse(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("not this one") }, hooks.In(r), hooks.WithName("tools"))
	hooks.Guard(hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error { return errors.New("broken") }, hooks.In(r), hooks.WithName("models"))
	lines := audited(t, r, policy.Audit{}, func(ctx context.Context) {
		auditTool(t, ctx, "c1", nil)
		require.Error(t, hooks.RunModel(ctx, &hooks.ModelCall{Model: "large"}, func(context.Context, *hooks.ModelCall) error { return nil }))
	})
	assert.Equal(t, []string{
		"outcome execution_start", "outcome post_tool_call c1 not this one",
		"outcome pre_model_call large models failed *errors.errorString", "outcome execution_end",
	}, auditTold(lines))
	assert.Equal(t, "tools", lines[1].Source)
	assert.Equal(t, "models", lines[2].Source)
}

func TestAudit_resultsThatAreWithheld(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { return hooks.Abort("not for the model") }, hooks.In(r))
	hooks.Guard(hooks.PostModelCall, func(context.Context, *hooks.ModelCall) error { return hooks.Abort("not for people") }, hooks.In(r))
	lines := audited(t, r, policy.Audit{}, func(ctx context.Context) {
		auditTool(t, ctx, "c1", nil)
		require.Error(t, hooks.RunModel(ctx, &hooks.ModelCall{Model: "large"}, func(context.Context, *hooks.ModelCall) error { return nil }))
	})
	assert.Equal(t, []string{
		"outcome execution_start",
		"intent pre_tool_call c1", "outcome post_tool_call c1 not for the model",
		"intent pre_model_call large", "outcome post_model_call large not for people",
		"outcome execution_end",
	}, auditTold(lines))
}

func TestAudit_bodyPanics(t *testing.T) {
	t.Parallel()
	lines := audited(t, hooks.NewRegistry(), policy.Audit{}, func(ctx context.Context) {
		auditTool(t, ctx, "c1", func() error { panic("secret") })
		assert.Panics(t, func() {
			_ = hooks.RunModel(ctx, &hooks.ModelCall{Model: "large"}, func(context.Context, *hooks.ModelCall) error { panic("secret") })
		})
	})
	assert.Equal(t, []string{
		"outcome execution_start",
		"intent pre_tool_call c1", "outcome post_tool_call c1 *hooks.PanicError",
		"intent pre_model_call large", "outcome post_model_call large *hooks.PanicError",
		"outcome execution_end",
	}, auditTold(lines))
}

func TestAudit_callsThatWait(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, c *hooks.ToolCall) error { return c.Ask(ctx, hooks.Question{}) }, hooks.In(r), hooks.WithPriority(-900))
	var out bytes.Buffer
	policy.Audit{Log: policy.NewAuditLog(&out, auditKey)}.Register(hooks.In(r))
	desk := hookstest.NewDesk(t, hookstest.DeskAnswer{})
	ctx := hooks.WithDesk(hooks.WithScope(context.Background(), r), desk)
	err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		return hooks.RunTool(ctx, &hooks.ToolCall{ID: "c1", Name: "pay"}, func(context.Context, *hooks.ToolCall) error { return nil })
	})
	require.Error(t, err)
	assert.Equal(t, []string{
		"outcome execution_start", "outcome pre_tool_call c1 *hooks.Suspended", "outcome execution_end *hooks.Suspended",
	}, auditTold(auditLines(t, out.String())))
}

// Where guards are asked again and refuse, there is one outcome: that of the post point.
func TestAudit_askedAgain(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	hooks.Around(hooks.ToolBody, func(ctx context.Context, c *hooks.ToolCall, next func(context.Context) error) error {
		c.Input["path"] = "b.txt"
		return next(ctx)
	}, hooks.In(r), hooks.WithTools("read_file"))
	hooks.Around(hooks.ModelBody, func(ctx context.Context, m *hooks.ModelCall, next func(context.Context) error) error {
		m.Model = "small"
		return next(ctx)
	}, hooks.In(r))
	hooks.Guard(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		if m.Model == "small" {
			return hooks.Abort("too small")
		}
		return nil
	}, hooks.In(r))
	lines := audited(t, r, policy.Audit{}, func(ctx context.Context) {
		auditTool(t, ctx, "c1", nil)
		require.Error(t, hooks.RunModel(ctx, &hooks.ModelCall{Model: "large"}, func(context.Context, *hooks.ModelCall) error { return nil }))
	})
	assert.Equal(t, []string{
		"outcome execution_start",
		"intent pre_tool_call c1", "intent pre_tool_call c1", "outcome post_tool_call c1",
		"intent pre_model_call large", "outcome post_model_call small too small",
		"outcome execution_end",
	}, auditTold(lines))
	assert.NotEqual(t, lines[1].Input, lines[2].Input)
	assert.Equal(t, lines[2].Input, lines[3].Input)
}

// A loop that dispatches by hand uses one context for call after call.
func TestAudit_contextsThatAreUsedAgain(t *testing.T) {
	t.Parallel()
	r := hooks.NewRegistry()
	refuse := false
	hooks.Guard(hooks.PreModelCall, func(context.Context, *hooks.ModelCall) error {
		if refuse {
			return hooks.Abort("enough")
		}
		return nil
	}, hooks.In(r))
	m := &hooks.ModelCall{}
	lines := audited(t, r, policy.Audit{}, func(ctx context.Context) {
		require.NoError(t, hooks.Dispatch(ctx, hooks.PreModelCall, m))
		require.NoError(t, hooks.Dispatch(ctx, hooks.PostModelCall, m))
		refuse = true
		require.Error(t, hooks.Dispatch(ctx, hooks.PreModelCall, m))
		require.Error(t, hooks.RunModel(ctx, m, func(context.Context, *hooks.ModelCall) error { return nil }))
	})
	assert.Equal(t, []string{
		"outcome execution_start", "intent pre_model_call", "outcome post_model_call",
		"outcome pre_model_call enough", "outcome pre_model_call enough", "outcome execution_end",
	}, auditTold(lines))
}

func TestAudit_argumentsThatCannotBeRecordedDoNotRun(t *testing.T) {
	t.Parallel()
	lines := audited(t, hooks.NewRegistry(), policy.Audit{}, func(ctx context.Context) {
		for id, value := range map[string]any{"c1": func() {}, "c2": auditPanics{}} {
			call := &hooks.ToolCall{ID: id, Name: "x", Input: map[string]any{"v": value}}
			require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error {
				t.Error("it ran")
				return nil
			}))
			assert.Equal(t, "the audit can't be written", call.Blocked.Reason)
		}
		call := &hooks.ToolCall{ID: "c3", Name: "x"}
		require.Error(t, call.SetArguments("{"))
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil }))
		assert.Nil(t, call.Blocked, "the seam tells what is wrong")
	})
	require.Len(t, lines, 5)
	assert.Empty(t, lines[1].Input)
	assert.Equal(t, "c3", lines[3].Call)
	assert.NotEqual(t, "intent", lines[3].Kind)
}

type auditPanics struct{}

func (auditPanics) MarshalJSON() ([]byte, error) { panic("boom") }

func TestAudit_parallelCalls(t *testing.T) {
	t.Parallel()
	lines := audited(t, hooks.NewRegistry(), policy.Audit{}, func(ctx context.Context) {
		var calls []*hooks.ToolCall
		for i := range 32 {
			calls = append(calls, &hooks.ToolCall{ID: fmt.Sprint("c", i), Name: "x"})
		}
		var all sync.WaitGroup
		all.Add(len(calls)) // so that all of them run at once
		require.NoError(t, hooks.RunTools(ctx, calls, 0, func(context.Context, *hooks.ToolCall) error {
			all.Done()
			all.Wait()
			return nil
		}))
	})
	require.Len(t, lines, 66)
	count := map[string]int{}
	for i, l := range lines {
		assert.Equal(t, int64(i+1), l.Seq)
		count[l.Call+l.Kind]++
	}
	for i := range 32 {
		assert.Equal(t, 1, count[fmt.Sprint("c", i, "intent")])
		assert.Equal(t, 1, count[fmt.Sprint("c", i, "outcome")])
	}
}

func TestAudit_subAgents(t *testing.T) {
	t.Parallel()
	lines := audited(t, hooks.NewRegistry(), policy.Audit{}, func(ctx context.Context) {
		require.NoError(t, hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			auditTool(t, ctx, "c1", nil)
			return nil
		}))
	})
	require.Len(t, lines, 6)
	assert.NotEqual(t, lines[0].Run, lines[2].Run)
	assert.Equal(t, lines[0].Run, lines[2].Root)
}

func TestAudit_registration(t *testing.T) {
	t.Parallel()
	assert.PanicsWithValue(t, "policy: Audit: Log is nil; make one with OpenAuditLog or NewAuditLog", func() { policy.Audit{}.Register() })
	r := hooks.NewRegistry()
	log := policy.NewAuditLog(&bytes.Buffer{}, auditKey)
	assert.Panics(t, func() { policy.Audit{Log: log}.Register(hooks.In(r), hooks.WithTools("x")) })
	assert.Empty(t, r.Hooks(hooks.PreToolCall), "all or nothing")
	assert.Empty(t, r.Hooks(hooks.PreModelCall))
	group := policy.Audit{Log: log}.Register(hooks.In(r))
	require.NotEmpty(t, r.Hooks(hooks.PreToolCall))
	for _, reg := range r.Hooks(hooks.PreToolCall) {
		assert.Equal(t, "policy.Audit", reg.Name())
		assert.Equal(t, -1000, reg.Priority())
	}
	assert.True(t, group.Remove())
	assert.Empty(t, r.Hooks(hooks.ExecutionEnd))
}
