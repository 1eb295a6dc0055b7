package command

// Reading a settings file, and refusing what can't be honoured.

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The events that are known here.
const (
	preToolUse         = "PreToolUse"
	postToolUse        = "PostToolUse"
	postToolUseFailure = "PostToolUseFailure"
	userPromptSubmit   = "UserPromptSubmit"
	sessionStart       = "SessionStart"
	sessionEnd         = "SessionEnd"
	stop               = "Stop"
)

// eventRule is what is particular about an event.
type eventRule struct {
	matches bool          // it is about tools
	timeout time.Duration // by default
}

var eventRules = map[string]eventRule{
	preToolUse:         {true, 600 * time.Second},
	postToolUse:        {true, 600 * time.Second},
	postToolUseFailure: {true, 600 * time.Second},
	userPromptSubmit:   {false, 30 * time.Second},
	sessionStart:       {false, 600 * time.Second},
	sessionEnd:         {false, 1500 * time.Millisecond},
	stop:               {false, 600 * time.Second},
}

// Config is a settings file that can be honoured, with the options that it was
// loaded with. It never changes, and may be used by several goroutines.
type Config struct {
	options
	groups map[string][]group // by event, as in the file
}

// group is handlers for the same tools.
type group struct {
	matcher
	handlers []handler
}

// handler is one script.
type handler struct {
	script
	event, place string
}

// script is what makes handlers equal.
type script struct {
	command string
	timeout time.Duration
	blocks  bool // when it fails
}

// Load reads the settings of r, which must be one JSON object, and of it the hooks.
// Everything in it that can't be honoured is a [*LoadError]: they are joined, so that
// one reading tells all of them. That is also so of a setting that isn't about hooks,
// such as permissions, which somebody relies on; see [IgnoreUnknown]. Of an option that
// can't be meant Load returns a LoadError as well. No script is started, and none
// needs to exist.
func Load(r io.Reader, opts ...Option) (*Config, error) {
	o, err := collect(runtime.GOOS, opts)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, &LoadError{Place: "$", Problem: "the reader is nil"}
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, &LoadError{Place: "$", Problem: "the settings can't be read", Err: err}
	}
	root, err := parseSettings(raw)
	if err != nil {
		return nil, err
	}
	l := loader{options: &o, groups: make(map[string][]group)}
	l.settings(&root)
	if len(l.errs) > 0 {
		return nil, errors.Join(l.errs...)
	}
	return &Config{options: o, groups: l.groups}, nil
}

// loader collects what a settings file holds and what is wrong with it.
type loader struct {
	*options
	groups map[string][]group
	errs   []error
}

func (l *loader) fail(err error) { l.errs = append(l.errs, err) }

// is says whether n is of the kind, and notes it if not.
func (l *loader) is(n *node, kind string) bool {
	err := n.must(kind)
	if err != nil {
		l.fail(err)
	}
	return err == nil
}

// unknown passes over what isn't known, if that is allowed.
func (l *loader) unknown(n *node, problem string) {
	switch {
	case !l.ignores:
		l.fail(n.problem(problem + "; take it out, or load with IgnoreUnknown to do without it"))
	case l.ignored != nil:
		l.ignored(n.place)
	}
}

func (l *loader) unknownField(n *node, known ...string) {
	l.unknown(n, "the field isn't known; known are "+strings.Join(known, ", "))
}

func (l *loader) settings(root *node) {
	for i := range root.members {
		switch m := &root.members[i]; m.key {
		case "hooks":
			l.events(&m.value)
		case "$schema": // for editors
		default:
			l.unknown(&m.value, "the setting isn't about hooks and has no effect here")
		}
	}
}

func (l *loader) events(n *node) {
	if !l.is(n, isObject) {
		return
	}
	for i := range n.members {
		m := &n.members[i]
		rule, known := eventRules[m.key]
		switch {
		case !known:
			l.unknown(&m.value, fmt.Sprintf("the event %s can't be honoured; known are %s",
				m.key, strings.Join(slices.Sorted(maps.Keys(eventRules)), ", ")))
		case m.key == stop && !l.stopAborts:
			l.fail(m.value.problem("hooks can't make a loop go on; take the event out, or load with StopAborts if its scripts are to withhold the output"))
		case l.is(&m.value, isArray):
			for j := range m.value.items {
				l.group(m.key, rule, &m.value.items[j])
			}
		}
	}
}

func (l *loader) group(event string, rule eventRule, n *node) {
	if !l.is(n, isObject) {
		return
	}
	var g group
	found := false
	for i := range n.members {
		switch m := &n.members[i]; m.key {
		case "matcher":
			g.matcher = l.matcher(event, rule, &m.value)
		case "hooks":
			found = true
			if l.is(&m.value, isArray) {
				for j := range m.value.items {
					g.handlers = append(g.handlers, l.handler(event, rule, &m.value.items[j]))
				}
			}
		default:
			l.unknownField(&m.value, "matcher", "hooks")
		}
	}
	if !found {
		l.fail(n.problem(`it has no "hooks"; list the scripts there: "hooks": [{"type": "command", "command": "…"}]`))
	}
	l.groups[event] = append(l.groups[event], g)
}

func (l *loader) matcher(event string, rule eventRule, n *node) matcher {
	if !l.is(n, isString) {
		return matcher{}
	}
	m, err := newMatcher(n.text)
	switch {
	case err != nil:
		l.fail(&LoadError{Place: n.place, Problem: "the matcher is neither a list of tools nor an expression of RE2, which has no look-around and no back references", Err: err})
	case !rule.matches && n.text != "" && n.text != "*":
		l.fail(n.problem(event + " isn't about tools and has no matcher; take it out to run the scripts always"))
	}
	return m
}

var handlerFields = []string{"type", "command", "timeout", "onFailure"}

func (l *loader) handler(event string, rule eventRule, n *node) handler {
	h := handler{script{timeout: rule.timeout}, event, n.place}
	if !l.is(n, isObject) {
		return h
	}
	typed := false
	for i := range n.members {
		m := &n.members[i]
		v := &m.value
		switch m.key {
		case "type":
			typed = true
			if l.is(v, isString) && v.text != "command" {
				l.fail(v.problem(fmt.Sprintf(`handlers of type %q can't run here; only "command" can`, v.text)))
			}
		case "command":
			if h.command = v.text; l.is(v, isString) && strings.ContainsRune(h.command, 0) {
				l.fail(v.problem("the command holds a NUL character"))
			}
		case "timeout":
			h.timeout = l.timeout(v)
		case "onFailure":
			h.blocks = l.onFailure(event, v)
		case "async":
			l.fail(v.problem("a script whose answer nobody waits for can't be honoured; take the field out, and let the script start what is to go on"))
		case "if":
			l.fail(v.problem("the condition can't be checked here; take the field out, and let the script look at tool_input"))
		default:
			l.unknownField(v, handlerFields...)
		}
	}
	if !typed {
		l.fail(n.problem(`it has no type; add "type": "command"`))
	}
	if !slices.ContainsFunc(n.members, func(m member) bool { return m.key == "command" && m.value.kind != isString }) && strings.TrimSpace(h.command) == "" {
		l.fail(n.problem(`it has no command; add "command": "…"`))
	}
	return h
}

// maxTimeout is more than anybody waits, and can be added to any time.
const maxTimeout = 10 * 365 * 24 * time.Hour

func (l *loader) timeout(n *node) time.Duration {
	if !l.is(n, isNumber) {
		return 0
	}
	seconds, err := strconv.ParseFloat(n.text, 64)
	switch {
	case seconds <= 0:
		l.fail(n.problem("a script needs time; give the seconds as a number above 0, or take the field out for the default"))
		return 0
	case err != nil || seconds > maxTimeout.Seconds():
		return maxTimeout
	}
	return time.Duration(math.Ceil(seconds * float64(time.Second)))
}

func (l *loader) onFailure(event string, n *node) bool {
	switch {
	case !l.is(n, isString):
	case n.text != "block":
		l.fail(n.problem(`it can only be "block"; take the field out to let pass what a script failed on`))
	case event == sessionEnd:
		l.fail(n.problem("a SessionEnd script runs when nothing is left to block; take the field out"))
	}
	return true
}

// matching returns the handlers of an event for a tool, equal ones once. The name of
// an event without a tool is "".
func (c *Config) matching(event, tool string) []*handler {
	var found []*handler
	mapped := c.mapped(tool)
	for i := range c.groups[event] {
		g := &c.groups[event][i]
		if !g.covers(tool, mapped) {
			continue
		}
		for j := range g.handlers {
			h := &g.handlers[j]
			if !slices.ContainsFunc(found, func(f *handler) bool { return f.script == h.script }) {
				found = append(found, h)
			}
		}
	}
	return found
}
