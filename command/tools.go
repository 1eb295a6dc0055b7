package command

// The scripts of tool calls.

import (
	"context"
	"fmt"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/internal/arguments"
)

// editPriority is in front of what puts secrets back into arguments, and behind what
// else edits them.
const editPriority = -500

// remembered is what PreToolUse scripts said about a call, or others about a prompt.
type remembered struct {
	ruling
	name  string // of the tool
	about string // its arguments, or the prompt
}

func (r *registered) preToolUse() {
	r.add(hooks.On(hooks.PreToolCall, r.editTool, r.with(preToolUse, editPriority)...))
	r.add(hooks.Guard(hooks.PreToolCall, r.guardTool, r.with(preToolUse, 0)...))
	r.add(hooks.On(hooks.PostToolCall, r.addToResult, r.with(preToolUse, 0)...))
}

// editTool asks the scripts, edits as they say and leaves their verdict to the guard.
func (r *registered) editTool(ctx context.Context, t *hooks.ToolCall) error {
	scripts := r.matching(preToolUse, t.Name)
	if len(scripts) == 0 || t.ArgumentsError() != nil {
		return nil
	}
	said, err := r.askTool(ctx, t, scripts, func(a *answer) { t.Input = a.updated })
	if err != nil {
		return err
	}
	if err := r.remember(t, said); err != nil {
		return err
	}
	return said.failure()
}

// guardTool puts the verdict into effect.
func (r *registered) guardTool(ctx context.Context, t *hooks.ToolCall) error {
	scripts := r.matching(preToolUse, t.Name)
	if len(scripts) == 0 || t.ArgumentsError() != nil {
		return nil
	}
	said, err := r.verdict(ctx, t, scripts)
	switch {
	case err != nil:
		return err
	case said.verdict == asks:
		q := hooks.Question{}
		if said.reason != "" {
			q.Details = map[string]string{"reason": said.reason}
		}
		return t.Ask(ctx, q)
	}
	return said.abort()
}

// verdict returns what the scripts said about the call as it is now.
func (r *registered) verdict(ctx context.Context, t *hooks.ToolCall, scripts []*handler) (ruling, error) {
	args, err := shownArguments(t)
	if err != nil {
		return ruling{}, err
	}
	if v, ok := t.Get(memory{r, preToolUse}); ok {
		if kept := v.(remembered); kept.name == t.Name && kept.about == args {
			return kept.ruling, nil
		}
	}
	edited := false
	said, err := r.askTool(ctx, t, scripts, func(*answer) { edited = true })
	if err != nil {
		return ruling{}, err
	}
	if edited {
		said.take(denies, "a hook script would change the arguments once more, when it is too late for that; call the tool with other arguments")
	}
	said.logFailures(ctx)
	return said, r.remember(t, said)
}

// askTool asks the scripts about a call. Where one changes the arguments, edit is
// told.
func (r *registered) askTool(ctx context.Context, t *hooks.ToolCall, scripts []*handler, edit func(*answer)) (ruling, error) {
	var args string
	var added []string
	said, err := r.ask(ctx, scripts, func() (in input, err error) {
		if args, err = shownArguments(t); err != nil {
			return in, err
		}
		return r.toolInput(preToolUse, t, args), nil
	}, func(a *answer) error {
		if a.added != "" {
			added = append(added, a.added)
		}
		if a.updated == nil {
			return nil
		}
		if now, err := arguments.Format(a.updated); err != nil || now != args {
			edit(a)
		}
		return nil
	})
	said.added = added
	return said, err
}

func (r *registered) remember(t *hooks.ToolCall, said ruling) error {
	args, err := shownArguments(t)
	if err == nil {
		t.Put(memory{r, preToolUse}, remembered{said, t.Name, args})
	}
	return err
}

// shownArguments returns the arguments as scripts read them: the one text of all that
// mean the same, so that Go values and what a script makes of them can be compared.
func shownArguments(t *hooks.ToolCall) (string, error) {
	args, err := t.Arguments()
	if err == nil {
		var input map[string]any
		if input, err = arguments.Parse(args); err == nil {
			args, err = arguments.Format(input)
		}
	}
	if err != nil {
		return "", fmt.Errorf("command: the arguments can't be shown to a script: %w", err)
	}
	return args, nil
}

// addToResult adds what PreToolUse scripts wanted the model to know.
func (r *registered) addToResult(_ context.Context, t *hooks.ToolCall) error {
	if v, ok := t.Get(memory{r, preToolUse}); ok && t.Blocked == nil {
		addText(t, strings.Join(v.(remembered).added, "\n\n"))
	}
	return nil
}

func (r *registered) postToolUse(event string) {
	r.add(hooks.On(hooks.PostToolCall, func(ctx context.Context, t *hooks.ToolCall) error {
		if !t.Ran() || (t.Err != nil) != (event == postToolUseFailure) || t.Suspended() != nil {
			return nil
		}
		return r.afterTool(ctx, t, event)
	}, r.with(event, 0)...))
}

// afterTool asks the scripts about a call that has ended. What they refuse or want to
// be known is added to the result.
func (r *registered) afterTool(ctx context.Context, t *hooks.ToolCall, event string) error {
	scripts := r.matching(event, t.Name)
	if len(scripts) == 0 {
		return nil
	}
	said, err := r.ask(ctx, scripts, func() (input, error) {
		args, err := shownArguments(t)
		return r.toolInput(event, t, args), err
	}, func(a *answer) error {
		if a.verdict == denies {
			addText(t, a.reason)
		}
		addText(t, a.added)
		return nil
	})
	switch {
	case err != nil:
		return err
	case said.verdict == stops:
		return said.abort()
	case said.failed:
		addText(t, failedReason)
	}
	return said.failure()
}

// addText adds text to the result that the model reads.
func addText(t *hooks.ToolCall, text string) {
	switch {
	case text == "":
	case t.Result == "" && len(t.Parts) > 0:
		t.Parts = append(t.Parts, hooks.Part{Kind: "text", Text: text})
	default:
		t.Result = joined(t.Result, text)
	}
}
