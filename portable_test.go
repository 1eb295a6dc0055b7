package hooks_test

// What of a context goes into logs and JSON: its portable fields, whatever the
// framework's own objects are.

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// unportable is a framework's own object, which nobody may look into.
type unportable struct {
	Secret string
	Func   func()
	Chan   chan int
}

func (*unportable) String() string   { return "sk-secret" }
func (*unportable) GoString() string { return "sk-secret" }

// portableCases returns each context with every field set, and its JSON.
func portableCases() map[string]struct {
	c    any
	want string
} {
	own := &unportable{"sk-secret", func() {}, make(chan int)}
	caller := hooks.Caller{RunID: "run", ParentRunID: "parent", RootRunID: "root", Tenant: "acme", AgentRole: "Writer", Agent: own, Task: own, Crew: own, Flow: own}
	const who = `"RunID":"run","ParentRunID":"parent","RootRunID":"root","Tenant":"acme","AgentRole":"Writer"`
	message := hooks.NewMessage(own, hooks.Message{
		Role: "assistant", Content: "hello", Name: "bob", ToolCallID: "1",
		Parts:     []hooks.Part{hooks.NewPart(own, hooks.Part{Kind: "text", Text: "more"})},
		ToolCalls: []hooks.ToolRequest{{ID: "1", Name: "ls", Arguments: "{}"}},
	})
	const asked = `[{"ID":"1","Name":"ls","Arguments":"{}"}]`
	const parts = `[{"Kind":"text","Text":"more"}]`
	const messageJSON = `{"Role":"assistant","Content":"hello","Name":"bob","ToolCallID":"1","Parts":` + parts + `,"ToolCalls":` + asked + `}`
	model := &hooks.ModelCall{
		Caller: caller, Model: "m", LLM: own, Executor: own, Iterations: 2, Messages: []hooks.Message{message}, Tools: []string{"ls"},
		Parts: message.Parts, ToolCalls: message.ToolCalls, FinishReason: "stop", RawResponse: own, Request: own,
		Usage: hooks.Usage{In: 5, Out: 4, CachedIn: 3, CacheWrite: 2, Reasoning: 1}, Err: errBroken,
	}
	model.Put(seamKey("k"), "sk-secret")
	tool := &hooks.ToolCall{
		Caller: caller, ID: "1", Name: "ls", Tool: own, Input: map[string]any{"path": "/tmp", "n": 1}, Result: "a", Parts: message.Parts,
		RawResult: own, Request: own, Blocked: &hooks.HookAborted{Reason: "no", Source: "guard", Err: errors.New("sk-secret")}, Err: errBroken,
	}
	answered := &hooks.ToolCall{Name: "ls"}
	answered.Answer("ready")
	turn := hooks.Turn{Number: 3, Messages: []hooks.Message{message}, Reply: hooks.Message{Role: "assistant", Native: own}}
	const turnJSON = `{"Number":3,"Messages":[` + messageJSON + `],"Reply":{"Role":"assistant"}}`
	return map[string]struct {
		c    any
		want string
	}{
		"Execution": {
			&hooks.Execution{Caller: caller, Inputs: map[string]any{"topic": "cats"}, Output: []string{"text"}, Status: hooks.StatusFailed, Err: errBroken},
			`{` + who + `,"Inputs":{"topic":"cats"},"Output":["text"],"Status":"failed","Err":"broken"}`,
		},
		"Step": {
			&hooks.Step{Caller: caller, Kind: hooks.StepTask, Name: "plan", Input: "in", Output: 7, Err: errBroken},
			`{` + who + `,"Kind":"task","Name":"plan","Input":"in","Output":7,"Err":"broken"}`,
		},
		"ModelCall": {
			model,
			`{` + who + `,"Model":"m","Iterations":2,"Messages":[` + messageJSON + `],"Tools":["ls"],"Response":"","Parts":` + parts +
				`,"ToolCalls":` + asked + `,"FinishReason":"stop","Usage":{"In":5,"Out":4,"CachedIn":3,"CacheWrite":2,"Reasoning":1},"Err":"broken"}`,
		},
		"ToolCall": {
			tool,
			`{` + who + `,"ID":"1","Name":"ls","Input":{"path":"/tmp","n":1},"Result":"a","Parts":` + parts +
				`,"Blocked":{"Reason":"no","Source":"guard"},"Ran":false,"Err":"broken"}`,
		},
		"an answer":          {answered, `{"Name":"ls","Input":null,"Result":"ready","Answered":true,"Ran":false}`},
		"Turn":               {&turn, turnJSON},
		"Turn by value":      {turn, turnJSON},
		"Step of a turn":     {&hooks.Step{Kind: hooks.StepTurn, Input: &turn}, `{"Kind":"turn","Input":` + turnJSON + `,"Output":null}`},
		"Step of a value":    {&hooks.Step{Kind: hooks.StepTurn, Input: turn}, `{"Kind":"turn","Input":` + turnJSON + `,"Output":null}`},
		"a zero Execution":   {&hooks.Execution{}, `{"Inputs":null,"Output":null}`},
		"a nil ToolCall":     {(*hooks.ToolCall)(nil), `null`},
		"a nil ModelCall":    {(*hooks.ModelCall)(nil), `null`},
		"Output is no JSON":  {&hooks.Execution{Output: own}, `{"Inputs":null,"Output":"(not JSON)"}`},
		"Input is no JSON":   {&hooks.Step{Kind: "k", Input: func() {}}, `{"Kind":"k","Input":"(not JSON)","Output":null}`},
		"an argument is NaN": {&hooks.ToolCall{Input: map[string]any{"a": math.NaN(), "b": 1}}, `{"Name":"","Input":{"a":"(not JSON)","b":1},"Result":"","Ran":false}`},
		"an input panics":    {&hooks.Execution{Inputs: map[string]any{"a": marshalPanics{}, "b": 1}}, `{"Inputs":{"a":"(not JSON)","b":1},"Output":null}`},
		"an input is a loop": {&hooks.Execution{Inputs: cyclic()}, `{"Inputs":{"self":"(not JSON)","b":1},"Output":null}`},
	}
}

type marshalPanics struct{}

func (marshalPanics) MarshalJSON() ([]byte, error) { panic("sk-secret") }

func cyclic() map[string]any {
	m := map[string]any{"b": 1}
	m["self"] = m
	return m
}

func TestMarshalJSON_ofContextsIsPortable(t *testing.T) {
	t.Parallel()
	for name, tc := range portableCases() {
		raw, err := json.Marshal(tc.c)
		require.NoError(t, err, name)
		assert.JSONEq(t, tc.want, string(raw), name)
		assert.NotContains(t, string(raw), "sk-secret", name)
		raw, err = json.Marshal(map[string]any{"call": tc.c})
		require.NoError(t, err, name)
		assert.JSONEq(t, `{"call":`+tc.want+`}`, string(raw), name)
	}
}

func TestLogValue_ofContextsIsPortable(t *testing.T) {
	t.Parallel()
	for name, tc := range portableCases() {
		var out bytes.Buffer
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "call", tc.c)
		var line struct{ Call json.RawMessage }
		require.NoError(t, json.Unmarshal(out.Bytes(), &line), name)
		assert.JSONEq(t, tc.want, string(line.Call), name)

		out.Reset()
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "call", tc.c)
		text := out.String()
		assert.NotContains(t, text, "sk-secret", name)
		assert.NotContains(t, text, "0x", name)
		if strings.HasPrefix(name, "a nil") {
			continue
		}
		logged, ok := tc.c.(slog.LogValuer)
		require.True(t, ok, name)
		raw, ok := logged.LogValue().Any().(json.RawMessage)
		require.True(t, ok, name)
		assert.JSONEq(t, tc.want, string(raw), name)
	}
}

// Hooks log what they are given.
func TestLogValue_insideAHook(t *testing.T) {
	t.Parallel()
	ctx, r := newRun(t)
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	hooks.On(hooks.PostToolCall, edit(func(c *hooks.ToolCall) { log.Info("m", "call", c) }), hooks.In(r))
	call := &hooks.ToolCall{Name: "ls", Tool: func() {}, Input: map[string]any{"path": "/tmp"}}
	require.NoError(t, hooks.RunTool(hooks.WithCaller(ctx, hooks.Caller{RunID: "run"}), call, seamReturns("a")))
	assert.Contains(t, out.String(), `"call":{"RunID":"run","RootRunID":"run","Name":"ls","Input":{"path":"/tmp"},"Result":"a","Ran":true}`)
}
