//lint:file-ignore SA1019 The deprecated functions are what is migrated from.

//nolint:staticcheck // The deprecated functions are what is migrated from.
package recipes_test

// From the older dialects to On: each example does the same in both.

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/loophooks/hooks"
)

// migratedTool runs one call of a tool that returns text, under the hooks of r.
func migratedTool(r *hooks.Registry, call *hooks.ToolCall, text string) {
	ctx := hooks.WithScope(context.Background(), r)
	err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = text
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	fmt.Println(call.Result)
}

// migratedModel runs one model call that answers text, under the hooks of r.
func migratedModel(r *hooks.Registry, call *hooks.ModelCall, text string) {
	ctx := hooks.WithScope(context.Background(), r)
	err := hooks.RunModel(ctx, call, func(_ context.Context, call *hooks.ModelCall) error {
		call.Response = text
		return nil
	})
	if err != nil {
		fmt.Println("blocked:", err)
		return
	}
	fmt.Println(call.Response)
}

// A before hook blocks by returning false; a guard says why, and what to do
// instead. A filter replaces the condition on the tool's name.
func Example_migrateBeforeToolCall() {
	before, now := hooks.NewRegistry(), hooks.NewRegistry()

	hooks.RegisterBeforeToolCallHook(func(_ context.Context, call *hooks.ToolCall) bool {
		return call.Name != "delete_file" && call.Name != "drop_table"
	}, hooks.In(before))

	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return hooks.Abort("nothing is destroyed here; archive it instead")
	}, hooks.WithTools("delete_file", "drop_table"), hooks.In(now))

	migratedTool(before, &hooks.ToolCall{Name: "drop_table"}, "dropped")
	migratedTool(now, &hooks.ToolCall{Name: "drop_table"}, "dropped")
	migratedTool(now, &hooks.ToolCall{Name: "read_file"}, "hello")
	// Output:
	// Tool execution blocked by hook. Tool: drop_table
	// Tool execution blocked by hook. Tool: drop_table. Reason: nothing is destroyed here; archive it instead
	// hello
}

// An after hook returns the new text; an On hook assigns it, or edits it where
// it stands, in the parts of a result too. It sees the text of a tool that
// failed, which the after hook doesn't.
func Example_migrateAfterToolCall() {
	before, now := hooks.NewRegistry(), hooks.NewRegistry()
	password := regexp.MustCompile(`(password=)\S+`)
	redact := func(s string) string { return password.ReplaceAllString(s, "$1***") }

	hooks.RegisterAfterToolCallHook(func(_ context.Context, call *hooks.ToolCall) (string, bool) {
		return redact(call.Result), true
	}, hooks.In(before))

	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.EditText(redact)
		return nil
	}, hooks.WithFailClosed(), hooks.In(now))

	for _, r := range []*hooks.Registry{before, now} {
		migratedTool(r, &hooks.ToolCall{Name: "read_config"}, "user=ann password=hunter2")
	}
	for _, r := range []*hooks.Registry{before, now} {
		call := &hooks.ToolCall{Name: "connect"}
		_ = hooks.RunTool(hooks.WithScope(context.Background(), r), call, func(context.Context, *hooks.ToolCall) error {
			return errors.New("no route with password=dummy")
		})
		fmt.Println(call.Result)
	}
	// Output:
	// user=ann password=***
	// user=ann password=***
	// no route with password=dummy
	// no route with password=***
}

// A limit that says its number, and not only that there is one.
func Example_migrateBeforeLLMCall() {
	before, now := hooks.NewRegistry(), hooks.NewRegistry()

	hooks.RegisterBeforeLLMCallHook(func(_ context.Context, call *hooks.ModelCall) bool {
		return call.Iterations < 10
	}, hooks.In(before), hooks.WithName("limit"))

	hooks.Guard(hooks.PreModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		if call.Iterations >= 10 {
			return hooks.Abort(fmt.Sprintf("%d model calls are enough", call.Iterations))
		}
		return nil
	}, hooks.In(now), hooks.WithName("limit"))

	for _, r := range []*hooks.Registry{before, now} {
		migratedModel(r, &hooks.ModelCall{Iterations: 9}, "hello")
		migratedModel(r, &hooks.ModelCall{Iterations: 10}, "hello")
	}
	// Output:
	// hello
	// blocked: hooks: pre_model_call aborted by limit: before_llm_call hook returned false
	// hello
	// blocked: hooks: pre_model_call aborted by limit: 10 model calls are enough
}

// The tool calls that a model asks for are left alone by both.
func Example_migrateAfterLLMCall() {
	before, now := hooks.NewRegistry(), hooks.NewRegistry()

	hooks.RegisterAfterLLMCallHook(func(_ context.Context, call *hooks.ModelCall) (string, bool) {
		if !strings.Contains(call.Response, "ACME") {
			return "", false
		}
		return strings.ReplaceAll(call.Response, "ACME", "the customer"), true
	}, hooks.In(before))

	hooks.On(hooks.PostModelCall, func(_ context.Context, call *hooks.ModelCall) error {
		call.EditResponse(func(s string) string { return strings.ReplaceAll(s, "ACME", "the customer") })
		return nil
	}, hooks.In(now))

	for _, r := range []*hooks.Registry{before, now} {
		migratedModel(r, new(hooks.ModelCall), "ACME has paid.")
	}
	// Output:
	// the customer has paid.
	// the customer has paid.
}

// Either API manages what the other registered, so that a program can move
// hook by hook.
func Example_migrateHookByHook() {
	defer hooks.ClearAll()
	allow := func(context.Context, *hooks.ToolCall) bool { return true }
	pass := func(context.Context, *hooks.ToolCall) error { return nil }

	old := hooks.RegisterBeforeToolCallHook(allow, hooks.WithName("old"))
	hooks.On(hooks.PreToolCall, pass, hooks.WithName("new"))
	hooks.On(hooks.PostToolCall, pass, hooks.WithName("audit"))

	for _, reg := range hooks.Hooks(hooks.PreToolCall) { // was BeforeToolCallHooks
		fmt.Println(reg.Name())
	}
	fmt.Println(old.Remove()) // was UnregisterBeforeToolCallHook(old)
	fmt.Println(hooks.ClearAllToolCallHooks())
	// Output:
	// old
	// new
	// true
	// 1 1
}

// The booking policy of a travel agent as one object: no first class without a
// manager, and no identity number for the model.
func Example_migrateLoopHooks() {
	r := hooks.NewRegistry()
	instead := "First class needs a manager's approval. Book tourist class instead."
	identity := regexp.MustCompile(`DNI [\d.]*\d`)

	booking := hooks.LoopHooks{
		BeforeToolExecution: func(_ context.Context, name string, input map[string]any) (hooks.Gate, error) {
			if name == "book_ticket" && input["class"] != "tourist" {
				return hooks.Gate{Result: &instead}, nil
			}
			return hooks.Gate{Authorize: true}, nil
		},
		AfterToolExecution: func(_ context.Context, _, output string) (string, error) {
			return identity.ReplaceAllString(output, "DNI ***"), nil
		},
	}.Register(hooks.In(r))

	for _, class := range []string{"first", "tourist"} {
		call := &hooks.ToolCall{Name: "book_ticket", Input: map[string]any{"class": class}}
		migratedTool(r, call, "Booked seat 12 for DNI 30.123.456.")
		fmt.Println("error:", call.IsError())
	}
	fmt.Println("removed:", booking.Remove())
	// Output:
	// First class needs a manager's approval. Book tourist class instead.
	// error: true
	// Booked seat 12 for DNI ***.
	// error: false
	// removed: true
}

// The same policy as a guard, for the tool that it concerns and with a refusal
// that is an ordinary error, and a hook that edits. A guard that returns the
// error of StringArg isn't passed by arguments of another form.
func Example_migrateLoopHooksToOn() {
	r := hooks.NewRegistry()
	identity := regexp.MustCompile(`DNI [\d.]*\d`)

	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		class, err := call.StringArg("class")
		if err != nil {
			return err
		}
		if class != "tourist" {
			return &hooks.HookAborted{
				Reason:  "first class without approval",
				Message: "First class needs a manager's approval. Book tourist class instead.",
			}
		}
		return nil
	}, hooks.WithTools("book_ticket"), hooks.In(r))

	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.EditText(func(s string) string { return identity.ReplaceAllString(s, "DNI ***") })
		return nil
	}, hooks.WithFailClosed(), hooks.In(r))

	for _, class := range []string{"first", "tourist"} {
		call := &hooks.ToolCall{Name: "book_ticket", Input: map[string]any{"class": class}}
		migratedTool(r, call, "Booked seat 12 for DNI 30.123.456.")
	}
	// Output:
	// First class needs a manager's approval. Book tourist class instead.
	// Booked seat 12 for DNI ***.
}
