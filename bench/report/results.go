package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loophooks/hooks/bench"
)

// cell is one figure of the tables: a row with a number of hooks.
type cell struct {
	Group bench.Group
	Name  string
	N     int
}

// half is one side of a pair.
type half struct {
	Pair string
	Own  bool // or the reference
}

// samples are the measurements of a cell or a half, one per round.
type samples struct {
	Nanoseconds []float64 // per iteration
	Bytes       []float64
	Allocs      []float64
}

// environment is where and how the samples were taken.
type environment struct {
	Date      time.Time
	Took      time.Duration
	Command   string
	Rounds    int
	BenchTime string // per cell and round, as in go test -benchtime
	Go        string
	System    string
	CPU       string
	Cores     int
	Load      string // the load averages at the start, where the system tells them
	Commit    string
	Modules   map[string]string // version by module path
}

// results is all that a run measured.
type results struct {
	Environment environment
	cells       map[cell]*samples
	halves      map[half]*samples
}

func newResults() *results {
	return &results{cells: make(map[cell]*samples), halves: make(map[half]*samples)}
}

// benchmarkLine matches what go test prints for a row of package bench: group,
// row, number of hooks, and the figures. pairLine matches a side of a pair.
var (
	benchmarkLine = regexp.MustCompile(`^Benchmark(\w+)/([^/\s]+)/N=(\d+)(?:-\d+)?\s+\d+\s+(.*)$`)
	pairLine      = regexp.MustCompile(`^BenchmarkPair/([^/\s]+)/side=(own|reference)(?:-\d+)?\s+\d+\s+(.*)$`)
)

// parse adds the benchmarks in the output of go test -bench. Lines that
// aren't a benchmark's are passed over; a benchmark's that can't be read are
// an error, since a figure would be missing.
func (r *results) parse(output string) error {
	lines := bufio.NewScanner(strings.NewReader(output))
	for lines.Scan() {
		line := lines.Text()
		if m := pairLine.FindStringSubmatch(line); m != nil {
			figures, err := parseFigures(m[3])
			if err != nil {
				return fmt.Errorf("unreadable benchmark line %q: %w", line, err)
			}
			r.addHalf(half{m[1], m[2] == "own"}, figures)
			continue
		}
		m := benchmarkLine.FindStringSubmatch(line)
		if m == nil {
			if strings.Contains(line, "ns/op") {
				return fmt.Errorf("unreadable benchmark line %q", line)
			}
			continue
		}
		n, err := strconv.Atoi(m[3])
		if err != nil {
			return fmt.Errorf("unreadable benchmark line %q: %w", line, err)
		}
		figures, err := parseFigures(m[4])
		if err != nil {
			return fmt.Errorf("unreadable benchmark line %q: %w", line, err)
		}
		r.add(cell{bench.Group(m[1]), m[2], n}, figures)
	}
	return lines.Err()
}

type figures struct{ nanoseconds, bytes, allocs float64 }

func parseFigures(text string) (figures, error) {
	var f figures
	seen := false
	fields := strings.Fields(text)
	for i := 0; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return figures{}, err
		}
		switch fields[i+1] {
		case "ns/op":
			f.nanoseconds, seen = v, true
		case "B/op":
			f.bytes = v
		case "allocs/op":
			f.allocs = v
		}
	}
	if !seen {
		return figures{}, fmt.Errorf("no ns/op in %q", text)
	}
	return f, nil
}

func (r *results) add(c cell, f figures) {
	s := r.cells[c]
	if s == nil {
		s = new(samples)
		r.cells[c] = s
	}
	s.add(f)
}

func (r *results) addHalf(h half, f figures) {
	s := r.halves[h]
	if s == nil {
		s = new(samples)
		r.halves[h] = s
	}
	s.add(f)
}

func (s *samples) add(f figures) {
	s.Nanoseconds = append(s.Nanoseconds, f.nanoseconds)
	s.Bytes = append(s.Bytes, f.bytes)
	s.Allocs = append(s.Allocs, f.allocs)
}

// missing lists the cells of rows and the halves of pairs that have fewer
// samples than rounds.
func (r *results) missing(rows []bench.Row, pairs []bench.Pair, rounds int) []any {
	var missing []any
	for _, pair := range pairs {
		for _, h := range []half{{pair.Name, true}, {pair.Name, false}} {
			if s := r.halves[h]; s == nil || len(s.Nanoseconds) < rounds {
				missing = append(missing, h)
			}
		}
	}
	for _, row := range rows {
		for _, n := range row.Sizes {
			c := cell{row.Group, row.Name, n}
			if s := r.cells[c]; s == nil || len(s.Nanoseconds) < rounds {
				missing = append(missing, c)
			}
		}
	}
	return missing
}

// median returns the middle one of v in ascending order, or the mean of the
// middle two; 0 if v is empty.
func median(v []float64) float64 { return quantile(v, 0.5) }

// quantile returns the value below which the fraction q of v lies, between
// two samples by linear interpolation; 0 if v is empty.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(v))
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// spread returns the distance between the quartiles of v.
func spread(v []float64) float64 { return quantile(v, 0.75) - quantile(v, 0.25) }

// time returns the median time of a cell, and whether it was measured.
func (r *results) time(c cell) (float64, bool) {
	s := r.cells[c]
	if s == nil {
		return 0, false
	}
	return median(s.Nanoseconds), true
}

// ratio returns the time of c divided by that of the plain loop with as many
// hooks, and false where the group has no such loop.
func (r *results) ratio(c cell) (float64, bool) {
	own, ok := r.time(c)
	loop, loopOK := r.time(cell{c.Group, plainLoop, c.N})
	if !ok || !loopOK || loop == 0 {
		return 0, false
	}
	return own / loop, true
}

const plainLoop = "plain-loop"

// ratios returns a pair's ratio in each round, in which the two sides were
// measured one after the other; none if the pair wasn't measured.
func (r *results) ratios(pair string) []float64 {
	own, reference := r.halves[half{pair, true}], r.halves[half{pair, false}]
	if own == nil || reference == nil {
		return nil
	}
	var list []float64
	for i := range min(len(own.Nanoseconds), len(reference.Nanoseconds)) {
		if reference.Nanoseconds[i] > 0 {
			list = append(list, own.Nanoseconds[i]/reference.Nanoseconds[i])
		}
	}
	return list
}

// perHook returns what one more hook adds to a row, from the difference
// between its largest size and none. It returns false where that difference is
// smaller than the spread of the two, or one of them wasn't measured.
func (r *results) perHook(row bench.Row) (float64, bool) {
	n := slices.Max(row.Sizes)
	with, without := r.cells[cell{row.Group, row.Name, n}], r.cells[cell{row.Group, row.Name, 0}]
	if n == 0 || with == nil || without == nil {
		return 0, false
	}
	added := median(with.Nanoseconds) - median(without.Nanoseconds)
	if added <= spread(with.Nanoseconds)+spread(without.Nanoseconds) {
		return 0, false
	}
	return added / float64(n), true
}

// savedCell is a cell in the file of a run.
type savedCell struct {
	cell
	samples
}

// savedHalf is a half in the file of a run.
type savedHalf struct {
	half
	samples
}

type savedResults struct {
	Environment environment
	Cells       []savedCell
	Halves      []savedHalf
}

// save writes r to a file that [load] reads.
func (r *results) save(path string) error {
	saved := savedResults{Environment: r.Environment}
	for _, row := range bench.Rows() {
		for _, n := range row.Sizes {
			c := cell{row.Group, row.Name, n}
			if s := r.cells[c]; s != nil {
				saved.Cells = append(saved.Cells, savedCell{c, *s})
			}
		}
	}
	for _, pair := range bench.Pairs() {
		for _, h := range []half{{pair.Name, true}, {pair.Name, false}} {
			if s := r.halves[h]; s != nil {
				saved.Halves = append(saved.Halves, savedHalf{h, *s})
			}
		}
	}
	data, err := json.MarshalIndent(saved, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

func load(path string) (*results, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var saved savedResults
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := newResults()
	r.Environment = saved.Environment
	for _, c := range saved.Cells {
		r.cells[c.cell] = &c.samples
	}
	for _, h := range saved.Halves {
		r.halves[h.half] = &h.samples
	}
	return r, nil
}
