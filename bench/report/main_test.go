package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loophooks/hooks/bench"
)

func TestReportWritesBothFilesFromSavedSamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	saved := filepath.Join(dir, "results.json")
	want := sample(5)
	if err := want.save(saved); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	if err := report(t.Context(), []string{"-from", saved, "-out", dir}, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	page, err := markdown(want)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"README.md": page, "bench.svg": picture(want)} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if string(got) != text {
			t.Errorf("%s differs from the one of the results before they were saved", name)
		}
	}
	if stdout.Len() > 0 {
		t.Errorf("it printed %q", stdout.String())
	}
}

// What is in the repository is of one run, and as this command would write it.
func TestReport_isOfTheSavedSamples(t *testing.T) {
	t.Parallel()
	r, err := load(filepath.Join("..", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := markdown(r)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"README.md": page, "bench.svg": picture(r)} {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Error(err)
		} else if string(got) != text {
			t.Errorf("%s isn't that of results.json; in the bench folder: go run ./report -from results.json", name)
		}
	}
}

func TestReportRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-rounds", "0"}, {"extra"}, {"-nonsense"}, {"-from", filepath.Join(t.TempDir(), "absent.json")},
	} {
		if err := report(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("no error for %q", args)
		}
	}
}

func TestPatternSelectsOneRowOnly(t *testing.T) {
	t.Parallel()
	got := pattern(bench.Row{Group: bench.Dispatch, Name: "a.b"})
	if want := `^BenchmarkDispatch$/^a\.b$`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestJobs_measureEveryRowAndPair(t *testing.T) {
	t.Parallel()
	rows, pairs := bench.Rows(), bench.Pairs()
	list := jobs(rows, pairs)
	if len(list) != len(rows)+len(pairs) {
		t.Fatalf("%d jobs for %d rows and %d pairs", len(list), len(rows), len(pairs))
	}
	for i, row := range rows {
		if j := list[i]; j.own != (row.Run != nil) || !slices.Equal(j.patterns, []string{pattern(row)}) {
			t.Errorf("%s: %+v", row.Name, j)
		}
	}
	last := list[len(list)-1]
	name := pairs[len(pairs)-1].Name
	want := []string{"^BenchmarkPair$/^" + name + "$/^side=reference$", "^BenchmarkPair$/^" + name + "$/^side=own$"}
	if !last.own || !slices.Equal(last.patterns, want) {
		t.Errorf("%+v, want %q", last, want)
	}
}

func TestCPUModel(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cpuinfo")
	if err := os.WriteFile(file, []byte("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := cpuModel(file); got != "Some CPU @ 2 GHz" {
		t.Errorf("%q", got)
	}
	if got := cpuModel(file + ".absent"); got != "" {
		t.Errorf("%q where there is no file", got)
	}
}
