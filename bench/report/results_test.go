package main

import (
	"slices"
	"testing"
	"time"

	"github.com/loophooks/hooks/bench"
)

// sample has results for every row, with times that grow with the row and
// with N, so that no two lines of the picture lie on each other.
func sample(rounds int) *results {
	r := newResults()
	r.Environment = environment{
		Date: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), Took: 4 * time.Minute, Command: "go run ./report",
		Rounds: rounds, BenchTime: "150ms", Go: "go1.26", System: "linux/amd64", CPU: "A & B", Cores: 2,
		Modules: map[string]string{"github.com/cloudwego/eino": "v0.7.36"},
	}
	for i, row := range bench.Rows() {
		for _, n := range row.Sizes {
			for round := range rounds {
				ns := float64(i+1) + float64(n*(i+1)) + float64(round)/100
				r.add(cell{row.Group, row.Name, n}, figures{ns, float64(n), 1})
			}
		}
	}
	for i, pair := range bench.Pairs() {
		for round := range rounds {
			r.addHalf(half{pair.Name, false}, figures{float64(10 + round), 0, 0})
			r.addHalf(half{pair.Name, true}, figures{float64(10+round) * (1 + float64(i)/100), 16, 1})
		}
	}
	return r
}

func TestParseReadsWhatGoTestPrints(t *testing.T) {
	t.Parallel()
	r := newResults()
	err := r.parse(`goos: linux
cpu: Some Processor
BenchmarkDispatch/plain-loop/N=0-2         	1000000000	         0.4900 ns/op	       0 B/op	       0 allocs/op
BenchmarkDispatch/plain-loop/N=0-2         	1000000000	         0.5100 ns/op	       0 B/op	       0 allocs/op
BenchmarkToolCall/go-sdk/N=100             	      69	   1056718 ns/op	  453187 B/op	     242 allocs/op
BenchmarkPair/one/side=reference-2         	600000000	         2.000 ns/op	       0 B/op	       0 allocs/op
BenchmarkPair/one/side=own                 	100000000	         8.000 ns/op	      16 B/op	       1 allocs/op
PASS
`)
	if err != nil {
		t.Fatal(err)
	}
	loop := r.cells[cell{bench.Dispatch, "plain-loop", 0}]
	if loop == nil || !slices.Equal(loop.Nanoseconds, []float64{0.49, 0.51}) || !slices.Equal(loop.Allocs, []float64{0, 0}) {
		t.Errorf("plain loop: %+v", loop)
	}
	sdk := r.cells[cell{bench.ToolCall, "go-sdk", 100}]
	if sdk == nil || !slices.Equal(sdk.Nanoseconds, []float64{1056718}) ||
		!slices.Equal(sdk.Bytes, []float64{453187}) || !slices.Equal(sdk.Allocs, []float64{242}) {
		t.Errorf("go-sdk, printed without a number of processors: %+v", sdk)
	}
	if len(r.cells) != 2 || len(r.halves) != 2 {
		t.Errorf("%d cells and %d halves, want 2 and 2", len(r.cells), len(r.halves))
	}
	own := r.halves[half{"one", true}]
	if own == nil || !slices.Equal(own.Bytes, []float64{16}) || !slices.Equal(own.Allocs, []float64{1}) {
		t.Errorf("own side of a pair: %+v", own)
	}
	if got := r.ratios("one"); !slices.Equal(got, []float64{4}) {
		t.Errorf("ratios %v, want 4", got)
	}
}

func TestParseRefusesABenchmarkThatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"BenchmarkDispatch/plain-loop-2  100  1.0 ns/op",
		"BenchmarkDispatch/plain-loop/N=1-2  100  fast ns/op",
		"BenchmarkDispatch/plain-loop/N=99999999999999999999-2  100  1.0 ns/op",
		"BenchmarkDispatch/plain-loop/N=1-2  100  8 B/op",
		"BenchmarkPair/one/side=other-2  100  1.0 ns/op",
		"BenchmarkPair/one/side=own-2  100  fast ns/op",
	} {
		if err := newResults().parse(line); err == nil {
			t.Errorf("no error for %q", line)
		}
	}
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v       []float64
		q, want float64
	}{
		{nil, 0.5, 0},
		{[]float64{7}, 0.5, 7},
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{5, 4, 3, 2, 1}, 0.25, 2},
		{[]float64{1, 2, 3, 4, 5}, 0.75, 4},
		{[]float64{2, 1}, 0, 1},
		{[]float64{2, 1}, 1, 2},
	} {
		if got := quantile(c.v, c.q); got != c.want {
			t.Errorf("quantile(%v, %v) = %v, want %v", c.v, c.q, got, c.want)
		}
	}
	v := []float64{3, 1, 2}
	if got := median(v); got != 2 || !slices.Equal(v, []float64{3, 1, 2}) {
		t.Errorf("median %v, and the samples are now %v", got, v)
	}
}

func TestRatioIsToThePlainLoopOfTheSameGroupAndSize(t *testing.T) {
	t.Parallel()
	r := newResults()
	r.add(cell{bench.Dispatch, plainLoop, 10}, figures{nanoseconds: 20})
	r.add(cell{bench.Dispatch, "eino", 10}, figures{nanoseconds: 50})
	r.add(cell{bench.Dispatch, "eino", 100}, figures{nanoseconds: 50})
	r.add(cell{bench.ToolCall, "eino", 10}, figures{nanoseconds: 50})
	if got, ok := r.ratio(cell{bench.Dispatch, "eino", 10}); !ok || got != 2.5 {
		t.Errorf("ratio %v, %v; want 2.5", got, ok)
	}
	for _, c := range []cell{{bench.Dispatch, "eino", 100}, {bench.ToolCall, "eino", 10}, {bench.Dispatch, "chi", 10}} {
		if got, ok := r.ratio(c); ok {
			t.Errorf("%v has the ratio %v, though there is nothing to compare it with", c, got)
		}
	}
}

// The ratios of a pair are those of each round: a round in which the machine is
// slow has both its sides slow.
func TestRatios_areOfEachRound(t *testing.T) {
	t.Parallel()
	r := newResults()
	for _, slow := range []float64{1, 3, 1} {
		r.addHalf(half{"guard", false}, figures{nanoseconds: 10 * slow})
		r.addHalf(half{"guard", true}, figures{nanoseconds: 15 * slow})
	}
	if got := r.ratios("guard"); !slices.Equal(got, []float64{1.5, 1.5, 1.5}) {
		t.Errorf("ratios %v, want 1.5 in each of three rounds", got)
	}
	r.addHalf(half{"watch", true}, figures{nanoseconds: 10})
	if got := r.ratios("watch"); got != nil {
		t.Errorf("ratios %v without a reference", got)
	}
	r.addHalf(half{"watch", false}, figures{})
	if got := r.ratios("watch"); got != nil {
		t.Errorf("ratios %v to a reference that took no time", got)
	}
}

func TestPerHookIsWithheldWhereTheSpreadIsLarger(t *testing.T) {
	t.Parallel()
	row := bench.Row{Group: bench.ToolCall, Name: "x", Sizes: []int{0, 100}}
	fill := func(without, with []float64) *results {
		r := newResults()
		r.cells[cell{row.Group, row.Name, 0}] = &samples{Nanoseconds: without}
		r.cells[cell{row.Group, row.Name, 100}] = &samples{Nanoseconds: with}
		return r
	}
	if got, ok := fill([]float64{100, 100, 101}, []float64{300, 300, 301}).perHook(row); !ok || got != 2 {
		t.Errorf("per hook %v, %v; want 2", got, ok)
	}
	if got, ok := fill([]float64{100, 200, 300}, []float64{200, 300, 400}).perHook(row); ok {
		t.Errorf("per hook %v, though the spread is as large", got)
	}
	if got, ok := newResults().perHook(row); ok {
		t.Errorf("per hook %v of nothing measured", got)
	}
}

func TestMissingNamesWhatWasNotMeasuredInEveryRound(t *testing.T) {
	t.Parallel()
	rows, pairs := bench.Rows(), bench.Pairs()
	r := sample(3)
	if missing := r.missing(rows, pairs, 3); len(missing) != 0 {
		t.Errorf("missing %v of complete results", missing)
	}
	gone := cell{bench.Dispatch, "genkit", 10}
	delete(r.cells, gone)
	short := r.cells[cell{bench.Dispatch, "chi", 1}]
	short.Nanoseconds = short.Nanoseconds[:2]
	lost := half{pairs[0].Name, false}
	delete(r.halves, lost)
	want := []any{lost, cell{bench.Dispatch, "chi", 1}, gone}
	if missing := r.missing(rows, pairs, 3); !slices.Equal(missing, want) {
		t.Errorf("missing %v, want %v", missing, want)
	}
}
