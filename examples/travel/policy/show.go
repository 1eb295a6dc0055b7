package policy

import (
	"strings"
	"unicode"
)

// ForPeople makes s fit for a line on a terminal: without document numbers, and
// without the line breaks and control characters by which a model could make
// the line look like something else.
func ForPeople(s string) string { return OneLine(HideDocuments(s)) }

// OneLine is ForPeople for a piece of text whose document numbers are hidden
// already.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '�'
		}
		return r
	}, s)
}
