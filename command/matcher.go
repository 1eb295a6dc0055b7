package command

// Which tools a group of handlers is for.

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/loophooks/hooks"
)

// matcher covers tools. The zero matcher covers all.
type matcher struct {
	names []string
	expr  *regexp.Regexp
}

func newMatcher(text string) (matcher, error) {
	if text == "" || text == "*" {
		return matcher{}, nil
	}
	if strings.IndexFunc(text, notInList) >= 0 {
		expr, err := regexp.Compile(text)
		return matcher{expr: expr}, err
	}
	var m matcher
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || r == ',' }) {
		if name = strings.TrimSpace(name); name != "" {
			m.names = append(m.names, name)
		}
	}
	if len(m.names) == 0 {
		return matcher{}, errors.New(`it names no tool; "*" covers all`)
	}
	return m, nil
}

// notInList says that a matcher which has r is an expression.
func notInList(r rune) bool {
	return !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune("_-,| ", r)
}

// covers says whether the tool called name, and mapped for scripts, is one of those.
func (m *matcher) covers(name, mapped string) bool {
	switch {
	case m.expr != nil:
		return m.expr.MatchString(name) || m.expr.MatchString(mapped) || m.expr.MatchString(hooks.SanitizeToolName(name))
	case m.names == nil:
		return true
	}
	return slices.ContainsFunc(m.names, func(entry string) bool {
		return hooks.MatchTool(entry, name) || hooks.MatchTool(entry, mapped)
	})
}

// mapped returns the name that scripts know the tool by.
func (o *options) mapped(name string) string {
	if known, ok := o.toolNames[name]; ok {
		return known
	}
	for _, key := range o.toolKeys {
		if hooks.MatchTool(key, name) {
			return o.toolNames[key]
		}
	}
	return name
}
