package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/loophooks/hooks/bench"
)

func TestNumbersForPeople(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{nanoseconds(0.494), "0.49"},
		{nanoseconds(12.84), "12.8"},
		{nanoseconds(133.4), "133"},
		{nanoseconds(156300), "156,300"},
		{times(1), "1.00×"},
		{times(52.6), "53×"},
		{comma(0), "0"},
		{comma(999), "999"},
		{comma(10000), "10,000"},
		{comma(1234567), "1,234,567"},
		{timeText(0.494), "0.494 ns"},
		{timeText(1234), "1.23 µs"},
		{timeText(156300), "156 µs"},
		{timeText(2e6), "2 ms"},
		{tickText(1e9), "1 s"},
		{tickText(0.1), "0.1 ns"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestPageHasEveryRowAndWhatItDoesNotDo(t *testing.T) {
	t.Parallel()
	page, err := markdown(sample(5))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(page, "\n")
	for _, row := range bench.Rows() {
		found := slices.ContainsFunc(lines, func(line string) bool {
			columns := strings.Split(line, "|")
			return len(columns) > 6 && strings.Trim(columns[1], " *") == row.Label &&
				strings.Contains(line, "| "+strings.Join(row.Features.Missing(), ", ")+" |") && strings.Contains(line, row.Note)
		})
		if !found {
			t.Errorf("%s: no line with its label, what it doesn't do, and its note", row.Label)
		}
	}
}

func TestPromises_saysWhichAreKept(t *testing.T) {
	t.Parallel()
	r := newResults()
	for i, pair := range bench.Pairs() {
		if pair.Limit > 0 {
			factor := []float64{0.9, 1.1}[i%2]
			for range 3 {
				r.addHalf(half{pair.Name, false}, figures{nanoseconds: 100})
				r.addHalf(half{pair.Name, true}, figures{nanoseconds: 100 * pair.Limit * factor})
			}
		}
	}
	promised := 0
	for i, pair := range bench.Pairs() {
		if pair.Limit == 0 {
			continue
		}
		promised++
		if got, want := promiseOf(r, pair).Kept, []string{"yes", "**no**"}[i%2]; got != want {
			t.Errorf("%s: kept %s, want %s", pair.Name, got, want)
		}
		if got := promiseOf(newResults(), pair).Kept; got != "not measured" {
			t.Errorf("%s: kept %s, though it wasn't measured", pair.Name, got)
		}
	}
	if promised == 0 {
		t.Error("nothing is promised")
	}
}

func TestPageHasEveryPair(t *testing.T) {
	t.Parallel()
	page, err := markdown(sample(5))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(page, "## Promises\n")
	promises, parts, ok := strings.Cut(after, "## What each part costs\n")
	if !ok {
		t.Fatal("the page lacks a section")
	}
	for _, pair := range bench.Pairs() {
		begin := "| " + pair.Label + " | " + pair.Against + " | "
		if !strings.Contains(parts, begin) {
			t.Errorf("%s isn't among the parts", pair.Name)
		}
		if strings.Contains(promises, begin) != (pair.Limit > 0) {
			t.Errorf("%s has the limit %v, and a line among the promises: %v", pair.Name, pair.Limit, strings.Contains(promises, begin))
		}
	}
}

func TestPageComparesWhatItHighlights(t *testing.T) {
	t.Parallel()
	r := sample(5)
	if got := highlights(r); len(got) != 6 {
		t.Errorf("%d highlights of complete results, want 6: %q", len(got), got)
	}
	r.cells[cell{bench.Dispatch, "hooks", 100}] = &samples{Nanoseconds: []float64{150}}
	r.cells[cell{bench.Dispatch, plainLoop, 100}] = &samples{Nanoseconds: []float64{120}}
	want := "100 hooks: `hooks.Dispatch` takes 150 ns, a plain loop over the same calls 120 ns (1.25×)."
	if got := highlights(r); !slices.Contains(got, want) {
		t.Errorf("%q isn't among %q", want, got)
	}
	if got := highlights(newResults()); len(got) != 0 {
		t.Errorf("highlights of nothing measured: %q", got)
	}
}

func TestPageMarksAShortRun(t *testing.T) {
	t.Parallel()
	for rounds, marked := range map[int]bool{1: true, 4: true, 5: false} {
		page, err := markdown(sample(rounds))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page, "short run") != marked {
			t.Errorf("with %d rounds the page should be marked as a short run: %v", rounds, marked)
		}
	}
}

func TestPageTablesHaveWholeLines(t *testing.T) {
	t.Parallel()
	page, err := markdown(sample(5))
	if err != nil {
		t.Fatal(err)
	}
	columns, tables := 0, 0
	for _, line := range strings.Split(page, "\n") {
		switch n := strings.Count(line, "|"); {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = n
			tables++
		case n != columns:
			t.Errorf("%d bars, the table's head has %d: %s", n, columns, line)
		}
	}
	if tables != 8 {
		t.Errorf("%d tables, want 8: promises, parts, the run, four groups, every figure", tables)
	}
}
