package bench

// What around hooks, asks and streams cost, used and unused.

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/redact"
)

var (
	idleAround hooks.AroundFunc[hooks.ToolCall] = func(ctx context.Context, _ *hooks.ToolCall, next func(context.Context) error) error {
		return next(ctx)
	}
	askingGuard hooks.Func[hooks.ToolCall] = func(ctx context.Context, t *hooks.ToolCall) error {
		return t.Ask(ctx, hooks.Question{})
	}
)

func aroundPairs() []Pair {
	return []Pair{
		{
			Name: "around", Label: "`RunTool` with an around hook", Against: "a bare call", Limit: 145,
			Note: "130 for the hook, above the 15 of the seam.",
			Own:  wrapping(1, false), Reference: bareCall(&emptyBody),
		},
		{
			Name: "around-ten", Label: "`RunTool` with 10 around hooks", Against: "`RunTool` with one",
			Own: wrapping(10, false), Reference: wrapping(1, false),
		},
		{
			Name: "around-guard", Label: "`RunTool` with an around hook and a guard", Against: "`RunTool` with a guard",
			Note: "What the guard let through is kept, to compare with what the body gets.",
			Own:  wrapping(1, true), Reference: runningGuarded(context.Background()),
		},
		{
			Name: "around-beside", Label: "`RunTool`, beside a scope with an around hook that isn't active", Against: "`RunTool`, nothing registered",
			Own: besideAround(), Reference: runningTools(0, false),
		},
		{
			Name: "capturing", Label: "`RunTool` with a body that captures a variable", Against: "`RunTool` with one that doesn't",
			Note: "The body may run again, and so its closure is on the heap.",
			Own:  capturing(), Reference: runningTools(0, false),
		},
	}
}

func askPairs() []Pair {
	unasked := hooks.WithDesk(context.Background(), desk.New(desk.Memory()))
	return []Pair{
		{
			Name: "desk", Label: "`RunTool` with a guard, under a desk that nobody asks", Against: "the same without a desk",
			Note: "The hook that runs is noted, and the body's ctx says which call it is in.",
			Own:  runningGuarded(unasked), Reference: runningGuarded(context.Background()),
		},
		{
			Name: "asking", Label: "`RunTool` with a guard that asks a desk in memory, which waits", Against: "`RunTool` with a guard",
			Own: asking(), Reference: runningGuarded(context.Background()),
		},
	}
}

func streamPairs() []Pair {
	keys, personal := redact.Keys(), append(redact.Mail(), redact.Cards()...)
	return []Pair{
		{
			Name: "chunk", Label: "a chunk of a stream without filters", Against: "a bare call",
			Own: pushing(nil), Reference: bareCall(&emptyBody),
		},
		{
			Name: "chunk-keys", Label: "a chunk of a stream that is searched for keys", Against: "a chunk without filters",
			Own: pushing(keys), Reference: pushing(nil),
		},
		{
			Name: "chunk-personal", Label: "a chunk of a stream that is searched for mail addresses and cards", Against: "a chunk without filters",
			Own: pushing(personal), Reference: pushing(nil),
		},
		{
			Name: "redact-keys", Label: "a stream of 64 KiB, in pieces of 4 bytes, searched for keys", Against: "package regexp over the whole text", Limit: 1,
			Own: streaming(keys), Reference: matching(keys),
		},
		{
			Name: "redact-personal", Label: "the same, searched for mail addresses and cards", Against: "package regexp over the whole text", Limit: 1,
			Own: streaming(personal), Reference: matching(personal),
		},
	}
}

// runningGuarded runs tool calls with a guard.
func runningGuarded(ctx context.Context) Side {
	return Side{Calls: 2, Setup: func(tb testing.TB) func(int) {
		registerHooks(tb, 1, &idleHook, hooks.AsGuard())
		return runsTools(ctx, newToolCall())
	}}
}

func runsTools(ctx context.Context, c *hooks.ToolCall) func(int) {
	return func(n int) {
		for range n {
			failure = hooks.RunTool(ctx, c, emptyBody)
		}
	}
}

func wrapping(registered int, guarded bool) Side {
	calls := registered + 1
	if guarded {
		calls++
	}
	return Side{Calls: calls, Setup: func(tb testing.TB) func(int) {
		for range registered {
			reg := hooks.Around(hooks.ToolBody, idleAround)
			tb.Cleanup(func() { reg.Remove() })
		}
		if guarded {
			registerHooks(tb, 1, &idleHook, hooks.AsGuard())
		}
		return runsTools(context.Background(), newToolCall())
	}}
}

func besideAround() Side {
	return Side{Calls: 1, Setup: func(tb testing.TB) func(int) {
		r := hooks.NewRegistry()
		reg := hooks.Around(hooks.ToolBody, idleAround, hooks.In(r))
		tb.Cleanup(func() { reg.Remove() })
		return runsTools(context.Background(), newToolCall())
	}}
}

func capturing() Side {
	return Side{Calls: 1, Setup: func(testing.TB) func(int) {
		ctx, c := context.Background(), newToolCall()
		return func(n int) {
			for range n {
				ran := false
				failure = hooks.RunTool(ctx, c, func(ctx context.Context, c *hooks.ToolCall) error { ran = true; return emptyBody(ctx, c) })
				if !ran {
					failure = errEmpty
				}
			}
		}
	}}
}

// asking runs one call again and again whose question stays open.
func asking() Side {
	return Side{Calls: 1, Setup: func(tb testing.TB) func(int) {
		registerHooks(tb, 1, &askingGuard, hooks.AsGuard(), hooks.WithName("approval"))
		ctx, c := hooks.WithDesk(context.Background(), desk.New(desk.Memory())), newToolCall()
		c.ID, c.RootRunID = "call-1", "run-1"
		return func(n int) {
			for range n {
				if hooks.RunTool(ctx, c, emptyBody) == nil {
					failure = errEmpty
				}
			}
		}
	}}
}

// prose is a text as a model writes it, with neither keys nor addresses.
var prose = strings.Repeat("The quick brown fox jumps over the lazy dog, and takes a nap; plan for 2 of them, at 9:15 or so. ", 700)[:64<<10]

func mask(string, string) string { return "[REDACTED]" }

// redacting registers a filter that looks for patterns, if there are any.
func redacting(tb testing.TB, patterns []redact.Pattern) {
	if len(patterns) == 0 {
		return
	}
	set, err := redact.Compile(patterns...)
	if err != nil {
		tb.Fatal(err)
	}
	reg := hooks.OnStream(hooks.ModelStream, redact.Stream[hooks.ModelCall](set, mask))
	tb.Cleanup(func() { reg.Remove() })
}

// pushing pushes chunks of four bytes, over and over the same text.
func pushing(patterns []redact.Pattern) Side {
	return Side{Setup: func(tb testing.TB) func(int) {
		redacting(tb, patterns)
		return func(n int) { stream(n) }
	}}
}

// streaming pushes the whole text in chunks of four bytes.
func streaming(patterns []redact.Pattern) Side {
	return Side{Setup: func(tb testing.TB) func(int) {
		redacting(tb, patterns)
		return func(n int) {
			for range n {
				stream(len(prose) / 4)
			}
		}
	}}
}

// stream runs a model call that streams so many chunks, and fails unless all of them
// were shown.
func stream(chunks int) {
	shown := 0
	show := func(c hooks.Chunk) error { shown += len(c.Text); return nil }
	failure = hooks.RunModel(context.Background(), &hooks.ModelCall{}, func(ctx context.Context, m *hooks.ModelCall) error {
		s := hooks.OpenStream(ctx, hooks.ModelStream, m, show)
		for i := range chunks {
			at := 4 * i % len(prose)
			if err := s.Push(hooks.Chunk{Text: prose[at : at+4]}); err != nil {
				return err
			}
		}
		return s.End(nil)
	})
	if shown != 4*chunks {
		failure = errEmpty
	}
}

// matching has package regexp look for the same in the whole text.
func matching(patterns []redact.Pattern) Side {
	return Side{Setup: func(testing.TB) func(int) {
		var exprs []string
		for _, p := range patterns {
			exprs = append(exprs, "(?:"+p.Expr+")")
		}
		re := regexp.MustCompile(strings.Join(exprs, "|"))
		return func(n int) {
			for range n {
				if re.ReplaceAllStringFunc(prose, func(string) string { return "[REDACTED]" }) != prose {
					failure = errEmpty
				}
			}
		}
	}}
}
