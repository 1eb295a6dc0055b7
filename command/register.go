package command

// Registering the scripts of a configuration.

import "github.com/loophooks/hooks"

// Register registers hooks and guards for the events that the settings have scripts
// for, and returns the handle that removes them. They are named after the event, as
// command.PreToolUse. The options apply to each of them, behind the own ones, so that
// [hooks.WithName], [hooks.WithPriority] and [hooks.In] take effect; one that a
// registration can't take makes Register panic, and then nothing is registered:
// [hooks.WithTools] where there are scripts for events that aren't about tools, for
// instance. Registering twice runs the scripts twice. It is safe for concurrent use.
//
// The guard of PreToolUse asks a desk by its name ([hooks.Question.Key]): two
// configurations with the same name ask about a call once, and a configuration that
// is to find its questions after a restart keeps its name.
func (c *Config) Register(opts ...hooks.Option) *hooks.Group {
	r := &registered{Config: c, opts: opts}
	done := false
	defer func() {
		if !done {
			hooks.Join(r.parts...).Remove()
		}
	}()
	for _, e := range []struct {
		event    string
		register func()
	}{
		{preToolUse, r.preToolUse},
		{postToolUse, func() { r.postToolUse(postToolUse) }},
		{postToolUseFailure, func() { r.postToolUse(postToolUseFailure) }},
		{userPromptSubmit, r.userPromptSubmit},
		{sessionStart, r.sessionStart},
		{sessionEnd, r.sessionEnd},
		{stop, r.stop},
	} {
		if c.has(e.event) {
			e.register()
		}
	}
	done = true
	return hooks.Join(r.parts...)
}

// has says whether there are scripts for the event.
func (c *Config) has(event string) bool {
	for _, g := range c.groups[event] {
		if len(g.handlers) > 0 {
			return true
		}
	}
	return false
}

// registered is a configuration that was registered. What it leaves on a call or an
// execution has its address in the key.
type registered struct {
	*Config
	opts  []hooks.Option
	parts []interface{ Remove() bool }
}

func (r *registered) add(part interface{ Remove() bool }) { r.parts = append(r.parts, part) }

func (r *registered) with(event string, priority int) []hooks.Option {
	return append([]hooks.Option{hooks.WithName("command." + event), hooks.WithPriority(priority)}, r.opts...)
}

// memory is the key of what the hook of an event tells its guard.
type memory struct {
	of    *registered
	event string
}
