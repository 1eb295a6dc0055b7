// Package hookstest tests hooks, and loops that embed them.
//
// # Hooks
//
// A test of a hook takes a registry of its own, registers the hook there and
// runs something under a ctx in which that registry is active:
//
//	r := hookstest.Registry(t)
//	hooks.On(hooks.PreToolCall, policy, hooks.In(r))
//	call := &hooks.ToolCall{Name: "delete_file"}
//	err := hooks.RunTool(hookstest.Context(t, r), call, body)
//
// Nothing process-wide is touched, so such tests may run in parallel. They
// should register nothing in the default registry, whose hooks take part in
// every dispatch.
//
// A [Recorder] tells which points fired and what the hooks did there. It
// compares that with what the test wants, and prints the difference line by
// line. A [Human] answers the questions of hooks by a script.
//
// # Loops
//
// A hook protects nothing if there is a way around it: a second tool that runs
// in the same turn without its points, a retry, a cached path, an error return
// that forgets to tell of the end. [TestLoop] looks for those. It drives a
// loop through some fifty scenarios with a scripted model, and says in words
// which rule the loop breaks, with all that happened in the scenario:
//
//	func TestHooks(t *testing.T) {
//		hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
//			return newAgent(s.Model, s.Tools, s.MaxTurns).Run
//		})
//	}
//
// The adapter turns a [Setup] into what the loop's constructor takes: a model
// that hands on the request that the loop would send, and tools. It should
// enter the loop where its users do, and leave it at the wire, since what lies
// outside of the adapter isn't tested. The hooks of the kit are active in the
// ctx that the loop is given.
//
// A loop passes if it is built on the seams of package hooks (RunExecution,
// RunStep, RunModel, RunTool and their Begin forms) and uses what they leave in
// the contexts. One that calls Dispatch itself has to keep the same rules.
//
// # What the kit doesn't check
//
//   - A path that no scenario takes. A loop with several ways to run a tool, a
//     retry, a cache, a stream or a mode of its own needs a TestLoop for each.
//   - Who calls: that RunID and AgentRole are set on the execution. A loop can
//     do without, and then no hook can be limited to an agent.
//   - The Parts of messages and results, native messages and native tool calls,
//     and structured results beside the text. The tools of the kit return text.
//   - That edits of Messages at pre_model_call are for that call alone. Most
//     loops should keep them out of the next request, some take them over.
//   - That an edited Input of a step changes anything: what it is for is the
//     loop's own affair. The Output is checked where it is the final text.
//   - What a loop does with a value of a type that it doesn't expect, where the
//     contexts take any. It may fail or go on, and is only asked not to panic.
//   - That a call's Name which a hook writes is obeyed: it isn't a hook's to
//     change. The tool that runs has to be the one that the hooks were told of.
package hookstest
