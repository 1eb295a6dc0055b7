package redact_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/redact"
)

func ExampleSet_Replace() {
	set := redact.MustCompile(slices.Concat(redact.Keys(), redact.Mail(), redact.Cards(), redact.CPF())...)
	mark := func(name, _ string) string { return "[" + name + "]" }

	fmt.Println(set.Replace(`{"api_key": "k-93\"1", "tokenizer": "fast", "next_page_token": "p2"}`, mark))
	fmt.Println(set.Replace("Authorization: Bearer abc.def-123", mark))
	fmt.Println(set.Replace("order 4111 1111 1111 1112, card 4111 1111 1111 1111, owner ana@example.com", mark))
	fmt.Println(set.Replace("CPF 529.982.247-25 is registered, 529.982.247-26 is not. Use api_keyboard=qwerty.", mark))
	// Output:
	// {"api_key": "[KEY]", "tokenizer": "fast", "next_page_token": "p2"}
	// Authorization: Bearer [KEY]
	// order 4111 1111 1111 1112, card [CARD], owner [EMAIL]
	// CPF [CPF] is registered, 529.982.247-26 is not. Use api_keyboard=qwerty.
}

// What is streamed is redacted before anybody is shown it; an answer that comes as a
// whole passes no filter, and so a hook redacts that. It is fail-closed, so that one
// that fails doesn't let the original out, and AfterShown, so that the stream needn't
// wait for it.
func ExampleStream() {
	secrets := redact.MustCompile(redact.Keys()...)
	mark := func(name, _ string) string { return "[" + name + "]" }
	r := hooks.NewRegistry()
	hooks.OnStream(hooks.ModelStream, redact.Stream[hooks.ModelCall](secrets, mark), hooks.In(r), hooks.WithFailClosed())
	hooks.On(hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		m.EditResponse(func(text string) string { return secrets.Replace(text, mark) })
		return nil
	}, hooks.In(r), hooks.WithFailClosed(), hooks.AfterShown())

	ctx := hooks.WithScope(context.Background(), r)
	m := &hooks.ModelCall{}
	err := hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
		out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(c hooks.Chunk) error {
			fmt.Printf("%q\n", c.Text)
			return nil
		})
		for _, piece := range []string{"It is pass", "word=hun", "ter2", " today", "."} {
			if err := out.Push(hooks.Chunk{Text: piece}); err != nil {
				return out.End(err)
			}
		}
		return out.End(nil)
	})
	fmt.Println(m.Response, err)

	err = hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
		m.Response = "It is password=hunter2 as a whole."
		return nil
	})
	fmt.Println(m.Response, err)
	// Output:
	// "It is "
	// "password=[KEY] today"
	// "."
	// It is password=[KEY] today. <nil>
	// It is password=[KEY] as a whole. <nil>
}

// A pattern may look at more than it replaces, and ask whether what it found is
// what it looks for.
func ExamplePattern() {
	set := redact.MustCompile(redact.Pattern{
		Name:  "ISBN",
		Expr:  `(?i)\bisbn:? ([0-9]{13})\b`,
		Group: 1,
		Check: func(isbn string) bool {
			sum := 0
			for i, digit := range isbn {
				sum += int(digit-'0') * (1 + 2*(i%2))
			}
			return sum%10 == 0
		},
	})
	mark := func(name, _ string) string { return "[" + name + "]" }
	fmt.Println(set.Replace("isbn: 9780134190440, ISBN 9780134190441, 9780134190440", mark))
	// Output:
	// isbn: [ISBN], ISBN 9780134190441, 9780134190440
}

// The text of a message may be in several parts, and so may a secret.
func ExampleSet_ReplaceParts() {
	set := redact.MustCompile(redact.Keys()...)
	parts := set.ReplaceParts([]string{"password: hun", "ter2", " is it"}, func(name, _ string) string { return "[" + name + "]" })
	fmt.Printf("%q\n", parts)
	// Output:
	// ["password: [KEY]" "" " is it"]
}

// Known values are found in the forms that a tool may show them in.
func ExampleLiterals() {
	set := redact.MustCompile(redact.Literals("PASSWORD", "tr0ub4dor&3")...)
	for _, text := range []string{
		"login ana tr0ub4dor&3",
		`{"query":"user=ana\u0026key=tr0ub4dor\u00263"}`,
		"https://example.com/?key=tr0ub4dor%263",
		"Authorization: Basic YW5hOnRyMHViNGRvciYz", // ana:tr0ub4dor&3
	} {
		fmt.Println(set.Replace(text, func(name, _ string) string { return "[" + name + "]" }))
	}
	// Output:
	// login ana [PASSWORD]
	// {"query":"user=ana\u0026key=[PASSWORD]"}
	// https://example.com/?key=[PASSWORD]
	// Authorization: Basic YW5hOn[PASSWORD]
}

// Results of tools, the messages for the model and its answers are redacted by
// the same function. The arguments of earlier calls are in the messages too; in
// an answer they are what the tool needs, and stay. The hooks are fail-closed:
// one that fails must not let the original out. Their priority makes them the
// last of their registry, after all that add something to the text.
func Example_hooks() {
	set := redact.MustCompile(slices.Concat(redact.Keys(), redact.Mail(), redact.Cards())...)
	clean := func(text string) string {
		return set.Replace(text, func(name, _ string) string { return "[" + name + "]" })
	}

	reg := hooks.NewRegistry()
	last := []hooks.Option{hooks.In(reg), hooks.WithName("redaction"), hooks.WithFailClosed(), hooks.WithPriority(-100)}
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.EditText(clean) // parts that aren't text stay, with the rest of them
		return nil
	}, last...)
	hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		m.EditText(clean) // of all messages; the loop keeps its own
		for i := range m.Messages {
			for j := range m.Messages[i].ToolCalls {
				request := &m.Messages[i].ToolCalls[j]
				if request.Arguments = clean(request.Arguments); !json.Valid([]byte(request.Arguments)) {
					request.Arguments = `{"all":"[REDACTED]"}` // a card number need not stand in quotes
				}
			}
		}
		return nil
	}, last...)
	hooks.On(hooks.PostModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		m.EditResponse(clean) // with its parts, such as reasoning
		return nil
	}, last...)

	ctx := hooks.WithScope(context.Background(), reg)
	call := &hooks.ToolCall{Name: "read_file"}
	err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = "DB_PASSWORD=hunter2\nOWNER=ana@example.com"
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	fmt.Println(strings.ReplaceAll(call.Result, "\n", " "))

	m := &hooks.ModelCall{Messages: []hooks.Message{
		{Role: "user", Content: "I am ana@example.com."},
		{Role: "assistant", ToolCalls: []hooks.ToolRequest{
			{ID: "1", Name: "log_in", Arguments: `{"password":"hunter2"}`},
			{ID: "2", Name: "pay", Arguments: `{"card":4111111111111111}`},
		}},
	}}
	err = hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
		fmt.Println(m.Messages[0].Content, m.Messages[1].ToolCalls[0].Arguments, m.Messages[1].ToolCalls[1].Arguments)
		m.Response = "The password=hunter2 works."
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	fmt.Println(m.Response)
	// Output:
	// DB_PASSWORD=[KEY] OWNER=[EMAIL]
	// I am [EMAIL]. {"password":"[KEY]"} {"all":"[REDACTED]"}
	// The password=[KEY] works.
}
