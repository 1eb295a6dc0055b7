package redact_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loophooks/hooks/redact"
	"github.com/stretchr/testify/assert"
)

var prose = strings.Repeat("The quick brown fox jumps over the lazy dog, and takes a nap. "+
	"Past summaries of the project say that it can be built in an hour; plan for two.\n", 400)

// sets are what programs look for, from the least to the most.
var sets = []struct {
	name     string
	patterns []redact.Pattern
}{
	{"issued keys", redact.Keys()[:3]},
	{"keys", redact.Keys()},
	{"keys, mail and cards", slices.Concat(redact.Keys(), redact.Mail(), redact.Cards())},
	{"literals", redact.Literals("SECRET", "correct horse", "battery staple", "hunter2hunter2")},
}

// alternation is an expression for package regexp that looks for the same.
func alternation(patterns []redact.Pattern) *regexp.Regexp {
	var exprs []string
	for _, p := range patterns {
		exprs = append(exprs, "(?:"+p.Expr+")")
	}
	return regexp.MustCompile(strings.Join(exprs, "|"))
}

func BenchmarkReplace(b *testing.B) {
	for _, s := range sets {
		b.Run(s.name, func(b *testing.B) {
			set := redact.MustCompile(s.patterns...)
			b.SetBytes(int64(len(prose)))
			b.ReportAllocs()
			for b.Loop() {
				set.Replace(prose, label)
			}
		})
	}
}

// BenchmarkRegexp is the same work for package regexp, which can't be fed and
// knows neither checks nor what hides a match.
func BenchmarkRegexp(b *testing.B) {
	for _, s := range sets {
		b.Run(s.name, func(b *testing.B) {
			re := alternation(s.patterns)
			text := prose[:len(prose)/20]
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				re.ReplaceAllString(text, "[KEY]")
			}
		})
	}
}

// BenchmarkPieces is the work of a filter for a text in pieces of four bytes,
// with how many bytes it holds on average.
func BenchmarkPieces(b *testing.B) {
	for _, s := range sets {
		b.Run(s.name, func(b *testing.B) {
			p := &pieces{see: redact.NewFilter(redact.MustCompile(s.patterns...), label)}
			p.shown.Grow(1 << 20)
			b.SetBytes(4)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				at := n * 4 % (len(prose) - 4)
				p.push(prose[at : at+4])
				n++
				if p.shown.Len() > 1<<19 {
					p.shown.Reset()
					p.shown.Grow(1 << 20)
				}
			}
			b.ReportMetric(float64(p.held)/float64(n), "held/op")
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, s := range sets {
		b.Run(s.name, func(b *testing.B) {
			for b.Loop() {
				redact.MustCompile(s.patterns...)
			}
		})
	}
}

// fastest returns how long f takes where nothing gets in its way.
func fastest(f func()) time.Duration {
	least := time.Hour
	for range 5 {
		began := time.Now()
		f()
		least = min(least, time.Since(began))
	}
	return least
}

// Times of the same process are compared: the machine is busy or not for both.
func TestCost_noMoreThanRegexp(t *testing.T) {
	for _, s := range sets {
		set, re, text := redact.MustCompile(s.patterns...), alternation(s.patterns), prose[:2000]
		ours := fastest(func() { set.Replace(text, label) })
		theirs := fastest(func() { re.ReplaceAllString(text, "[KEY]") })
		t.Logf("%s: %v, package regexp %v", s.name, ours, theirs)
		assert.Less(t, ours, theirs, s.name)
	}
}
