package hooks

// The before and after hooks of an older system. They are adapters without
// state of their own: what they register is a hook like those of On, on the
// same chains, in one order, and either API lists, removes and clears what the
// other registered.

import "context"

// BeforeLLMCallHook decides whether a model is called: false stops the call.
//
// Deprecated: use a [Func] of [ModelCall], which can say why.
type BeforeLLMCallHook = func(ctx context.Context, call *ModelCall) bool

// AfterLLMCallHook sees the response of a model and returns the text that
// replaces it and true, or false to leave it alone.
//
// Deprecated: use a [Func] of [ModelCall], which assigns call.Response.
type AfterLLMCallHook = func(ctx context.Context, call *ModelCall) (string, bool)

// BeforeToolCallHook decides whether a tool runs: false blocks the call.
//
// Deprecated: use a [Func] of [ToolCall], which can say why.
type BeforeToolCallHook = func(ctx context.Context, call *ToolCall) bool

// AfterToolCallHook sees the result of a tool and returns the text that
// replaces it and true, or false to leave it alone.
//
// Deprecated: use a [Func] of [ToolCall], which assigns call.Result.
type AfterToolCallHook = func(ctx context.Context, call *ToolCall) (string, bool)

// errLLMCallRefused is never written: Dispatch returns a copy.
var errLLMCallRefused = &HookAborted{Reason: "before_llm_call hook returned false"}

// RegisterBeforeLLMCallHook registers fn at [PreModelCall]. When fn returns
// false the chain stops with a [*HookAborted] whose Reason is
// "before_llm_call hook returned false". Options, panics and concurrent use
// are as for [On].
//
// Deprecated: use [On] at [PreModelCall] and return [Abort] with a reason that
// tells what to do instead.
func RegisterBeforeLLMCallHook(fn BeforeLLMCallHook, opts ...Option) *Registration {
	if fn == nil {
		panic(nilLegacyHook("RegisterBeforeLLMCallHook"))
	}
	return register(PreModelCall, func(ctx context.Context, call *ModelCall) error {
		if fn(ctx, call) {
			return nil
		}
		return errLLMCallRefused
	}, callerPC(), opts)
}

// RegisterAfterLLMCallHook registers fn at [PostModelCall]. The text that fn
// returns with true, "" too, becomes call.Response; the tool calls that the
// model asked for and RawResponse stay as they are. A call that failed has no
// response to read, and is passed over. Options, panics and
// concurrent use are as for [On].
//
// Deprecated: use [On] at [PostModelCall], which sees failed calls too, and
// assign call.Response.
func RegisterAfterLLMCallHook(fn AfterLLMCallHook, opts ...Option) *Registration {
	if fn == nil {
		panic(nilLegacyHook("RegisterAfterLLMCallHook"))
	}
	return register(PostModelCall, func(ctx context.Context, call *ModelCall) error {
		if call.Err != nil {
			return nil
		}
		if text, replace := fn(ctx, call); replace {
			call.Response = text
		}
		return nil
	}, callerPC(), opts)
}

// RegisterBeforeToolCallHook registers fn at [PreToolCall]. When fn returns
// false the chain stops with a [*HookAborted] whose Reason is
// "before_tool_call hook returned false", and the model reads
// "Tool execution blocked by hook. Tool: " and the tool's name. Options,
// panics and concurrent use are as for [On].
//
// Deprecated: use [On] at [PreToolCall] and return [Abort] with a reason: a
// model that isn't told why makes the same call again.
func RegisterBeforeToolCallHook(fn BeforeToolCallHook, opts ...Option) *Registration {
	if fn == nil {
		panic(nilLegacyHook("RegisterBeforeToolCallHook"))
	}
	return register(PreToolCall, func(ctx context.Context, call *ToolCall) error {
		if fn(ctx, call) {
			return nil
		}
		return &HookAborted{
			Reason:  "before_tool_call hook returned false",
			Message: blockedText + call.Name,
		}
	}, callerPC(), opts)
}

// RegisterAfterToolCallHook registers fn at [PostToolCall]. The text that fn
// returns with true, "" too, becomes the whole result that the model reads: if
// it differs from the text of call.Result and call.Parts, the parts are
// dropped. RawResult stays as it is. Blocked calls are seen, with the text that
// says so as their result, and failed ones are passed over: use On where the text
// of a tool's error has to be redacted. Options, panics and concurrent
// use are as for [On].
//
// Deprecated: use [On] at [PostToolCall], which sees failed calls too, and
// assign call.Result or use [ToolCall.EditText], which keeps the parts.
func RegisterAfterToolCallHook(fn AfterToolCallHook, opts ...Option) *Registration {
	if fn == nil {
		panic(nilLegacyHook("RegisterAfterToolCallHook"))
	}
	return register(PostToolCall, func(ctx context.Context, call *ToolCall) error {
		if call.Err != nil {
			return nil
		}
		if text, replace := fn(ctx, call); replace {
			call.replaceText(text)
		}
		return nil
	}, callerPC(), opts)
}

// replaceText makes text the whole result. Nothing changes where it is the
// text of the result already: hooks that only look for something to redact
// would otherwise lose every image that comes beside a text.
func (t *ToolCall) replaceText(text string) {
	if text != t.Text() {
		t.Result, t.Parts = text, nil
	}
}

func nilLegacyHook(caller string) string {
	return "hooks: " + caller + ": the hook function is nil"
}

// unregisterAt is Unregister for the hooks of one point.
func unregisterAt(p AnyPoint, reg *Registration) bool {
	return reg != nil && reg.Point() == p.Name() && Unregister(reg)
}

// UnregisterBeforeLLMCallHook removes a hook of [PreModelCall] from the
// [Default] registry and reports whether it did: false for nil, for a hook of
// another point or registry and for one that was removed before. It is safe
// for concurrent use.
//
// Deprecated: use [Registration.Remove].
func UnregisterBeforeLLMCallHook(reg *Registration) bool { return unregisterAt(PreModelCall, reg) }

// UnregisterAfterLLMCallHook removes a hook of [PostModelCall] as
// [UnregisterBeforeLLMCallHook] does one of PreModelCall.
//
// Deprecated: use [Registration.Remove].
func UnregisterAfterLLMCallHook(reg *Registration) bool { return unregisterAt(PostModelCall, reg) }

// UnregisterBeforeToolCallHook removes a hook of [PreToolCall] as
// [UnregisterBeforeLLMCallHook] does one of PreModelCall.
//
// Deprecated: use [Registration.Remove].
func UnregisterBeforeToolCallHook(reg *Registration) bool { return unregisterAt(PreToolCall, reg) }

// UnregisterAfterToolCallHook removes a hook of [PostToolCall] as
// [UnregisterBeforeLLMCallHook] does one of PreModelCall.
//
// Deprecated: use [Registration.Remove].
func UnregisterAfterToolCallHook(reg *Registration) bool { return unregisterAt(PostToolCall, reg) }

// BeforeLLMCallHooks lists the hooks of the [Default] registry at
// [PreModelCall] in running order, those of [On] included. The slice is the
// caller's. It is safe for concurrent use.
//
// Deprecated: use [Hooks].
func BeforeLLMCallHooks() []*Registration { return Hooks(PreModelCall) }

// AfterLLMCallHooks lists the hooks at [PostModelCall] as
// [BeforeLLMCallHooks] does those at PreModelCall.
//
// Deprecated: use [Hooks].
func AfterLLMCallHooks() []*Registration { return Hooks(PostModelCall) }

// BeforeToolCallHooks lists the hooks at [PreToolCall] as
// [BeforeLLMCallHooks] does those at PreModelCall.
//
// Deprecated: use [Hooks].
func BeforeToolCallHooks() []*Registration { return Hooks(PreToolCall) }

// AfterToolCallHooks lists the hooks at [PostToolCall] as
// [BeforeLLMCallHooks] does those at PreModelCall.
//
// Deprecated: use [Hooks].
func AfterToolCallHooks() []*Registration { return Hooks(PostToolCall) }

// ClearBeforeLLMCallHooks removes every hook of the [Default] registry at
// [PreModelCall], those of [On] included, and returns how many there were. It
// is safe for concurrent use.
//
// Deprecated: use [Clear].
func ClearBeforeLLMCallHooks() int { return Clear(PreModelCall) }

// ClearAfterLLMCallHooks clears [PostModelCall] as [ClearBeforeLLMCallHooks]
// does PreModelCall.
//
// Deprecated: use [Clear].
func ClearAfterLLMCallHooks() int { return Clear(PostModelCall) }

// ClearBeforeToolCallHooks clears [PreToolCall] as [ClearBeforeLLMCallHooks]
// does PreModelCall.
//
// Deprecated: use [Clear].
func ClearBeforeToolCallHooks() int { return Clear(PreToolCall) }

// ClearAfterToolCallHooks clears [PostToolCall] as [ClearBeforeLLMCallHooks]
// does PreModelCall.
//
// Deprecated: use [Clear].
func ClearAfterToolCallHooks() int { return Clear(PostToolCall) }

// ClearAllLLMCallHooks clears [PreModelCall] and [PostModelCall] of the
// [Default] registry and returns how many hooks there were at each. It is safe
// for concurrent use.
//
// Deprecated: use [Clear] at each point or [ClearAll].
func ClearAllLLMCallHooks() (before, after int) {
	return ClearBeforeLLMCallHooks(), ClearAfterLLMCallHooks()
}

// ClearAllToolCallHooks clears [PreToolCall] and [PostToolCall] of the
// [Default] registry and returns how many hooks there were at each. It is safe
// for concurrent use.
//
// Deprecated: use [Clear] at each point or [ClearAll].
func ClearAllToolCallHooks() (before, after int) {
	return ClearBeforeToolCallHooks(), ClearAfterToolCallHooks()
}

// ClearedHooks says how many hooks [ClearAllGlobalHooks] removed.
//
// Deprecated: use the number that [Clear] or [ClearAll] returns.
type ClearedHooks struct {
	LLM   BeforeAfter // at PreModelCall and PostModelCall
	Tool  BeforeAfter // at PreToolCall and PostToolCall
	Total BeforeAfter // the sum of both
}

// BeforeAfter counts hooks that run before and after a call.
//
// Deprecated: use the number that [Clear] or [ClearAll] returns.
type BeforeAfter struct{ Before, After int }

// ClearAllGlobalHooks clears the two model points and the two tool points of
// the [Default] registry and returns how many hooks there were. The hooks of
// other points stay. It is safe for concurrent use.
//
// Deprecated: use [Clear] at each point, or [ClearAll] for all points.
func ClearAllGlobalHooks() ClearedHooks {
	var n ClearedHooks
	n.LLM.Before, n.LLM.After = ClearAllLLMCallHooks()
	n.Tool.Before, n.Tool.After = ClearAllToolCallHooks()
	n.Total = BeforeAfter{Before: n.LLM.Before + n.Tool.Before, After: n.LLM.After + n.Tool.After}
	return n
}
