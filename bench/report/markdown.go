package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/loophooks/hooks/bench"
)

//go:embed page.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"comma": comma}).Parse(pageText))

type page struct {
	Env        environment
	Modules    []module
	Highlights []string
	Promises   []promise
	Pairs      []pairRow
	Groups     []table
	Details    []detail
}

// promise is a pair with a limit.
type promise struct{ Label, Against, Limit, Ratio, Quartiles, Kept string }

// pairRow is a line of the table with all pairs.
type pairRow struct{ Label, Against, Time, Reference, Ratio, Memory, Note string }

type module struct{ Path, Version string }

type table struct {
	Title, Intro string
	Sizes        []int
	Largest      int
	PerHook      bool // whether the rows have a figure without hooks to compare with
	Rows         []tableRow
}

type tableRow struct {
	Label, PerHook, Memory, Missing, Note string
	Ours                                  bool
	Cells                                 []string
}

type detail struct {
	Label                                          string
	N                                              int
	Median, Quartiles, Range, Ratio, Bytes, Allocs string
}

// groupTexts are the titles of the tables and what is said above them.
var groupTexts = []struct {
	group        bench.Group
	title, intro string
}{
	{bench.Dispatch, "The chain alone", "N hooks before a tool call, and no tool call."},
	{bench.ToolCall, "One whole operation",
		"One tool call (OpenFeature: one flag) through each library's own path, with a body that does nothing. The libraries do quite different\nwork on the way, so only what the hooks add can be compared: the column *per hook*."},
	{bench.Filtered, "Hooks for certain tools",
		"N hooks, each for a tool of its own, and a call of one of these tools: one hook runs."},
	{bench.Parallel, "From many goroutines", "The chain alone, dispatched from every processor at once. The figure is the time from one dispatch to the\nnext of any goroutine, so that with two cores half of the time alone is ideal."},
}

// markdown returns the page with all tables.
func markdown(r *results) (string, error) {
	p := page{Env: r.Environment, Highlights: highlights(r)}
	for _, pair := range bench.Pairs() {
		p.Pairs = append(p.Pairs, pairRowOf(r, pair))
		if pair.Limit > 0 {
			p.Promises = append(p.Promises, promiseOf(r, pair))
		}
	}
	rows := bench.Rows()
	used := make(map[string]bool)
	for _, row := range rows {
		if row.Kind == bench.Peer {
			used[row.Module] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(used)) {
		p.Modules = append(p.Modules, module{path, r.Environment.Modules[path]})
	}
	for _, text := range groupTexts {
		p.Groups = append(p.Groups, groupTable(r, rowsOf(rows, text.group), text.title, text.intro))
		for _, row := range rowsOf(rows, text.group) {
			for _, n := range row.Sizes {
				p.Details = append(p.Details, detailOf(r, row, n))
			}
		}
	}
	var b strings.Builder
	if err := pageTemplate.Execute(&b, p); err != nil {
		return "", err
	}
	return b.String(), nil
}

func promiseOf(r *results, pair bench.Pair) promise {
	p := promise{
		Label: pair.Label, Against: pair.Against, Limit: strconv.FormatFloat(pair.Limit, 'f', -1, 64) + "×",
		Ratio: "–", Quartiles: "–", Kept: "not measured",
	}
	ratios := r.ratios(pair.Name)
	if len(ratios) == 0 {
		return p
	}
	p.Ratio, p.Quartiles = times(median(ratios)), times(quantile(ratios, 0.25))+" .. "+times(quantile(ratios, 0.75))
	if p.Kept = "yes"; median(ratios) > pair.Limit {
		p.Kept = "**no**"
	}
	return p
}

func pairRowOf(r *results, pair bench.Pair) pairRow {
	line := pairRow{
		Label: pair.Label, Against: pair.Against, Note: pair.Note,
		Time: "–", Reference: "–", Ratio: "–", Memory: "–",
	}
	if own := r.halves[half{pair.Name, true}]; own != nil {
		line.Time = nanoseconds(median(own.Nanoseconds))
		line.Memory = whole(median(own.Bytes)) + ", " + whole(median(own.Allocs))
	}
	if reference := r.halves[half{pair.Name, false}]; reference != nil {
		line.Reference = nanoseconds(median(reference.Nanoseconds))
	}
	if ratios := r.ratios(pair.Name); len(ratios) > 0 {
		line.Ratio = times(median(ratios))
	}
	return line
}

func rowsOf(rows []bench.Row, g bench.Group) []bench.Row {
	var of []bench.Row
	for _, row := range rows {
		if row.Group == g {
			of = append(of, row)
		}
	}
	return of
}

// sizesOf returns the numbers of hooks that any of rows is measured with.
func sizesOf(rows []bench.Row) []int {
	var sizes []int
	for _, row := range rows {
		sizes = append(sizes, row.Sizes...)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

func groupTable(r *results, rows []bench.Row, title, intro string) table {
	t := table{Title: title, Intro: intro, Sizes: sizesOf(rows)}
	t.Largest = slices.Max(t.Sizes)
	t.PerHook = t.Sizes[0] == 0
	for _, row := range rows {
		line := tableRow{
			Label: row.Label, Ours: row.Kind == bench.Library, Note: row.Note,
			Missing: strings.Join(row.Features.Missing(), ", "), Memory: "–", PerHook: "–",
		}
		for _, n := range t.Sizes {
			line.Cells = append(line.Cells, figure(r, cell{row.Group, row.Name, n}))
		}
		if s := r.cells[cell{row.Group, row.Name, t.Largest}]; s != nil {
			line.Memory = whole(median(s.Bytes)) + ", " + whole(median(s.Allocs))
		}
		if slices.Max(row.Sizes) > 0 {
			line.PerHook = "noise"
			if ns, ok := r.perHook(row); ok {
				line.PerHook = nanoseconds(ns)
			}
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// figure is the text of a cell: its median, and its ratio where there is one.
func figure(r *results, c cell) string {
	ns, ok := r.time(c)
	if !ok {
		return "–"
	}
	if ratio, ok := r.ratio(c); ok {
		return fmt.Sprintf("%s (%s)", nanoseconds(ns), times(ratio))
	}
	return nanoseconds(ns)
}

func detailOf(r *results, row bench.Row, n int) detail {
	c := cell{row.Group, row.Name, n}
	d := detail{
		Label: string(row.Group) + ": " + row.Label, N: n,
		Median: "–", Quartiles: "–", Range: "–", Ratio: "–", Bytes: "–", Allocs: "–",
	}
	s := r.cells[c]
	if s == nil {
		return d
	}
	ns := s.Nanoseconds
	d.Median = nanoseconds(median(ns))
	d.Quartiles = nanoseconds(quantile(ns, 0.25)) + " .. " + nanoseconds(quantile(ns, 0.75))
	d.Range = nanoseconds(slices.Min(ns)) + " .. " + nanoseconds(slices.Max(ns))
	d.Bytes, d.Allocs = whole(median(s.Bytes)), whole(median(s.Allocs))
	if ratio, ok := r.ratio(c); ok {
		d.Ratio = times(ratio)
	}
	return d
}

// highlights compares the figures that a reader looks for first.
func highlights(r *results) []string {
	var list []string
	compare := func(format string, own, other cell) {
		a, okA := r.time(own)
		b, okB := r.time(other)
		if okA && okB && b > 0 {
			list = append(list, fmt.Sprintf(format, nanoseconds(a)+" ns", nanoseconds(b)+" ns", times(a/b)))
		}
	}
	compare("Nothing registered: `hooks.Dispatch` takes %s, an atomic load and a branch %s (%s).",
		cell{bench.Dispatch, "hooks", 0}, cell{bench.Dispatch, "load-and-branch", 0})
	compare("100 hooks: `hooks.Dispatch` takes %s, a plain loop over the same calls %s (%s).",
		cell{bench.Dispatch, "hooks", 100}, cell{bench.Dispatch, plainLoop, 100})
	compare("100 hooks, with an observer that gets each hook's outcome and duration: %s, the plain loop %s (%s).",
		cell{bench.Dispatch, "hooks-observed", 100}, cell{bench.Dispatch, plainLoop, 100})
	compare("10,000 hooks of which one is for the tool called: %s, one hook alone %s (%s).",
		cell{bench.Filtered, "hooks-filtered", 10_000}, cell{bench.Filtered, "hooks-unfiltered", 1})
	compare("10 hooks, dispatched from all cores at once: %s, a registry with a mutex and a copy %s (%s).",
		cell{bench.Parallel, "hooks", 10}, cell{bench.Parallel, "mutex-registry", 10})
	compare("A whole `hooks.RunTool` with 10 hooks: %s, without any %s (%s).",
		cell{bench.ToolCall, "hooks-runtool", 10}, cell{bench.ToolCall, "hooks-runtool", 0})
	return list
}

// nanoseconds formats a time to three figures or so.
func nanoseconds(ns float64) string {
	switch {
	case ns < 10:
		return strconv.FormatFloat(ns, 'f', 2, 64)
	case ns < 100:
		return strconv.FormatFloat(ns, 'f', 1, 64)
	}
	return whole(ns)
}

func times(ratio float64) string {
	if ratio < 10 {
		return strconv.FormatFloat(ratio, 'f', 2, 64) + "×"
	}
	return whole(ratio) + "×"
}

func whole(v float64) string {
	n, err := strconv.Atoi(strconv.FormatFloat(v, 'f', 0, 64))
	if err != nil {
		return "–"
	}
	return comma(n)
}

// comma groups the digits of n, which isn't negative, by thousands.
func comma(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
