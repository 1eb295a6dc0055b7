// Package bench compares the cost of dispatching hooks with package hooks to
// that of what a Go developer would use instead: a loop written by hand, and
// the callbacks and middlewares of other libraries.
//
// Every [Row] is one dispatcher, measured with a number of hooks that do
// nothing. Every [Pair] is a part of this library and what it may cost at most,
// as a ratio to a reference. The benchmarks of this package run both, and the
// command in the report folder runs the benchmarks in rounds and writes the
// tables.
package bench

import (
	"errors"
	"fmt"
	"testing"
)

// Group is the question that a row answers. It is also the name of the
// benchmark function that runs it, after "Benchmark".
type Group string

const (
	// Dispatch is the chain alone: N hooks that do nothing before a tool call.
	Dispatch Group = "Dispatch"
	// ToolCall is one whole operation through a library's own path, with N
	// hooks before it and a body that does nothing.
	ToolCall Group = "ToolCall"
	// Filtered is a dispatch among N hooks of which one is for the tool called.
	Filtered Group = "Filtered"
	// Parallel is [Dispatch] from every processor at once.
	Parallel Group = "Parallel"
)

// Kind tells whose code a row measures.
type Kind int

const (
	// Reference rows are a few lines of Go written in this package.
	Reference Kind = iota
	// Library rows measure package hooks.
	Library
	// Peer rows measure another module.
	Peer
)

// Features is what a row's dispatcher does besides calling the hooks, as it
// is set up here: what a library could do with other options isn't counted,
// since it isn't in the figure either.
type Features struct {
	Recover bool // a hook's panic is contained
	Filter  bool // a hook can be for certain tools only, by its registration
	Abort   bool // a hook can stop the chain and the operation
	Change  bool // a hook can change what the operation gets
	Swap    bool // hooks may be added while other goroutines dispatch, and count from the next dispatch on
	Event   bool // somebody is told of the dispatch and of the hooks that ran
}

// Missing names the features that f doesn't have, in the order of the fields.
func (f Features) Missing() []string {
	var missing []string
	for _, feature := range []struct {
		has  bool
		name string
	}{
		{f.Recover, "recover"}, {f.Filter, "filter"}, {f.Abort, "abort"},
		{f.Change, "change"}, {f.Swap, "swap"}, {f.Event, "event"},
	} {
		if !feature.has {
			missing = append(missing, feature.name)
		}
	}
	return missing
}

// Row is one dispatcher, and with it one line of the tables.
type Row struct {
	Group    Group
	Kind     Kind
	Name     string // in the benchmark's name, unique in its group
	Label    string // for people
	Module   string // import path of the module that is measured, empty for a reference
	Sizes    []int  // the numbers of hooks it is measured with
	Features Features
	Note     string // what to know before comparing it, a sentence or none

	// Run measures b.Loop iterations with n hooks. It is nil where the
	// benchmark is in another module.
	Run func(b *testing.B, n int)
	// hook points to the package variable that holds the row's hook, so that
	// tests can put one in that counts.
	hook any
	// perOp is how often hook runs in one iteration with n hooks; nil means n.
	perOp func(n int) int
}

// Calls returns how many hooks run in one iteration with n hooks registered.
func (r Row) Calls(n int) int {
	if r.perOp != nil {
		return r.perOp(n)
	}
	return n
}

var usualSizes = []int{0, 1, 10, 100}

// Rows returns all rows in the order of the tables: within a group the
// references come first, then this library, then the others.
func Rows() []Row {
	var rows []Row
	for _, part := range [][]Row{
		referenceRows(), libraryRows(), einoRows(), mcpgoRows(), gosdkRows(),
		langchaingoRows(), openfeatureRows(), chiRows(), genkitRows(),
	} {
		rows = append(rows, part...)
	}
	var sorted []Row
	for _, g := range []Group{Dispatch, ToolCall, Filtered, Parallel} {
		for _, r := range rows {
			if r.Group == g {
				sorted = append(sorted, r)
			}
		}
	}
	return sorted
}

// RunGroup runs the rows of g, each with all its sizes, as sub-benchmarks
// named like "eino/N=10". They share the process, and what one row leaves behind
// in it can slow the next: for figures to compare, run one row at a time, as the
// command in the report folder does.
func RunGroup(b *testing.B, g Group) {
	for _, r := range Rows() {
		if r.Group != g || r.Run == nil {
			continue
		}
		b.Run(r.Name, func(b *testing.B) {
			for _, n := range r.Sizes {
				b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
					b.ReportAllocs()
					r.Run(b, n)
				})
			}
		})
	}
}

// errEmpty is what the hooks return, or panic with where they can't return an
// error, if their argument is empty. It never is, but the compiler can't know.
var errEmpty = errors.New("empty argument")

// toolName is the tool that all rows call.
const toolName = "read_file"

func repeat[T any](n int, v T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = v
	}
	return list
}
