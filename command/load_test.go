package command_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/command"
	"github.com/loophooks/hooks/hookstest"
)

// shell is there on every system, and no script is started with it.
func shell() command.Option { return command.Shell("go", "version") }

func TestLoad_refusesWhatCannotBeHonoured(t *testing.T) {
	t.Parallel()
	const handler = "$.hooks.PreToolUse[0].hooks[0]"
	for name, c := range map[string]struct {
		settings, place, problem string
	}{
		"an event of elsewhere":       {always("PreCompact", script("true")), "$.hooks.PreCompact", "the event PreCompact can't be honoured"},
		"an event in another case":    {always("preToolUse", script("true")), "$.hooks.preToolUse", "known are PostToolUse, PostToolUseFailure, PreToolUse,"},
		"sub-agents":                  {always("SubagentStop", script("true")), "$.hooks.SubagentStop", "can't be honoured"},
		"Stop":                        {always("Stop", script("true")), "$.hooks.Stop", "load with StopAborts"},
		"a prompt handler":            {always("PreToolUse", object{"type": "prompt", "command": "ok?"}), handler + ".type", `of type "prompt" can't run here`},
		"a type in another case":      {always("PreToolUse", object{"type": "Command", "command": "true"}), handler + ".type", `"Command"`},
		"no type":                     {always("PreToolUse", object{"command": "true"}), handler, `add "type": "command"`},
		"no command":                  {always("PreToolUse", object{"type": "command"}), handler, "it has no command"},
		"a blank command":             {always("PreToolUse", script(" \n")), handler, "it has no command"},
		"a command with a NUL":        {always("PreToolUse", script("echo \x00")), handler + ".command", "NUL"},
		"a command that is a list":    {always("PreToolUse", with(script(""), "command", []string{"a"})), handler + ".command", "found an array where a string belongs"},
		"async":                       {always("PreToolUse", with(script("true"), "async", true)), handler + ".async", "nobody waits for"},
		"async that is false":         {always("PreToolUse", with(script("true"), "async", false)), handler + ".async", "take the field out"},
		"if":                          {always("PreToolUse", with(script("true"), "if", "Bash(rm *)")), handler + ".if", "look at tool_input"},
		"an unknown field":            {always("PreToolUse", with(script("true"), "once", true)), handler + ".once", "known are type, command, timeout, onFailure"},
		"a field in another case":     {always("PreToolUse", with(script("true"), "Timeout", 3)), handler + ".Timeout", "isn't known"},
		"an odd field":                {always("PreToolUse", with(script("true"), "a b", 3)), handler + `["a b"]`, "isn't known"},
		"an unknown field of a group": {settings("PreToolUse", with(group("Bash", script("true")), "description", "x")), "$.hooks.PreToolUse[0].description", "known are matcher, hooks"},
		"another setting":             {`{"permissions":{"deny":["Bash"]},"hooks":{}}`, "$.permissions", "isn't about hooks"},
		"no time":                     {always("PreToolUse", with(script("true"), "timeout", 0)), handler + ".timeout", "a script needs time"},
		"less than no time":           {always("PreToolUse", with(script("true"), "timeout", -0.5)), handler + ".timeout", "a number above 0"},
		"a timeout as text":           {always("PreToolUse", with(script("true"), "timeout", "5")), handler + ".timeout", "found a string where a number belongs"},
		"a timeout that is null":      {always("PreToolUse", with(script("true"), "timeout", nil)), handler + ".timeout", "found null"},
		"an onFailure of elsewhere":   {always("PreToolUse", with(script("true"), "onFailure", "ask")), handler + ".onFailure", `it can only be "block"`},
		"an onFailure with no effect": {always("SessionEnd", with(script("true"), "onFailure", "block")), "$.hooks.SessionEnd[0].hooks[0].onFailure", "nothing is left to block"},
		"a matcher of a prompt":       {settings("UserPromptSubmit", group("Bash", script("true"))), "$.hooks.UserPromptSubmit[0].matcher", "has no matcher"},
		"a matcher of a session":      {settings("SessionStart", group("startup", script("true"))), "$.hooks.SessionStart[0].matcher", "has no matcher"},
		"an expression of elsewhere":  {settings("PreToolUse", group("^(?!Bash)", script("true"))), "$.hooks.PreToolUse[0].matcher", "look-around"},
		"a broken expression":         {settings("PostToolUse", group("Edit(", script("true"))), "$.hooks.PostToolUse[0].matcher", "missing closing )"},
		"a matcher of nothing":        {settings("PreToolUse", group(" |,", script("true"))), "$.hooks.PreToolUse[0].matcher", "it names no tool"},
		"a matcher that is null":      {settings("PreToolUse", with(group("", script("true")), "matcher", nil)), "$.hooks.PreToolUse[0].matcher", "found null where a string belongs"},
		"a group without handlers":    {settings("PreToolUse", object{"matcher": "Bash"}), "$.hooks.PreToolUse[0]", `it has no "hooks"`},
		"handlers without a group":    {settings("PreToolUse", script("true")), "$.hooks.PreToolUse[0].command", "known are matcher, hooks"},
		"a group that is text":        {`{"hooks":{"PreToolUse":["true"]}}`, "$.hooks.PreToolUse[0]", "found a string where an object belongs"},
		"a handler that is text":      {`{"hooks":{"PreToolUse":[{"hooks":["true"]}]}}`, handler, "found a string where an object belongs"},
		"an event that is an object":  {`{"hooks":{"PreToolUse":{}}}`, "$.hooks.PreToolUse", "found an object where an array belongs"},
		"hooks that are an array":     {`{"hooks":[]}`, "$.hooks", "found an array where an object belongs"},
		"hooks that are null":         {`{"hooks":null}`, "$.hooks", "found null"},
		"handlers that are null":      {`{"hooks":{"PreToolUse":[{"hooks":null}]}}`, "$.hooks.PreToolUse[0].hooks", "found null"},
		"two equal keys":              {`{"hooks":{"PreToolUse":[]},"hooks":{}}`, "$.hooks", "stands here twice"},
		"two equal keys inside":       {`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"a","comm\u0061nd":"b"}]}]}}`, handler + ".command", "stands here twice"},
		"two equal keys elsewhere":    {`{"env":{"A":"1","A":"2"}}`, "$.env.A", "stands here twice"},
		"half a character":            {`{"hooks":{"PreToolUse":[{"matcher":"\ud800","hooks":[]}]}}`, "$", "surrogate"},
		"bytes that aren't UTF-8":     {"{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"\xff\",\"hooks\":[]}]}}", "$", "UTF-8"},
		"no JSON":                     {"{\n\n\"hooks\":\n}", "$", "the settings aren't JSON in line 4"},
		"two objects":                 {"{}{}", "$", "aren't JSON"},
		"comments":                    {"{} // none", "$", "aren't JSON"},
		"a list":                      {"[]", "$", "found an array; the settings are an object"},
		"nothing":                     {" \n", "$", "without any hooks they are {}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := command.Load(strings.NewReader(c.settings), shell())
			assert.Nil(t, config)
			bad, ok := errors.AsType[*command.LoadError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, c.place, bad.Place)
			assert.Contains(t, err.Error(), "command: "+c.place+": ")
			assert.Contains(t, err.Error(), c.problem)
		})
	}
}

func TestLoad_tellsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := command.Load(strings.NewReader(encode(object{"model": "x", "hooks": object{
		"PreToolUse": []object{group("Edit(", with(script("true"), "async", true))},
		"PreCompact": []object{group("", script("true"))},
	}})), shell())
	for _, place := range []string{"$.model", "$.hooks.PreCompact", "$.hooks.PreToolUse[0].matcher", "$.hooks.PreToolUse[0].hooks[0].async"} {
		assert.ErrorContains(t, err, place+": ")
	}
}

func TestLoad_takesWhatCanBeHonoured(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no hooks":                    `{}`,
		"no events":                   `{"hooks":{}}`,
		"no groups":                   `{"hooks":{"PreToolUse":[]}}`,
		"no handlers":                 `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[]}]}}`,
		"every event":                 encode(object{"hooks": object{"PreToolUse": []object{group("Bash", script("a"))}, "PostToolUse": []object{group("Edit|Write", script("a"))}, "PostToolUseFailure": []object{group(".*", script("a"))}, "UserPromptSubmit": []object{{"hooks": []object{script("a")}}}, "SessionStart": []object{group("", script("a"))}, "SessionEnd": []object{group("*", script("a"))}}}),
		"part of a second":            always("PreToolUse", with(script("a"), "timeout", 0.25)),
		"a timeout of ages":           always("PreToolUse", with(script("a"), "timeout", 1e300)),
		"a timeout that float64 lost": `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"a","timeout":1e999}]}]}}`,
		"an onFailure":                always("PreToolUse", with(script("a"), "onFailure", "block")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := load(t, text, shell())
			handle := config.Register(hooks.In(hookstest.Registry(t)))
			assert.Equal(t, config.Register(hooks.In(hookstest.Registry(t))).Remove(), handle.Remove())
		})
	}
}

func TestLoad_takesTheNameOfTheSchema(t *testing.T) {
	t.Parallel()
	_, err := command.Load(strings.NewReader(`{"$schema": "https://example.com/settings.json", "hooks": {}}`), shell())
	require.NoError(t, err)
}

func TestLoad_ignoresUnknownEventsAndFields(t *testing.T) {
	t.Parallel()
	var ignored []string
	tell := command.IgnoreUnknown(func(place string) { ignored = append(ignored, place) })
	text := `{"model":"x","hooks":{"PreCompact":"?","PreToolUse":[{"note":1,"hooks":[{"type":"command","command":"a","once":true}]}]}}`
	load(t, text, shell(), tell)
	assert.Equal(t, []string{"$.model", "$.hooks.PreCompact", "$.hooks.PreToolUse[0].note", "$.hooks.PreToolUse[0].hooks[0].once"}, ignored)
	load(t, text, shell(), command.IgnoreUnknown(nil))

	for name, text := range map[string]string{
		"async":          always("PreToolUse", with(script("a"), "async", true)),
		"if":             always("PreToolUse", with(script("a"), "if", "x")),
		"a type":         always("PreToolUse", object{"type": "http", "url": "x"}),
		"Stop":           always("Stop", script("a")),
		"two equal keys": `{"hooks":{"PreCompact":[{"a":1,"a":2}]}}`,
		"a timeout":      always("PreToolUse", with(script("a"), "timeout", 0)),
		"a matcher":      settings("UserPromptSubmit", group("Bash", script("a"))),
	} {
		_, err := command.Load(strings.NewReader(text), shell(), command.IgnoreUnknown(nil))
		assert.Error(t, err, name)
	}
}

func TestLoad_refusesOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opt            command.Option
		place, problem string
	}{
		"a nil option":             {nil, "option 1", "it is nil"},
		"a folder that isn't":      {command.Dir(t.TempDir() + "/missing"), "Dir", "name a folder that exists"},
		"a file as folder":         {command.Dir("load_test.go"), "Dir", "isn't a folder"},
		"no prompt":                {command.Prompt(""), "Prompt", "the key is empty"},
		"no shell":                 {command.Shell(), "Shell", "the program is empty"},
		"a shell that isn't there": {command.Shell("no-such-shell-here"), "Shell", "name the program"},
		"a shell with a NUL":       {command.Shell("go", "\x00"), "Shell", "NUL"},
		"an entry without =":       {command.Env([]string{"A=1", "secret"}), "Env", "entry 1 isn't of the form"},
		"an entry without a name":  {command.Env([]string{""}), "Env", "entry 0"},
		"an entry with a NUL":      {command.Env([]string{"A=\x00"}), "Env", "entry 0"},
		"a pattern as tool":        {command.ToolNames(map[string]string{"run_*": "Bash"}), "ToolNames", "is a pattern"},
		"a tool without a name":    {command.ToolNames(map[string]string{"_": "Bash"}), "ToolNames", "neither name may be empty"},
		"no name for a tool":       {command.ToolNames(map[string]string{"run": ""}), "ToolNames", "neither name may be empty"},
		"two names for one tool":   {command.ToolNames(map[string]string{"run_shell": "Bash", "runShell": "Sh"}), "ToolNames", "are spellings of one tool"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := command.Load(strings.NewReader("{}"), shell(), c.opt)
			bad, ok := errors.AsType[*command.LoadError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, c.place, bad.Place)
			assert.Contains(t, err.Error(), c.problem)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
	load(t, "{}", shell(), command.ToolNames(map[string]string{"run_shell": "Bash", "runShell": "Bash"}))
}

func TestLoad_refusesReaders(t *testing.T) {
	t.Parallel()
	_, err := command.Load(nil, shell())
	require.ErrorContains(t, err, "the reader is nil")
	broken := errors.New("the disk is gone")
	_, err = command.Load(iotest.ErrReader(broken), shell())
	require.ErrorIs(t, err, broken)
}

func TestLoad_needsAShellOnWindows(t *testing.T) {
	t.Parallel()
	_, err := command.Load(strings.NewReader("{}"))
	assert.Equal(t, runtime.GOOS == "windows", err != nil, "%v", err)
}

func TestRegister_isAllOrNothing(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	config := load(t, encode(object{"hooks": object{
		"PreToolUse": []object{group("", script("true"))}, "SessionEnd": []object{group("", script("true"))},
	}}), shell())
	assert.Panics(t, func() { config.Register(hooks.In(r), hooks.WithTools("bash")) })
	assert.Panics(t, func() { config.Register(hooks.In(r), hooks.WithFailClosed()) }, "a watch can't be")
	assert.Empty(t, r.Hooks(hooks.PreToolCall))
	handle := config.Register(hooks.In(r), hooks.WithName("scripts"))
	assert.True(t, handle.Remove())
	assert.False(t, handle.Remove())
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"hooks":{"PreToolUse":[{"matcher":"Bash|Edit","hooks":[{"type":"command","command":"x","timeout":1.5}]}]}}`,
		`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","onFailure":"block"}]}]}}`,
		`{"hooks":{"PostToolUse":[{"matcher":"^mcp__(a|b)","hooks":[]}]},"model":null}`,
		`{"hooks":{"a":1,"a":2}}`, `[[[[`, `{"hooks":{"SessionEnd":[{"matcher":"*"}]}}`, "\xff", `{"\ud800":1}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		config, err := command.Load(strings.NewReader(text), shell(), command.StopAborts(), command.IgnoreUnknown(nil))
		if err != nil {
			bad, ok := errors.AsType[*command.LoadError](err)
			require.True(t, ok, "%v", err)
			require.True(t, strings.HasPrefix(bad.Place, "$"), bad.Place)
			require.Nil(t, config)
			return
		}
		config.Register(hooks.In(hooks.NewRegistry())).Remove()
	})
}
