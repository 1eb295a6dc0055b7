package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/loophooks/hooks/bench"
)

// plan is what to measure and how long.
type plan struct {
	dir       string // the folder of package bench
	rounds    int
	benchTime string
	progress  io.Writer
}

// job is what is measured in one go, each pattern in a process of its own.
type job struct {
	name     string
	own      bool // in package bench, not in genkit's
	patterns []string
}

// jobs has one job for each row and each pair.
func jobs(rows []bench.Row, pairs []bench.Pair) []job {
	var list []job
	for _, row := range rows {
		list = append(list, job{string(row.Group) + "/" + row.Name, row.Run != nil, []string{pattern(row)}})
	}
	for _, pair := range pairs {
		list = append(list, job{"Pair/" + pair.Name, true, []string{sidePattern(pair, "reference"), sidePattern(pair, "own")}})
	}
	return list
}

// measure builds the benchmarks and runs every row, and every side of a pair, in
// a process of its own, rounds times over all of them and each time in another
// order: so none inherits the heap of another, and a slow minute of the machine
// hits all. The two sides of a pair follow each other, now one first and now the
// other, so that drift hits both alike.
func measure(ctx context.Context, p plan) (*results, error) {
	began := time.Now()
	tmp, err := os.MkdirTemp("", "hooks-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)

	rows, pairs := bench.Rows(), bench.Pairs()
	work := jobs(rows, pairs)
	binaries := make(map[bool]string)
	for _, own := range []bool{true, false} {
		dir, name := p.dir, "bench.test"
		if !own {
			dir, name = filepath.Join(p.dir, "genkit"), "genkit.test"
		}
		binaries[own] = filepath.Join(tmp, name)
		if _, err := run(ctx, dir, "go", "test", "-c", "-o", binaries[own], "."); err != nil {
			return nil, err
		}
	}

	r := newResults()
	r.Environment, err = describe(ctx, p)
	if err != nil {
		return nil, err
	}
	for round := range p.rounds {
		order := rand.New(rand.NewPCG(1, uint64(round))).Perm(len(work))
		fmt.Fprintf(p.progress, "round %d of %d\n", round+1, p.rounds)
		for _, i := range order {
			j := work[i]
			if round > 0 {
				slices.Reverse(j.patterns)
			}
			for _, pattern := range j.patterns {
				out, err := run(ctx, p.dir, binaries[j.own],
					"-test.run=^$", "-test.bench="+pattern, "-test.benchtime="+p.benchTime)
				if err == nil {
					err = r.parse(out)
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", j.name, err)
				}
			}
		}
	}
	if missing := r.missing(rows, pairs, p.rounds); len(missing) > 0 {
		return nil, fmt.Errorf("no result, or not one per round, for %v", missing)
	}
	r.Environment.Took = time.Since(began).Round(time.Second)
	return r, nil
}

// pattern selects the benchmarks of one row.
func pattern(row bench.Row) string {
	return "^Benchmark" + string(row.Group) + "$/^" + regexp.QuoteMeta(row.Name) + "$"
}

// sidePattern selects the benchmark of one side of a pair.
func sidePattern(pair bench.Pair, side string) string {
	return "^BenchmarkPair$/^" + regexp.QuoteMeta(pair.Name) + "$/^side=" + side + "$"
}

func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", filepath.Base(name), err, out.String(), errOut.String())
	}
	return out.String(), nil
}

// describe collects what a reader needs to judge the figures.
func describe(ctx context.Context, p plan) (environment, error) {
	e := environment{
		Date:      time.Now().UTC(),
		Rounds:    p.rounds,
		BenchTime: p.benchTime,
		Go:        runtime.Version(),
		System:    runtime.GOOS + "/" + runtime.GOARCH,
		CPU:       cpuModel("/proc/cpuinfo"),
		Cores:     runtime.NumCPU(),
		Modules:   make(map[string]string),
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		e.Load = strings.Join(strings.Fields(string(load))[:3], ", ")
	}
	// Not every copy of the source is a git checkout.
	if commit, err := run(ctx, p.dir, "git", "rev-parse", "--short", "HEAD"); err == nil {
		e.Commit = strings.TrimSpace(commit)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			e.Modules[m.Path] = m.Version
		}
	}
	for _, row := range bench.Rows() {
		if row.Kind != bench.Peer || e.Modules[row.Module] != "" {
			continue
		}
		version, err := run(ctx, filepath.Join(p.dir, "genkit"), "go", "list", "-m", "-f", "{{.Version}}", row.Module)
		if err != nil {
			return environment{}, err
		}
		e.Modules[row.Module] = strings.TrimSpace(version)
	}
	return e, nil
}

// cpuModel returns the processor's name from a file like Linux's
// /proc/cpuinfo, and the empty string where there is none.
func cpuModel(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
