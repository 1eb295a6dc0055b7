package bench

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/loophooks/hooks"
)

// featureRows returns the rows with several hooks per operation whose hooks run
// in the goroutine of the benchmark, where a test can catch what they do.
func featureRows() []Row {
	return slices.DeleteFunc(Rows(), func(r Row) bool {
		return r.Run == nil || r.Group == Parallel || r.Name == "go-sdk" || r.Calls(10) != 10 || !slices.Contains(r.Sizes, 10)
	})
}

func TestRowsContainPanicsIfTheySaySo(t *testing.T) {
	once(t)
	hooks.SetLogger(nil)
	for _, r := range featureRows() {
		t.Run(string(r.Group)+"/"+r.Name, func(t *testing.T) {
			var ran atomic.Int64
			instrument(t, r, func() error { ran.Add(1); panic("from a hook") })
			escaped := false
			testing.Benchmark(func(b *testing.B) {
				defer func() { escaped = escaped || recover() != nil }()
				r.Run(b, 10)
			})
			if ran.Load() == 0 {
				t.Fatal("no hook ran")
			}
			if escaped == r.Features.Recover {
				t.Errorf("the panic came through: %v, the row says that it contains panics: %v", escaped, r.Features.Recover)
			}
		})
	}
}

func TestRowsStopAtAnAbortIfTheySaySo(t *testing.T) {
	once(t)
	for _, r := range featureRows() {
		t.Run(string(r.Group)+"/"+r.Name, func(t *testing.T) {
			var ran atomic.Int64
			instrument(t, r, func() error { ran.Add(1); return hooks.Abort("for the test") })
			operations := 0
			testing.Benchmark(func(b *testing.B) {
				ran.Store(0)
				defer func() { operations = max(1, b.N) }()
				r.Run(b, 10)
			})
			stopped := ran.Load() <= int64(operations)
			if stopped != r.Features.Abort {
				t.Errorf("%d of 10 hooks ran in %d operations, the row says that they can abort: %v", ran.Load(), operations, r.Features.Abort)
			}
		})
	}
}
