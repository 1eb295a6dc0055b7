package redact

// What is looked for, and how a Set is made of it.

import (
	"fmt"
	"regexp/syntax"
	"sync"
)

// Pattern is one thing to look for.
//
// Where several patterns of a [Set] match, the match that begins first counts,
// and of those that begin at one place the one whose pattern was given first.
type Pattern struct {
	// Name says what was found. It is passed to the function that chooses the
	// replacement; patterns may share one.
	Name string

	// Expr is a regular expression in the syntax of package regexp, with that
	// package's preference among the matches that begin at one place. Flags,
	// as in (?i), are this pattern's own.
	//
	// The assertions ^, $ and \b see the text around the match, as they do in
	// [regexp.Regexp.FindAllString].
	Expr string

	// Check, if it isn't nil, is asked whether what would be replaced is what
	// the pattern looks for: a checksum, say. If not, the match doesn't count;
	// patterns given later are tried at the same place, and this one from the
	// match's second rune on. Check must be safe for concurrent use.
	Check func(match string) bool

	// Group is the number of the group in Expr that is replaced; 0 stands for
	// the whole match. What the match holds besides is context, and is shown
	// as it is: the search goes on behind the group, so that what follows the
	// group can be context of the next match too.
	//
	// A match in which the group took no part, or was empty, hides its stretch
	// of text from this pattern and from no other. So an expression says what
	// doesn't count: page_token=|token=(\w+).
	Group int

	// anyGroup has each group of Expr replaced instead. At most one of them
	// may take part in a match.
	anyGroup bool

	// part is a Check that returns how many bytes of the match are what the
	// pattern looks for, from its beginning; 0 is none.
	part func(match string) int
}

// check returns how many bytes of the match are replaced.
func (p *Pattern) check(match string) int {
	switch {
	case p.part != nil:
		return p.part(match)
	case p.Check != nil && !p.Check(match):
		return 0
	}
	return len(match)
}

// maxInstructions bounds what one expression compiles to. Counted repetitions,
// such as [a-z]{1000}, take an instruction for each.
const maxInstructions = 10_000

// PatternError says which pattern [Compile] refused and why. Its text doesn't
// hold the expression, unless that is no regular expression at all: one that
// was made of a secret should get into no log.
type PatternError struct {
	Index int    // of the pattern among those given, from 0
	Name  string // its name
	Err   error  // a *syntax.Error where Expr doesn't parse
}

// Error returns the pattern's index, its name and what is wrong with it.
func (e *PatternError) Error() string {
	return fmt.Sprintf("redact: pattern %d (%s): %v", e.Index, e.Name, e.Err)
}

// Unwrap returns Err.
func (e *PatternError) Unwrap() error { return e.Err }

// Set is several patterns that are looked for at once. It isn't changed by its
// use, and is safe for concurrent use. The zero Set looks for nothing.
type Set struct {
	program
	machines sync.Pool // of *machine
}

// Compile makes a Set of patterns, which may be none. It fails with a
// *[PatternError] for an expression that doesn't parse, that can match the
// empty text, or that compiles to more than 10,000 instructions, and for a
// Group that the expression doesn't have.
func Compile(patterns ...Pattern) (*Set, error) {
	s := &Set{}
	for i, p := range patterns {
		prog, err := parse(p)
		if err == nil {
			err = s.add(p, prog)
		}
		if err != nil {
			return nil, &PatternError{Index: i, Name: p.Name, Err: err}
		}
	}
	s.link()
	return s, nil
}

// MustCompile is [Compile] for patterns that are part of the program: it panics
// where Compile fails.
func MustCompile(patterns ...Pattern) *Set {
	s, err := Compile(patterns...)
	if err != nil {
		panic(err)
	}
	return s
}

// parse compiles p.Expr as package regexp does.
func parse(p Pattern) (*syntax.Prog, error) {
	re, err := syntax.Parse(p.Expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if groups := re.MaxCap(); p.Group < 0 || p.Group > groups {
		return nil, fmt.Errorf("there is no group %d in the expression, which has %d; give 0 for the whole match", p.Group, groups)
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	if n := len(prog.Inst); n > maxInstructions {
		return nil, fmt.Errorf("the expression takes %d instructions, more than %d; use smaller repetitions", n, maxInstructions)
	}
	return prog, nil
}
