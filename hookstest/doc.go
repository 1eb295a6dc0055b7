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
// the contexts. One that calls Dispatch itself has to keep the same rules. What
// the kit can't see is a path that no scenario takes: a loop with several ways
// to run a tool needs a TestLoop for each.
package hookstest
