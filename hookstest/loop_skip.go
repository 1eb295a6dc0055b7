package hookstest

// What a loop declares not to do: scenarios that are left out by name. A name
// that no scenario has, or no reason, is a mistake of the test.

import (
	"fmt"
	"slices"
	"strings"
)

const skipRule = "Skip takes the name of a scenario and a reason"

// Skip leaves a scenario out by its name, the one of its subtest. The reason is
// in the report of [TestLoop]. It is for what a loop can't do, such as a provider
// without ids of calls; a loop that lacks points says so with [Without]. The
// variants of the scenario, whose names begin or end with its name, are left out
// with it. A name that no scenario has, or an empty reason, fails the test.
func Skip(scenario, reason string) LoopOption {
	return loopOption(func(k *kit) {
		var names []string
		for _, sc := range scenarios() {
			names = append(names, sc.name)
		}
		switch {
		case !slices.Contains(names, scenario):
			k.misuse = append(k.misuse, Failure{
				Scenario: scenario, Rule: skipRule,
				Want: "a scenario such as " + strings.Join(closest(scenario, names), ", "),
				Got:  fmt.Sprintf("%q", scenario),
			})
		case strings.TrimSpace(reason) == "":
			k.misuse = append(k.misuse, Failure{
				Scenario: scenario, Rule: skipRule,
				Want: fmt.Sprintf("why %q is left out", scenario), Got: "no reason",
			})
		default:
			k.skips[scenario] = reason
		}
	})
}

// closest returns a few names that are most like name, the closest first.
func closest(name string, names []string) []string {
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int { return distance(name, a) - distance(name, b) })
	return names[:min(5, len(names))]
}

// distance is how many bytes have to be added, dropped or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
