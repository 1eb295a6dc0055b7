package policy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loophooks/hooks"
)

// Cache answers a model call, or the call of a tool, that was made before with what
// came of it then.
//
// It wraps the body, at priority 900 ([hooks.Around]), so outside of [Fallback] and
// [Retry]. The guards in front of the call have decided by then, and all hooks and
// guards behind it see an answer of the cache as they see any other: one that redacts
// does, since what is kept is what the body left. To the loop the call is answered
// ([hooks.ModelCall.Answer]): it costs no Usage, and a loop that streams shows the
// answer itself.
//
// Two calls are equal if tenant, agent role and Extra are, and of a tool its name in
// any spelling and its arguments; of a model call Model, Tools and all portable fields
// of the messages. Prompts are compared as they are sent: where a hook has masked what
// told them apart they share an answer, unless Extra tells them apart. LLM and Native
// aren't compared.
//
// Not answered from the cache, nor kept, is a model call with a part that isn't
// text, and one whose Request is set while Extra is nil, since temperature and the
// schema of the answer are in there; slog's default logger is told so, once. Not kept
// is what has failed; a turn of a model that asks for tools, or that the model didn't
// end by itself (a FinishReason that is neither empty nor "stop", "end_turn" or
// "stop_sequence"); an answer that an inner hook gave or edited, or that a filter has
// changed while it was streamed; and one of which there is but a RawResponse or
// RawResult, as those aren't kept.
//
// Of equal calls at the same time one runs the body, and the others wait for it, each
// as long as its own ctx lasts. Where it left nothing to keep, each of them runs the
// body itself. A call inside of a body that others wait for never waits, so that none
// waits for itself.
//
// The cache is [github.com/maypok86/otter/v2], which keeps what is used often and
// recently. It has no goroutine and nothing to close: it is gone with the
// registration.
type Cache struct {
	// TTL is how long an answer is kept, 5 min by default.
	TTL time.Duration
	// Max is about how many bytes of answers are kept, 64 MiB by default. What is
	// native in parts isn't counted.
	Max int
	// Tools are the tools whose answers are kept, by name or by pattern as in
	// [hooks.WithTools]. If it is nil, those of models are. Name tools that only read:
	// one that acts does nothing where the cache answers.
	Tools []string
	// Extra returns what else the answer depends on: the temperature, the user, the
	// version of a document. It gets a *hooks.ModelCall or a *hooks.ToolCall, which it
	// doesn't change. Where ok is false the cache has no part in the call. It may be
	// called concurrently.
	Extra func(ctx context.Context, c any) (key string, ok bool)
}

// Register registers the policy, with a cache of its own; opts go to the hook, named
// policy.Cache by default. It panics if TTL or Max is negative, or Tools is empty and
// not nil. A Cache of model calls takes no [hooks.WithTools], and one with Tools has
// them already. The hook is fail-open and safe for concurrent use.
func (p Cache) Register(opts ...hooks.Option) *hooks.Group {
	checkWrapped("Cache", p.Tools)
	if p.TTL < 0 || p.Max < 0 {
		panic(fmt.Sprintf("policy: Cache: TTL %v, Max %d: neither can be negative; leave one 0 for its default", p.TTL, p.Max))
	}
	p.Tools = slices.Clone(p.Tools)
	p.TTL, p.Max = cmp.Or(p.TTL, 5*time.Minute), cmp.Or(p.Max, 64<<20)
	return register(opts, func(r *registrar) {
		answers := newAnswers(p.TTL, p.Max)
		keys := &cacheKeys{extra: p.Extra}
		wrapBody(r, "Cache", 900, p.Tools,
			caching(answers, keys.ofModel, keepModel, giveModel),
			caching(answers, keys.ofTool, keepTool, giveTool))
	})
}

// answer is what a body left.
type answer struct {
	text   string
	parts  []hooks.Part
	model  string // that answered, which a fallback may have chosen
	reason string // why it stopped
}

// keepModel returns what is to be kept of a model call, nil for nothing.
func keepModel(m *hooks.ModelCall) *answer {
	none := m.Response == "" && len(m.Parts) == 0
	if m.Err != nil || len(m.ToolCalls) > 0 || !endedByItself(m.FinishReason) || m.Answered() || m.ResponseEdited() || none && m.RawResponse != nil {
		return nil
	}
	return &answer{m.Response, slices.Clone(m.Parts), m.Model, m.FinishReason}
}

func giveModel(m *hooks.ModelCall, a *answer) {
	m.Answer(a.text)
	m.Parts = slices.Clone(a.parts)
	m.Model, m.FinishReason = a.model, a.reason
}

// endedByItself reports whether a model has said all that it wanted to. Providers have
// different words for it.
func endedByItself(reason string) bool {
	return slices.Contains([]string{"", "stop", "end_turn", "stop_sequence"}, strings.ToLower(reason))
}

// keepTool returns what is to be kept of a tool's call, nil for nothing.
func keepTool(t *hooks.ToolCall) *answer {
	none := t.Result == "" && len(t.Parts) == 0
	if t.IsError() || t.Answered() || t.ResultEdited() || none && t.RawResult != nil {
		return nil
	}
	return &answer{text: t.Result, parts: slices.Clone(t.Parts)}
}

func giveTool(t *hooks.ToolCall, a *answer) {
	t.Answer(a.text)
	t.Parts = slices.Clone(a.parts)
}
