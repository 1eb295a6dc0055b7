package bench

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/tmc/langchaingo/callbacks"
)

// once makes the benchmarks that a test runs stop after a few iterations.
func once(t *testing.T) {
	t.Helper()
	f := flag.Lookup("test.benchtime")
	before := f.Value.String()
	if err := f.Value.Set("3x"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(before) })
}

// instrument puts a hook in place of the row's own, which calls before and
// then goes on to it. An error from before is what the hook returns instead,
// if it can return one. The row's hook is put back when the test ends.
func instrument(t *testing.T, r Row, before func() error) {
	t.Helper()
	v := reflect.ValueOf(r.hook).Elem()
	old := reflect.ValueOf(v.Interface())
	t.Cleanup(func() { v.Set(old) })
	switch own := v.Interface().(type) {
	case callbacks.Handler:
		v.Set(reflect.ValueOf(langchaingoProbe{own, before}))
	case openfeature.Hook:
		v.Set(reflect.ValueOf(openfeatureProbe{own, before}))
	default:
		v.Set(wrapFunc(old, before).Convert(v.Type()))
	}
}

// wrapFunc returns a function of fn's type that calls before first. Of a
// middleware, which takes a function and returns one of the same type, it is
// the returned function that calls before.
func wrapFunc(fn reflect.Value, before func() error) reflect.Value {
	typ := fn.Type()
	if typ.NumOut() == 1 && typ.NumIn() == 1 && typ.In(0) == typ.Out(0) {
		return reflect.MakeFunc(typ, func(args []reflect.Value) []reflect.Value {
			next := fn.Call(args)[0]
			out := reflect.New(typ.Out(0)).Elem()
			if next.Kind() == reflect.Interface { // http.Handler
				out.Set(reflect.ValueOf(chiProbe{next, before}))
			} else {
				out.Set(wrapFunc(next, before).Convert(out.Type()))
			}
			return []reflect.Value{out}
		})
	}
	return reflect.MakeFunc(typ, func(args []reflect.Value) []reflect.Value {
		err := before()
		if last := typ.NumOut() - 1; err != nil && last >= 0 && typ.Out(last) == reflect.TypeFor[error]() {
			out := make([]reflect.Value, last+1)
			for i := range out {
				out[i] = reflect.Zero(typ.Out(i))
			}
			out[last] = reflect.ValueOf(&err).Elem()
			return out
		}
		return fn.Call(args)
	})
}

type chiProbe struct {
	next   reflect.Value
	before func() error
}

func (p chiProbe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.before() == nil {
		p.next.Interface().(http.Handler).ServeHTTP(w, r)
	}
}

type langchaingoProbe struct {
	callbacks.Handler
	before func() error
}

func (p langchaingoProbe) HandleToolStart(ctx context.Context, input string) {
	_ = p.before()
	p.Handler.HandleToolStart(ctx, input)
}

type openfeatureProbe struct {
	openfeature.Hook
	before func() error
}

func (p openfeatureProbe) Before(ctx context.Context, h openfeature.HookContext, hints openfeature.HookHints) (*openfeature.EvaluationContext, error) {
	if err := p.before(); err != nil {
		return nil, err
	}
	return p.Hook.Before(ctx, h, hints)
}

func TestEveryIterationRunsEveryHook(t *testing.T) {
	once(t)
	for _, r := range Rows() {
		if r.Run == nil {
			continue
		}
		for _, n := range r.Sizes {
			t.Run(fmt.Sprintf("%s/%s/N=%d", r.Group, r.Name, n), func(t *testing.T) {
				var ran atomic.Int64
				instrument(t, r, func() error { ran.Add(1); return nil })
				iterations := 0
				testing.Benchmark(func(b *testing.B) {
					ran.Store(0)
					r.Run(b, n)
					iterations = b.N
					if want := int64(b.N * r.Calls(n)); ran.Load() != want {
						t.Errorf("%d iterations ran %d hooks, want %d", b.N, ran.Load(), want)
					}
				})
				if iterations == 0 {
					t.Error("the benchmark failed or ran no iteration")
				}
			})
		}
	}
}

func TestRowsAreDistinctAndDescribed(t *testing.T) {
	names, labels := map[string]bool{}, map[string]bool{}
	for _, r := range Rows() {
		name, label := fmt.Sprint(r.Group, "/", r.Name), fmt.Sprint(r.Group, "/", r.Label)
		if names[name] || labels[label] {
			t.Errorf("%s is listed twice, by name or by label", name)
		}
		names[name], labels[label] = true, true
		if r.Label == "" || len(r.Sizes) == 0 {
			t.Errorf("%s has no label or no sizes", name)
		}
		if (r.Kind == Reference) != (r.Module == "") {
			t.Errorf("%s: a reference has no module, and anything else has one; this is %q", name, r.Module)
		}
		if r.Run != nil && r.hook == nil {
			t.Errorf("%s has no hook for the tests to count", name)
		}
	}
}
