package bench

import (
	"context"
	"testing"

	"github.com/tmc/langchaingo/callbacks"
)

type langchaingoNoop struct{ callbacks.SimpleHandler }

func (langchaingoNoop) HandleToolStart(_ context.Context, input string) {
	if input == "" {
		panic(errEmpty)
	}
}

var langchaingoHandler callbacks.Handler = langchaingoNoop{}

func langchaingoRows() []Row {
	return []Row{{
		Group: Dispatch, Kind: Peer, Name: "langchaingo", Label: "langchaingo CombiningHandler",
		Module: "github.com/tmc/langchaingo", Sizes: usualSizes,
		Note: "HandleToolStart: observes only. A fixed list: no look-up.",
		hook: &langchaingoHandler,
		Run: func(b *testing.B, n int) {
			h := callbacks.CombiningHandler{Callbacks: repeat(n, langchaingoHandler)}
			ctx := context.Background()
			for b.Loop() {
				h.HandleToolStart(ctx, `{"path":"go.mod"}`)
			}
		},
	}}
}
