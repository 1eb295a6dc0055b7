package hookstest

import "strings"

// diffLines compares two lists of lines. It returns "" if they are equal, else
// one line for each: "  " before a line of both, "- " before one that is
// wanted and missing, "+ " before one that is there and not wanted.
func diffLines(want, got []string) string {
	head := 0
	for head < len(want) && head < len(got) && want[head] == got[head] {
		head++
	}
	if head == len(want) && head == len(got) {
		return ""
	}
	var b strings.Builder
	line := func(mark, text string) { b.WriteString(mark + text + "\n") }
	for _, l := range want[:head] {
		line("  ", l)
	}
	want, got = want[head:], got[head:]
	common := commonLengths(want, got)
	for i, j := 0, 0; i < len(want) || j < len(got); {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			line("  ", want[i])
			i, j = i+1, j+1
		case j == len(got) || i < len(want) && common[i+1][j] >= common[i][j+1]:
			line("- ", want[i])
			i++
		default:
			line("+ ", got[j])
			j++
		}
	}
	return b.String()
}

// commonLengths returns, for each i and j, how long the longest common
// subsequence of a[i:] and b[j:] is.
func commonLengths(a, b []string) [][]int {
	n := make([][]int, len(a)+1)
	for i := range n {
		n[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	return n
}
