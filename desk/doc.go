// Package desk keeps the questions that hooks ask about tool calls until somebody
// decides them: in memory, in files or in a database. The run that asked needn't
// wait in memory; it is suspended, and goes on in any process that uses the same
// store.
//
//	d := desk.New(store, desk.WithNotify(sendToChat))
//	ctx = hooks.WithDesk(ctx, d) // for the run
//
//	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
//		return call.Ask(ctx, hooks.Question{Prompt: "Pay this bill?"})
//	}, hooks.WithTools("pay"), hooks.WithPriority(-900))
//
// Whoever decides is shown the [Record], above all the Arguments of its question,
// and the decision brings back the digest of what was shown:
//
//	err := d.Decide(ctx, rec.Question.ID, hooks.Decision{
//		Verdict: hooks.Approve, Digest: digest, By: "ana",
//	})
//
// Where the form or the message can't be trusted to keep ID and digest together, a
// [Desk.Ticket] does.
//
// # States
//
//	from                  by                                      to
//	-                     Ask                                     open
//	open                  Decide: approve, edit                   approved
//	open                  Decide: reject                          rejected
//	approved              Ask, and this one alone gets true       used
//	used                  Done: the call has ended                done
//	used                  Ask that finds it so: the end of the    open, Again+1
//	                      call isn't known
//	done, withdrawn       Ask: the call goes through its hooks    open, Again+1
//	                      once more
//	open, approved        Done of an earlier use: it has ended    withdrawn
//	                      after all
//	open, approved        Ask about the same call with other      withdrawn
//	                      arguments
//	open, approved        the clock                               expired
//	-, open, done,        Ask, where an equal decision is         used, rejected
//	withdrawn             remembered
//
// Rejected and expired questions stay so, and answer each further Ask about the
// call.
//
// # What is promised
//
// One approval lets one passage of a call run, in one process, whatever fails. Each
// change of a record is a compare-and-swap of its Version; who loses the one that
// uses an approval gets no approval. A decision is bound to the digest of the
// question, which covers call, arguments and Again: one that was made about an
// earlier asking, by a form that is sent twice for instance, fits no later one.
//
// It is not promised that an approved call runs, nor that a call which was asked
// about once isn't asked about again. In doubt the desk asks: when a process dies,
// when the answer of a database gets lost, when two processes run the same call.
// [hooks.Question.Again] tells people how often.
//
// A decision with [hooks.SameArguments], where the question offers it, is also for
// later calls of the same run with the same tool, arguments and Key, until it
// expires with the question that it was made about. It is kept in a record of its
// own, in state remembered. A call whose last end isn't known is asked about all the
// same.
//
// # Stores
//
// [Memory], [File] and [SQL] keep records; a [Store] of your own passes the tests of
// package desktest. Arguments of tools are stored as they are: protect the store as
// you protect them.
package desk
