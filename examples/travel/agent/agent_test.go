package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/agent"
	"github.com/loophooks/hooks/examples/travel/chat"
)

// model is an endpoint that answers the nth request with the nth reply, and
// from then on with the last.
type model struct {
	mu       sync.Mutex
	requests []chat.Request
}

func play(t *testing.T, replies ...string) (*chat.Client, *model) {
	t.Helper()
	m := new(model)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		var req chat.Request
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&req))
		m.requests = append(m.requests, req)
		_, _ = io.WriteString(w, replies[min(len(m.requests), len(replies))-1])
	}))
	t.Cleanup(server.Close)
	c, err := chat.New(chat.Config{BaseURL: server.URL})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, m
}

// lines returns the messages of the nth request as "role: text".
func (m *model) lines(n int) []string {
	var lines []string
	for _, msg := range m.requests[n].Messages {
		line := msg.Role + ":"
		if msg.Content != nil {
			line += " " + *msg.Content
		}
		for _, c := range msg.ToolCalls {
			line += " [" + c.ID + " " + c.Function.Name + c.Function.Arguments + "]"
		}
		lines = append(lines, line)
	}
	return lines
}

func (m *model) offered(n int) []string {
	var names []string
	for _, t := range m.requests[n].Tools {
		names = append(names, t.Function.Name)
	}
	return names
}

func says(text string) string {
	raw, _ := json.Marshal(text)
	return `{"choices":[{"message":{"content":` + string(raw) + `},"finish_reason":"stop"}]}`
}

// asks is a reply with tool calls, each given as "id name arguments".
func asks(calls ...string) string {
	var list []chat.ToolCall
	for _, c := range calls {
		id, rest, _ := strings.Cut(c, " ")
		name, args, _ := strings.Cut(rest, " ")
		list = append(list, chat.ToolCall{ID: id, Type: "function", Function: chat.Function{Name: name, Arguments: args}})
	}
	raw, _ := json.Marshal(list)
	return `{"choices":[{"message":{"content":null,"tool_calls":` + string(raw) + `},"finish_reason":"tool_calls"}]}`
}

// echo returns a tool whose result is its name and the input "x".
func echo(name string) agent.Tool {
	return agent.Tool{Name: name, Parameters: json.RawMessage(`{"type":"object"}`), Run: func(_ context.Context, in map[string]any) (string, error) {
		x, _ := in["x"].(string)
		return name + " " + x, nil
	}}
}

// scope returns a registry and a ctx under which it is active.
func scope(t *testing.T) (*hooks.Registry, context.Context) {
	t.Helper()
	r := hooks.NewRegistry()
	return r, hooks.WithScope(t.Context(), r)
}

func TestAgent_conversationIsSentWhole(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks(`1 a {"x":"one"}`, `2 b {"x":"two"}`), says("done"))
	a := &agent.Agent{Model: c, ModelName: "m", Instructions: "be brief", Tools: []agent.Tool{echo("b"), echo("a")}}
	got, err := a.Run(t.Context(), "go")
	require.NoError(t, err)
	assert.Equal(t, agent.Result{Answer: "done", Turns: 2, ToolCalls: 2}, counts(got))
	assert.Equal(t, []string{"system: be brief", "user: go"}, m.lines(0))
	assert.Equal(t, []string{"system: be brief", "user: go", `assistant: [1 a{"x":"one"}] [2 b{"x":"two"}]`, "tool: a one", "tool: b two"}, m.lines(1))
	assert.Equal(t, []string{"b", "a"}, m.offered(0))
}

func TestToolCalls_inParallel(t *testing.T) {
	t.Parallel()
	var together sync.WaitGroup
	together.Add(2)
	meet := func(ctx context.Context, _ map[string]any) (string, error) {
		together.Done()
		met := make(chan struct{})
		go func() { together.Wait(); close(met) }()
		select {
		case <-met:
			return "met", nil
		case <-ctx.Done():
			return "", errors.New("the other call never came")
		}
	}
	c, m := play(t, asks("1 meet {}", "2 meet {}"), says("done"))
	a := &agent.Agent{Model: c, Tools: []agent.Tool{{Name: "meet", Run: meet}}}
	_, err := a.Run(t.Context(), "go")
	require.NoError(t, err)
	assert.Equal(t, []string{"tool: met", "tool: met"}, m.lines(1)[2:])
}

func TestToolCall_modelReadsFailures(t *testing.T) {
	t.Parallel()
	tools := []agent.Tool{
		echo("fine"),
		{Name: "fails", Run: func(context.Context, map[string]any) (string, error) { return "", errors.New("sold out") }},
		{Name: "explains", Run: func(context.Context, map[string]any) (string, error) { return "try later", errors.New("internal") }},
		{Name: "panics", Run: func(context.Context, map[string]any) (string, error) { panic("secret") }},
	}
	tests := map[string]string{
		"1 fine {}":                  "tool: fine ",
		"1 fine ":                    "tool: fine ",
		"1 nope {}":                  `tool: Error: there is no tool "nope"; the tools are: fine, fails, explains, panics`,
		"1 fine {no json":            "tool: Error: Tool was not run: arguments must be one JSON object: ",
		`1 fine [1]`:                 "tool: Error: Tool was not run: arguments must be one JSON object: found an array",
		`1 fine {"x":"a","x":"b"}`:   "tool: Error: Tool was not run: arguments must be one JSON object: ",
		"1 fails {}":                 "tool: Error: sold out",
		"1 explains {}":              "tool: Error: try later",
		"1 panics {}":                "tool: Error: Tool panics panicked",
		"1 nope {still no arguments": "tool: Error: Tool was not run: arguments must be one JSON object: ",
	}
	for call, want := range tests {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			c, m := play(t, asks(call), says("done"))
			got, err := (&agent.Agent{Model: c, Tools: tools}).Run(t.Context(), "go")
			require.NoError(t, err)
			assert.Equal(t, 0, got.Blocked)
			lines := m.lines(1)
			assert.True(t, strings.HasPrefix(lines[len(lines)-1], want), lines[len(lines)-1])
			assert.NotContains(t, strings.Join(lines, "\n"), "secret")
		})
	}
}

func TestToolCall_unknownTool(t *testing.T) {
	t.Parallel()
	c, _ := play(t, asks("1 nope {}"), says("done"))
	r, ctx := scope(t)
	var fired []string
	note := func(point string) hooks.Func[hooks.ToolCall] {
		return func(_ context.Context, call *hooks.ToolCall) error {
			assert.Nil(t, call.Tool)
			fired = append(fired, point+" "+call.Name)
			return nil
		}
	}
	hooks.On(hooks.PreToolCall, note("pre"), hooks.In(r))
	hooks.On(hooks.PostToolCall, note("post"), hooks.In(r))
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a")}}).Run(ctx, "go")
	require.NoError(t, err)
	assert.Equal(t, []string{"pre nope", "post nope"}, fired)
}

func TestToolCall_idsAreMade(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks(` a {"x":"1"}`, `same a {"x":"2"}`, `same a {"x":"3"}`), says("done"))
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a")}}).Run(t.Context(), "go")
	require.NoError(t, err)
	var ids []string
	for _, msg := range m.requests[1].Messages[2:] {
		ids = append(ids, msg.ToolCallID)
	}
	assert.Equal(t, []string{"call_1_1", "same", "call_1_3"}, ids)
}

func TestMaxTurns(t *testing.T) {
	t.Parallel()
	c, m := play(t, asks("1 a {}"))
	got, err := (&agent.Agent{Model: c, Tools: []agent.Tool{echo("a")}, MaxTurns: 3}).Run(t.Context(), "go")
	var limit *agent.TurnLimitError
	require.ErrorAs(t, err, &limit)
	assert.EqualError(t, err, "no answer after 3 turns")
	assert.Equal(t, agent.Result{Turns: 3, ToolCalls: 3}, counts(got))
	assert.Len(t, m.requests, 3)
}

func TestTools_namedApart(t *testing.T) {
	t.Parallel()
	_, err := (&agent.Agent{Tools: []agent.Tool{echo("a"), echo("a")}}).Run(t.Context(), "go")
	require.ErrorContains(t, err, `two tools are named "a"`)
	_, err = (&agent.Agent{Tools: []agent.Tool{{Name: "a"}}}).Run(t.Context(), "go")
	require.ErrorContains(t, err, "tool 0 has no name or no function")
}

func TestAgent_cancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c, m := play(t, asks("1 stop {}", "2 stop {}"), says("done"))
	stop := agent.Tool{Name: "stop", Run: func(context.Context, map[string]any) (string, error) { cancel(); return "stopped", nil }}
	var turns []int
	listener := agent.Listener{TurnStarted: func(n int) { turns = append(turns, n) }}
	_, err := (&agent.Agent{Model: c, Tools: []agent.Tool{stop}, Listener: listener}).Run(ctx, "go")
	require.ErrorIs(t, err, context.Canceled)
	assert.Len(t, m.requests, 1)
	assert.Equal(t, []int{1}, turns)
}

func TestListener_toldInOrder(t *testing.T) {
	t.Parallel()
	c, _ := play(t, asks("1 a {}", "2 b {}"), says("done"))
	var told []string
	a := &agent.Agent{Model: c, Tools: []agent.Tool{echo("a"), echo("b")}, Listener: agent.Listener{
		TurnStarted:  func(int) { told = append(told, "turn") },
		ModelReplied: func(_ int, reply hooks.Message) { told = append(told, "reply "+reply.Content) },
		ToolReturned: func(_ int, call *hooks.ToolCall) { told = append(told, "tool "+call.ID) },
	}}
	_, err := a.Run(t.Context(), "go")
	require.NoError(t, err)
	assert.Equal(t, []string{"turn", "reply ", "tool 1", "tool 2", "turn", "reply done"}, told)
}
