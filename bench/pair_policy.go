package bench

// What the ready-made policies cost: each by itself, and those that one tool call
// meets together.

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/policy"
)

// registrable is a policy.
type registrable interface {
	Register(opts ...hooks.Option) *hooks.Group
}

// policies returns what an operation runs under.
type policies func(tb testing.TB) []registrable

func these(all ...registrable) policies {
	return func(testing.TB) []registrable { return all }
}

// The limits are such that no benchmark comes to them.
var (
	wideRate   = policy.Rate{Limit: 2e9, Per: time.Hour}
	wideBudget = policy.Budget{ToolCalls: math.MaxInt, Tokens: math.MaxInt}
	readFiles  = policy.Schema{Schemas: map[string]json.RawMessage{
		toolName: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","maxLength":200}},"required":["path"],"additionalProperties":false}`),
	}}
	aHost = policy.URLs{Hosts: []string{"example.com"}}
	asked = policy.Approval{Offer: []hooks.Remember{hooks.SameArguments}}
)

func policyPairs() []Pair {
	pairs := append(toolPolicyPairs(), modelPolicyPairs()...)
	return append(pairs, Pair{
		Name: "policies", Label: "`RunTool` with twelve policies", Against: "a bare call", Limit: 8000,
		Note: "Tools, Schema, Loops, Rate, Budget, Audit, Redact, Truncate, Cache, which has no answer, Retry, Timeout, and an Approval that is for another tool, as most calls aren't asked about. A result of one line, a desk and a log in memory, and no Paths, which looks the file up.",
		Own:  toolsUnder(1, true, everyday), Reference: bareCall(&emptyBody),
	})
}

// everyday are the policies of a call that reads a file.
func everyday(testing.TB) []registrable {
	return []registrable{
		policy.Tools{Deny: []string{"shell*"}}, readFiles, policy.Loops{}, wideRate, wideBudget,
		forOther{asked}, inMemory(), policy.Redact{}, policy.Truncate{},
		uncached(), policy.Retry{Tools: []string{toolName}}, policy.Timeout{After: time.Minute, Tools: []string{toolName}},
	}
}

// forOther registers a policy for a tool that isn't called.
type forOther struct{ registrable }

func (p forOther) Register(opts ...hooks.Option) *hooks.Group {
	return p.registrable.Register(append(opts, hooks.WithTools("pay"))...)
}

func toolPolicyPairs() []Pair {
	var pairs []Pair
	for _, p := range []struct {
		name, label, note string
		calls             int
		under             policies
	}{
		{"tools", "Tools", "", 1, these(policy.Tools{Deny: []string{"shell*"}})},
		{"schema", "Schema", "A schema of one property. The arguments are written as JSON and read back.", 1, these(readFiles)},
		{"paths", "Paths", "It looks the file up.", 1, workingDirectory},
		{"urls", "URLs", "The call has no URL.", 1, these(aHost)},
		{"loops", "Loops", "", 1, these(policy.Loops{})},
		{"rate", "Rate", "", 1, these(wideRate)},
		{"budget", "Budget", "", 1, these(wideBudget)},
		{"approval", "Approval", "The desk is in memory, and remembers a decision for the same arguments.", 1, these(asked)},
		{"audit", "Audit", "Two records, with five keyed hashes. The log is in memory.", 1, audited},
		{"redact", "Redact", "A result of one line, searched for keys.", 1, these(policy.Redact{})},
		{"truncate", "Truncate", "Nothing is cut.", 1, these(policy.Truncate{})},
		{"cache-miss", "Cache, which has no answer", "", 1, func(testing.TB) []registrable { return []registrable{uncached()} }},
		{"cache-hit", "Cache, which has the answer", "The body isn't run.", 0, these(policy.Cache{Tools: []string{toolName}})},
		{"retry", "Retry", "The first attempt succeeds.", 1, these(policy.Retry{Tools: []string{toolName}})},
		{"timeout", "Timeout", "", 1, these(policy.Timeout{After: time.Minute, Tools: []string{toolName}})},
	} {
		pairs = append(pairs, Pair{
			Name: "policy-" + p.name, Label: "`RunTool` with " + p.label, Against: "`RunTool`, nothing registered", Note: p.note,
			Own: toolsUnder(p.calls, p.name == "approval", p.under), Reference: toolsUnder(1, false, these()),
		})
	}
	return pairs
}

func modelPolicyPairs() []Pair {
	var pairs []Pair
	for _, p := range []struct {
		name, label, note string
		under             policies
	}{
		{"fallback", "Fallback", "The first model answers.", these(policy.Fallback{Models: []string{"small"}})},
		{"history", "History", "20 messages, of which none is left out.", these(policy.History{Tokens: math.MaxInt})},
		{"model-budget", "Budget", "20 messages, of which the tokens are estimated.", these(wideBudget)},
		{"model-redact", "Redact", "20 messages of 100 bytes, searched for keys.", these(policy.Redact{})},
		{"model-audit", "Audit", "20 messages of 100 bytes, hashed twice.", audited},
	} {
		pairs = append(pairs, Pair{
			Name: "policy-" + p.name, Label: "`RunModel` with " + p.label, Against: "`RunModel`, nothing registered", Note: p.note,
			Own: modelsUnder(p.under), Reference: modelsUnder(these()),
		})
	}
	return pairs
}

func workingDirectory(tb testing.TB) []registrable {
	root, err := os.OpenRoot(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = root.Close() })
	return []registrable{policy.Paths{Root: root}}
}

func audited(testing.TB) []registrable { return []registrable{inMemory()} }

// inMemory is an Audit whose log is in memory.
func inMemory() policy.Audit {
	return policy.Audit{Log: policy.NewAuditLog(&memory{make([]byte, 0, 2<<20)}, make([]byte, 32))}
}

// memory keeps the end of what is written into it.
type memory struct{ kept []byte }

func (m *memory) Write(p []byte) (int, error) {
	if len(m.kept) > 1<<20 {
		m.kept = m.kept[:0]
	}
	m.kept = append(m.kept, p...)
	return len(p), nil
}

// uncached is a Cache to which each call is a new one.
func uncached() policy.Cache {
	calls := 0
	return policy.Cache{Tools: []string{toolName}, Max: 1 << 20, Extra: func(context.Context, any) (string, bool) {
		calls++
		return strconv.Itoa(calls), true
	}}
}

// readCalls are the inputs that calls take in turn. There are more of them than Loops
// looks for in a cycle.
var readCalls = func() []map[string]any {
	inputs := make([]map[string]any, 16)
	for i := range inputs {
		inputs[i] = map[string]any{"path": fmt.Sprintf("docs/part-%d.md", i)}
	}
	return inputs
}()

// readBody is a tool that gives a line.
func readBody(ctx context.Context, c *hooks.ToolCall) error {
	c.Result = "module github.com/loophooks/hooks/bench"
	return emptyBody(ctx, c)
}

// register registers policies for the time of tb.
func (p policies) register(tb testing.TB) {
	for _, one := range p(tb) {
		group := one.Register()
		tb.Cleanup(func() { group.Remove() })
	}
}

// toolsUnder runs tool calls in one execution, under a desk if one is asked.
func toolsUnder(calls int, asks bool, under policies) Side {
	return Side{Calls: calls, Setup: func(tb testing.TB) func(int) {
		under.register(tb)
		c := &hooks.ToolCall{Name: toolName}
		ids := make([]string, len(readCalls))
		for i := range ids {
			ids[i] = fmt.Sprintf("call-%d", i)
		}
		run := func(ctx context.Context, n int) {
			for i := range n {
				c.ID, c.Input = ids[i%len(ids)], readCalls[i%len(ids)]
				failure = hooks.RunTool(ctx, c, readBody)
				if c.Blocked != nil {
					failure = c.Blocked
				}
			}
		}
		ctx := context.Background()
		if asks {
			ctx = approving(tb, run)
		}
		inExecution(ctx, run)(len(readCalls)) // what is kept is kept
		return inExecution(ctx, run)
	}}
}

// approving returns a ctx with a desk that remembers an approval of all that run asks.
func approving(tb testing.TB, run func(ctx context.Context, n int)) context.Context {
	d := desk.New(desk.Memory())
	ctx := hooks.WithDesk(context.Background(), d)
	inExecution(ctx, run)(len(readCalls))
	for rec, err := range d.List(ctx, desk.Query{States: []desk.State{desk.Open}}) {
		if err == nil {
			err = d.Decide(ctx, rec.Question.ID, hooks.Decision{Verdict: hooks.Approve, Digest: rec.Question.Digest, Remember: hooks.SameArguments})
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	failure = nil
	return ctx
}

// modelsUnder runs model calls in one execution.
func modelsUnder(under policies) Side {
	return Side{Calls: 1, Setup: func(tb testing.TB) func(int) {
		under.register(tb)
		messages := repeat(20, hooks.Message{Role: "user", Content: prose[:100]})
		m := &hooks.ModelCall{Model: "large"}
		return inExecution(context.Background(), func(ctx context.Context, n int) {
			for range n {
				m.Messages = messages
				failure = hooks.RunModel(ctx, m, emptyModelBody)
			}
		})
	}}
}

// inExecution returns a function that runs n operations in one execution.
func inExecution(ctx context.Context, run func(ctx context.Context, n int)) func(int) {
	return func(n int) {
		err := hooks.RunExecution(ctx, &hooks.Execution{Caller: hooks.Caller{RunID: "run-1"}}, func(ctx context.Context, _ *hooks.Execution) error {
			run(ctx, n)
			return nil
		})
		if err != nil {
			failure = err
		}
	}
}
