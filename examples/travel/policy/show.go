package policy

import (
	"strings"
	"unicode"
)

// ForPeople makes s fit for a line on a terminal: without document numbers, and
// without the line breaks and control characters by which a model could make
// the line look like something else.
func ForPeople(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '�'
		}
		return r
	}, HideDocuments(s))
}
