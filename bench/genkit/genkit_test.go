// Package genkit measures the middleware chain of Genkit. It is a module of
// its own, since Genkit needs versions of shared dependencies that the other
// libraries measured don't work with.
package genkit

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/firebase/genkit/go/core"
)

type call struct {
	Name  string
	Input map[string]any
}

type (
	handler    = core.StreamingFunc[*call, string, struct{}]
	middleware = core.Middleware[*call, string, struct{}]
)

var errEmpty = errors.New("empty argument")

var hook middleware = func(next handler) handler {
	return func(ctx context.Context, c *call, cb core.StreamCallback[struct{}]) (string, error) {
		if c.Name == "" {
			return "", errEmpty
		}
		return next(ctx, c, cb)
	}
}

// body is called through a variable, so that it isn't inlined.
var body handler = func(context.Context, *call, core.StreamCallback[struct{}]) (string, error) { return "ok", nil }

func compose(n int, m middleware) handler {
	list := make([]middleware, n)
	for i := range list {
		list[i] = m
	}
	return core.ChainMiddleware(list...)(body)
}

func BenchmarkDispatch(b *testing.B) {
	b.Run("genkit", func(b *testing.B) {
		for _, n := range []int{0, 1, 10, 100} {
			b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
				b.ReportAllocs()
				h := compose(n, hook)
				ctx, c := context.Background(), &call{Name: "read_file", Input: map[string]any{"path": "go.mod"}}
				for b.Loop() {
					if _, err := h(ctx, c, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

func TestChainRunsEveryMiddleware(t *testing.T) {
	for _, n := range []int{0, 1, 10, 100} {
		ran := 0
		counting := func(next handler) handler {
			next = hook(next)
			return func(ctx context.Context, c *call, cb core.StreamCallback[struct{}]) (string, error) {
				ran++
				return next(ctx, c, cb)
			}
		}
		out, err := compose(n, counting)(context.Background(), &call{Name: "read_file"}, nil)
		if out != "ok" || err != nil {
			t.Errorf("%d middlewares return %q, %v", n, out, err)
		}
		if ran != n {
			t.Errorf("%d middlewares registered, %d ran", n, ran)
		}
	}
}
