package bench

import (
	"context"
	"testing"

	"github.com/open-feature/go-sdk/openfeature"
)

type openfeatureNoop struct{ openfeature.UnimplementedHook }

func (openfeatureNoop) Before(_ context.Context, h openfeature.HookContext, _ openfeature.HookHints) (*openfeature.EvaluationContext, error) {
	if h.FlagKey() == "" {
		return nil, errEmpty
	}
	return nil, nil
}

var openfeatureHook openfeature.Hook = openfeatureNoop{}

func openfeatureRows() []Row {
	return []Row{{
		Group: ToolCall, Kind: Peer, Name: "openfeature", Label: "OpenFeature BooleanValue, hooks",
		Module: "github.com/open-feature/go-sdk", Sizes: usualSizes,
		Features: Features{Abort: true, Change: true, Swap: true},
		Note:     "Evaluates a flag, no tool call. Each hook is called three times: before, after and finally.",
		hook:     &openfeatureHook,
		Run: func(b *testing.B, n int) {
			client := openfeature.NewClient("bench")
			client.AddHooks(repeat(n, openfeatureHook)...)
			ctx, evaluation := context.Background(), openfeature.NewEvaluationContext("user", nil)
			for b.Loop() {
				if on, err := client.BooleanValue(ctx, "flag", true, evaluation); err != nil || !on {
					b.Fatal(on, err)
				}
			}
		},
	}}
}
