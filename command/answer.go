package command

// What a script answers on its standard output.

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/loophooks/hooks/internal/arguments"
)

// strictness orders verdicts.
type strictness int

const (
	noOpinion strictness = iota
	allows
	asks
	denies
	stops // denies, and the run ends
)

// answer is what a script wants.
type answer struct {
	verdict strictness
	reason  string
	updated map[string]any // the new arguments, nil for none
	added   string         // to the result or the prompt
	message string         // to be logged
	unknown []string       // the names of fields that aren't known
}

// hasText says that what a script writes is meant as text where it isn't an answer.
func hasText(event string) bool { return event == userPromptSubmit || event == sessionStart }

const jsonSpace = " \t\r\n"

// strayAnswer finds the beginning of an answer within text.
var strayAnswer = regexp.MustCompile(`\{\s*"(?:continue|stopReason|suppressOutput|systemMessage|decision|reason|hookSpecificOutput)"\s*:`)

// parseAnswer reads what a script of the event wrote that ended with status 0.
func parseAnswer(event, stdout string) (answer, error) {
	text := strings.TrimLeft(stdout, jsonSpace)
	if !strings.HasPrefix(text, "{") {
		switch {
		case !hasText(event) && strings.Contains(text, "{"), strayAnswer.MatchString(text):
			return answer{}, errors.New("there is something before the { of its answer; write that to standard error")
		case hasText(event):
			return answer{added: strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")}, nil
		}
		return answer{}, nil
	}
	object, err := arguments.Parse(text)
	if err != nil {
		return answer{}, fmt.Errorf("its answer isn't a JSON object: %w", err)
	}
	f := fields{in: object}
	var a answer
	a.read(event, &f)
	if len(f.problems) > 0 {
		return answer{}, fmt.Errorf("in its answer %s", strings.Join(f.problems, ", and "))
	}
	return a, nil
}

func (a *answer) read(event string, f *fields) {
	goOn, said := f.boolean("continue")
	stopReason, _ := f.text("stopReason")
	f.boolean("suppressOutput")
	a.message, _ = f.text("systemMessage")
	decision, decided := f.text("decision")
	reason, _ := f.text("reason")

	if decided {
		switch {
		case decision == "block":
			a.rule(denies, reason)
		case decision == "approve" && event == preToolUse:
			a.rule(allows, reason)
		default:
			f.problem(fmt.Sprintf("the decision %q is unknown for %s", decision, event))
		}
	}
	if special := f.object("hookSpecificOutput"); special != nil {
		a.readSpecial(event, reason, special)
		f.problems = append(f.problems, special.problems...)
		a.unknown = append(a.unknown, special.left()...)
	}
	if said && !goOn {
		a.rule(stops, stopReason)
	}
	a.unknown = append(a.unknown, f.left()...)
}

// readSpecial reads hookSpecificOutput. The reason is that of the whole answer.
func (a *answer) readSpecial(event, reason string, f *fields) {
	if name, ok := f.text("hookEventName"); ok && name != event {
		f.problem(fmt.Sprintf("the hookEventName is %q and not %s", name, event))
	}
	switch event {
	case sessionEnd, stop:
		return
	case preToolUse:
		permission, ok := f.text("permissionDecision")
		if why, has := f.text("permissionDecisionReason"); has {
			reason = why
		}
		verdict, known := permissions[permission]
		switch {
		case ok && known:
			a.rule(verdict, reason)
		case ok:
			f.problem(fmt.Sprintf("the permissionDecision %q is unknown", permission))
		}
		if updated := f.object("updatedInput"); updated != nil {
			a.updated = updated.in
		}
	}
	a.added, _ = f.text("additionalContext")
}

var permissions = map[string]strictness{"allow": allows, "deny": denies, "ask": asks, "defer": asks}

// rule keeps the stricter of two verdicts of one answer.
func (a *answer) rule(verdict strictness, reason string) {
	if verdict > a.verdict {
		a.verdict, a.reason = verdict, strings.TrimSpace(reason)
	}
}

// fields reads the fields of an object, each once.
type fields struct {
	in       map[string]any
	at       string // in front of names: "hookSpecificOutput."
	read     []string
	problems []string
}

func (f *fields) problem(text string) { f.problems = append(f.problems, text) }

func field[T any](f *fields, key, kind string) (value T, ok bool) {
	f.read = append(f.read, key)
	v, there := f.in[key]
	if !there {
		return value, false
	}
	if value, ok = v.(T); !ok {
		f.problem(f.at + key + " isn't " + kind)
	}
	return value, ok
}

func (f *fields) text(key string) (string, bool) { return field[string](f, key, isString) }

func (f *fields) boolean(key string) (value, ok bool) { return field[bool](f, key, isBoolean) }

func (f *fields) object(key string) *fields {
	in, ok := field[map[string]any](f, key, isObject)
	if !ok {
		return nil
	}
	return &fields{in: in, at: f.at + key + "."}
}

// left returns the names of the fields that nobody has read.
func (f *fields) left() []string {
	var names []string
	for _, key := range slices.Sorted(maps.Keys(f.in)) {
		if !slices.Contains(f.read, key) {
			names = append(names, f.at+key)
		}
	}
	return names
}
