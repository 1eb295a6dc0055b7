package policy

// Arguments that hold one text or several, as paths and URLs are given.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
)

// textArgs are the names of arguments that hold a text or a list of texts.
type textArgs []string

// newTextArgs returns a copy of names, or the one that is usual if there are none. It
// panics on behalf of the policy named where they can't be meant.
func newTextArgs(policy string, names []string, usual string) textArgs {
	switch {
	case names == nil:
		return textArgs{usual}
	case len(names) == 0:
		panic(fmt.Sprintf("policy: %s: Args is empty, and nothing would be checked; leave it out for %q", policy, usual))
	case slices.Contains(names, ""):
		panic(fmt.Sprintf(`policy: %s: Args has the empty name ""; leave it out`, policy))
	}
	return slices.Clone(names)
}

// judge gives each text of the arguments to check, with the argument's name, and
// returns the first error. An argument that isn't there passes, and so does a call
// whose arguments couldn't be read. One of another type is refused, and one whose name
// differs in case, which the tool's decoder might read instead.
func (a textArgs) judge(t *hooks.ToolCall, check func(name, text string) error) error {
	if t.ArgumentsError() != nil {
		return nil
	}
	for key := range t.Input {
		for _, name := range a {
			if strings.EqualFold(key, name) && !slices.Contains(a, key) {
				return hooks.Abort(fmt.Sprintf("the argument %s must be spelt exactly so", name))
			}
		}
	}
	for _, name := range a {
		value, ok := t.Input[name]
		if !ok {
			continue
		}
		texts, ok := textsOf(value)
		if !ok {
			return hooks.Abort(name + " must be a string or a list of strings")
		}
		for _, text := range texts {
			if err := check(name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// textsOf returns what an argument holds, if that is nothing but texts.
func textsOf(value any) ([]string, bool) {
	switch value := value.(type) {
	case string:
		return []string{value}, true
	case []string:
		return value, true
	case []any:
		texts := make([]string, len(value))
		for i := range value {
			text, ok := value[i].(string)
			if !ok {
				return nil, false
			}
			texts[i] = text
		}
		return texts, true
	}
	return nil, false
}

// editTexts returns value with f of each text in it, and the value itself where that
// changes nothing. Lists are copied: they may be the loop's own.
func editTexts(value any, f func(string) string) any {
	switch value := value.(type) {
	case string:
		return f(value)
	case []string:
		edited := slices.Clone(value)
		for i := range edited {
			edited[i] = f(edited[i])
		}
		return edited
	case []any:
		edited := slices.Clone(value)
		for i := range edited {
			if text, ok := edited[i].(string); ok {
				edited[i] = f(text)
			}
		}
		return edited
	}
	return value
}
