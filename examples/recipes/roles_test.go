package recipes_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/loophooks/hooks"
)

// agentTask is the task type of a framework: hooks find it in [hooks.Caller].
type agentTask struct {
	Sensitive, Urgent bool
}

// noWebForSensitiveTasks asks the task and not its description, where "not
// sensitive" and the Portuguese "insensível" hold the word too. A call that
// doesn't say what it is for is refused.
func noWebForSensitiveTasks(_ context.Context, call *hooks.ToolCall) error {
	if task, ok := call.Task.(*agentTask); ok && !task.Sensitive {
		return nil
	}
	return hooks.Abort("no web search for sensitive tasks; use the archive")
}

// Rules and inputs that depend on who calls a tool, and for what.
func Example_roles() {
	reg := hooks.NewRegistry()

	// A call without a role matches every filter, so that it can't slip past a
	// guard.
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return hooks.Abort("junior agents may not do this; ask a senior one")
	}, hooks.In(reg), hooks.WithAgents("junior"), hooks.WithTools("delete_file", "send_email"))
	hooks.Guard(hooks.PreToolCall, noWebForSensitiveTasks, hooks.In(reg), hooks.WithTools("web_search"))

	domains := []string{"edu", "gov", "org"}
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.Input["domains"] = slices.Clone(domains) // a tool may sort its list while another call reads it
		return nil
	}, hooks.In(reg), hooks.WithAgents("researcher"), hooks.WithTools("web_search"))
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		if task, ok := call.Task.(*agentTask); ok && task.Urgent {
			call.Input["priority"] = "high"
		}
		return nil
	}, hooks.In(reg), hooks.WithTools("send_email"))

	run := func(caller hooks.Caller, tool string) {
		// RunExecution and RunStep put the caller into ctx in the same way.
		ctx := hooks.WithCaller(hooks.WithScope(context.Background(), reg), caller)
		call := &hooks.ToolCall{Name: tool}
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = fmt.Sprint("ran with ", call.Input)
			return nil
		})
		switch {
		case err != nil:
			fmt.Println("the run stops:", err)
		case call.Blocked != nil:
			fmt.Printf("%q %s: refused: %s\n", caller.AgentRole, tool, call.Blocked.Reason)
		default:
			fmt.Printf("%q %s: %s\n", caller.AgentRole, tool, call.Result)
		}
	}
	plain, urgent, sensitive := &agentTask{}, &agentTask{Urgent: true}, &agentTask{Sensitive: true}
	run(hooks.Caller{AgentRole: "junior", Task: plain}, "send_email")
	run(hooks.Caller{Task: plain}, "send_email")
	run(hooks.Caller{AgentRole: "senior", Task: urgent}, "send_email")
	run(hooks.Caller{AgentRole: "researcher", Task: plain}, "web_search")
	run(hooks.Caller{AgentRole: "senior", Task: plain}, "web_search")
	run(hooks.Caller{AgentRole: "senior", Task: sensitive}, "web_search")
	run(hooks.Caller{AgentRole: "senior"}, "web_search")
	// Output:
	// "junior" send_email: refused: junior agents may not do this; ask a senior one
	// "" send_email: refused: junior agents may not do this; ask a senior one
	// "senior" send_email: ran with map[priority:high]
	// "researcher" web_search: ran with map[domains:[edu gov org]]
	// "senior" web_search: ran with map[]
	// "senior" web_search: refused: no web search for sensitive tasks; use the archive
	// "senior" web_search: refused: no web search for sensitive tasks; use the archive
}
