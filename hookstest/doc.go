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
// line. A [Human] answers the questions of hooks by a script; a [Desk] decides
// those that [hooks.ToolCall.Ask] puts, at once or between two runs. [Run] gives
// hooks the execution that a [hooks.RunVar] needs. [Splits] tries
// the filter of a stream on every way in which a text can come in pieces.
//
// # Loops
//
// A hook protects nothing if there is a way around it: a second tool that runs
// in the same turn without its points, a retry, a cached path, an error return
// that forgets to tell of the end. [TestLoop] looks for those. It drives a
// loop through more than two hundred scenarios with a scripted model, and says in
// words which rule the loop breaks, with all that happened in the scenario:
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
// ctx that the loop is given. A loop that shows people something while it runs
// hands that to Show.
//
// A loop that shows pieces while the model still answers says so with [Streams], and
// asks the model by the Stream of its Setup:
//
//	var reply hookstest.Reply
//	out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error {
//		if c.Kind == hooks.ChunkText {
//			s.Show(c.Text)
//		}
//		return nil
//	})
//	for c, err := range s.Stream(ctx, req) {
//		if err == nil {
//			reply.Add(c)
//			err = out.Push(c)
//		}
//		if err != nil {
//			return out.End(err)
//		}
//	}
//	m.ToolCalls = reply.ToolCalls
//	return out.End(nil)
//
// It is put through all scenarios in this way, and through those that are about
// streams.
//
// The model may be called over a real wire. No values of a ctx get there, nor
// errors as they were, so that less is checked: the kit sees that by itself
// behind a server of net/http, and elsewhere it is told by [RemoteModel]. Tools
// are called in the process, under the ctx of the run.
//
// A loop that can go on with a run that was suspended says how with [Resumes].
// The state that it gives to the Save of its Setup is handed to a loop that is
// built anew, as in another process:
//
//	hookstest.TestLoop(t,
//		func(s hookstest.Setup) hookstest.Loop { return newAgent(s).Run },
//		hookstest.Resumes(func(s hookstest.Setup) hookstest.Resume { return newAgent(s).Resume }))
//
// A loop passes if it is built on the seams of package hooks (RunExecution,
// RunStep, RunModel, RunTool and their Begin forms) and uses what they leave in
// the contexts. One that calls Dispatch itself has to keep the same rules. What
// a loop can't do is declared: points that it lacks with [Without], and anything
// else with [Skip] and a reason. Around hooks need a body to wrap: a loop on the
// Begin forms, or on Dispatch, skips "wrapped-tool" and "wrapped-model". A
// question belongs to a passage of the tool seam: a loop that calls Dispatch at
// the tool points skips "asked-call", too. What only some loops promise is tested
// where it is declared: marks of errors ([MarksErrors]), hooks that send a call to
// another tool ([Renames]), runs that are gone on with ([Resumes]), and pieces of a
// reply that are shown ([Streams]).
//
// # What a loop owes
//
// Beside what the seams do by themselves, a loop
//
//   - runs the tool that a call names. If it takes another spelling for the name
//     of a tool, it writes the tool's own name into the call before the hooks see
//     it. If hooks may send a call to another tool by writing its Name, which
//     [Renames] declares, it runs the tool of the new name, or refuses the call.
//     Guards are asked by the old and the new name in any case.
//   - takes what hooks leave as it is, also where they leave nothing: an empty
//     result, input or response, no tools, no tool calls.
//   - hands the arguments to SetArguments as the provider wrote them, and reads
//     them in no other way.
//   - fires both tool points for each call that the model asks for, the same
//     call again included. A cache belongs behind them.
//   - says in the contexts what it knows: the ID that the model gave a call, and
//     the Tool. A loop that says which turn it is in says so at its steps and at
//     its model calls: a step of kind turn has a *hooks.Turn as its Input, with
//     the history and, at the end, the reply, and each model call has its
//     Iterations. A loop that says it nowhere isn't judged by that.
//   - sends each result with the ID of its call. If its messages have no ids at
//     all, it sends the results in the order of the calls.
//   - keeps edits of the messages of one model call out of the next one, and obeys
//     them where it asks a failed model again.
//   - keeps for a later run what hooks have left of a result or a response, and
//     nothing of what it was.
//   - tells the model of an abort its PublicText, and neither Source nor Err.
//   - shows nothing that has yet to pass a guard at a post point.
//   - where it shows pieces, shows what comes out of [hooks.OpenStream] and nothing
//     beside it, as it comes and also behind its body; keeps the Response of the call
//     and not what it has read; reads no further when Push fails; and makes no other
//     attempt at a reply of which something was shown.
//   - where [hooks.Output] is [hooks.Guarded], shows no answer before that has passed.
//   - has bodies that may run more than once, and that read their context each
//     time: the Name and the Input of a tool call; the Messages, the Tools and the
//     Model of a model call. One that can't switch models returns
//     errors.ErrUnsupported where Model isn't what it set.
//   - lets a *hooks.Suspended of a hook or a tool come out of the run, and asks the
//     model nothing while a call waits. The other calls of the turn run; a loop that
//     leaves them for later skips "waiting-call-among-others" and
//     "waiting-tool-among-others".
//   - where it goes on with such a run, does so in an execution with Resumed set and
//     the RunID that the run had, with the messages and the results that were there,
//     as hooks left them. It makes the calls that have no result again, under their
//     ids and on the arguments that the model gave them, and no others.
//   - gives each tool call a result before it goes on with a conversation of
//     which a run was stopped or cancelled.
//
// # What the kit doesn't check
//
//   - A path that no scenario takes. A loop with several ways to run a tool, a
//     retry, a cache, a stream or a mode of its own needs a TestLoop for each.
//   - What is shown past the Show of the Setup.
//   - What is shown of a stream beside text: reasoning, and the arguments of tool
//     calls. Nor streams of tools. Behind a wire, whether the model stops with its
//     stream, and whether pieces are shown before the last one is made.
//   - Tools that a loop runs beside each other after one of them has stopped the
//     run: those that have started may end.
//   - Who calls: that AgentRole is set on the execution. A loop can do without,
//     and then no hook can be limited to an agent.
//   - The role of a message that a hook has changed, the Usage and the FinishReason
//     of a model call.
//   - That executions and steps can run again, which around hooks may have them do.
//   - How a run goes on that a hook has suspended at another point than
//     pre_tool_call, and how long a state can be kept.
//   - What a tool's own decoder makes of its input, such as of a key in another
//     case: a guard reads it with StringArg and its kin, which refuse that.
//   - What a loop adds of its own or leaves out: a text of an earlier turn in place
//     of a last one that is empty, arguments that the model wrote beside the
//     result, a history without the texts beside tool calls.
//   - The arguments of a call that are shown before its pre point: they have passed
//     the post hooks of the model call.
//   - The Parts of messages and results, native messages and native tool calls,
//     and structured results beside the text. The tools of the kit return text.
//   - A prompt that stands nowhere among the inputs of an execution, in strings,
//     slices, maps and exported fields. Those scenarios are reported as skipped.
//   - That an edited Input of a step changes anything: what it is for is the
//     loop's own affair. The Output is checked where it is the final text.
//   - What a loop does with a value of a type that it doesn't expect, where the
//     contexts take any. It may fail or go on, and is only asked not to panic.
package hookstest
