// Package policy has ready-made policies for the hooks of agent loops: which tools a
// run may use and with what, how much and how often, what people are asked, what is
// redacted, shortened, retried and cached, and what is written down.
//
//	policy.Tools{Deny: []string{"shell*"}}.Register()
//	policy.Budget{ToolCalls: 50, Time: 10 * time.Minute}.Register()
//	policy.Approval{}.Register(hooks.WithTools("pay"))
//
// # The model
//
// A policy is a struct: its fields say what is wanted, and zero is the default.
// Register puts what it needs into a registry, the default one unless [hooks.In] is
// among the options, and returns a handle that removes all of it. It copies the
// fields, so that a policy may be registered again, for other tools or in another
// scope: then there are two, each with limits, caches and memories of its own. It
// panics on what can't be meant, and then nothing is registered.
//
// The options go behind the policy's own and override them. By default a policy has
// the name policy.Rate, and so on, and the places of the table below. An option that
// one of its verbs refuses makes Register panic. [hooks.WithTools] fits the
// policies that are for tool points alone; Cache, Retry and Timeout have a field Tools
// instead, since without it they are for models.
//
// What a policy knows of a run is kept in a [hooks.RunVar]. Where it needs a run
// and there is none around the call ([hooks.RunExecution]), the call is refused.
//
// What limits, checks, asks, redacts or records is fail-closed: if it fails the call
// doesn't run. What hides tools, cleans arguments, shortens, retries, falls back,
// caches or times is fail-open: if it fails the call goes on without it. What the model
// reads of a refused call says what to do instead, and holds no value of an
// argument, no secret, and no name of a tenant.
//
// # The order
//
// The order of registration doesn't matter for policies of one registry: each has its
// place by priority. This is who runs where, with the priorities, in the order in
// which they run; around hooks stand from the outermost in. A policy is at the points
// that its fields ask for.
//
//	ExecutionStart  hook    Budget 1000
//	ExecutionStart  watch   Audit -1000
//	PreModelCall    hook    Redact -900, Tools -900, History -950
//	PreModelCall    guard   Rate -700, Budget -800, Audit -1000
//	PreModelCall    watch   Budget 0, Rate 0, Audit -1000
//	ModelBody       around  Cache 900, Fallback 700, Retry 500, Timeout 300, Rate -500, Budget -900
//	ModelStream     filter  Redact -900
//	PostModelCall   hook    Redact -900
//	PostModelCall   watch   Audit -1000
//	PreToolCall     hook    Redact -900, Paths -950
//	PreToolCall     guard   Tools 900, Schema 700, Paths 600, URLs 600, Loops 500, Rate -700, Budget -800, Approval -900, Audit -1000
//	PreToolCall     watch   Budget 0, Rate 0, Audit -1000
//	ToolBody        around  Cache 900, Retry 500, Timeout 300, Rate -500, Paths -700, URLs -700, Budget -900
//	ToolStream      filter  Redact -900
//	PostToolCall    hook    Redact -800, Truncate -900
//	PostToolCall    watch   Loops 0, Audit -1000
//	Output          hook    Redact -900
//	ExecutionEnd    watch   Budget 0, Audit -1000
//
// Your own hooks, of priority 0 unless you say otherwise, run in front of those of the
// table, but for Budget, which begins to count the time: they see what Redact hasn't
// redacted yet, and what they add is redacted and shortened. Your own guards come behind those that check
// and in front of those that count, ask and record. Your own around hooks are inside
// of Cache, Fallback, Retry and Timeout, so that each attempt runs them, and outside
// of Rate with Attempts and Budget.
//
// # What follows from it
//
//   - Guards judge what really runs: arguments in which Redact has put values back for
//     tokens, and Paths the clean forms. Audit records that, and Approval shows it.
//   - Nobody is asked about a call that another guard of the registry refuses. A call
//     that people refuse, or have yet to decide about, gives its token of Rate back,
//     and nothing is charged. If they edit it all guards judge the edit.
//   - An answer of Cache has passed the guards, one of Rate among them, and isn't
//     charged, nor limited by Rate with Attempts. It is redacted and shortened
//     like any other, and to Loops it is a result.
//   - Retry runs the body again under one decision of the guards: people are asked
//     once, Rate takes one token, or with Attempts one for each, and Audit writes one
//     intent. Budget charges each attempt, and ends the call when it is used up.
//   - Fallback asks the guards about each model, for which Audit writes an intent
//     each, and each has all attempts of Retry. Timeout gives each attempt its time.
//   - Truncate cuts what Redact has left, so that no part of a key stands at the cut.
//   - Audit records the intent of what all other guards have let through, of an edit by
//     people twice, and an outcome of every call.
//
// Across registries the scope counts before the priority: all guards of an outer
// scope decide before those of an inner one, and all around hooks of an outer scope are
// outside of those of an inner one. So Approval, Budget and Audit belong into the
// innermost scope in which others refuse or retry; the comments of these tell what
// they miss elsewhere.
package policy
