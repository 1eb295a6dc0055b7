package hooksopenai_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksopenai"
)

type union = openai.ChatCompletionMessageParamUnion

// wire is n as it is sent.
func wire(t *testing.T, n union) string {
	t.Helper()
	raw, err := json.Marshal(n)
	require.NoError(t, err)
	return string(raw)
}

// edited is what is sent of n when a hook has changed all its text to upper case.
func edited(t *testing.T, n union) (string, error) {
	t.Helper()
	m := hooksopenai.Message(n)
	m.EditText(strings.ToUpper)
	out, err := hooksopenai.Native(&m)
	if err != nil {
		return "", err
	}
	return wire(t, out), nil
}

func assistantWith(calls ...openai.ChatCompletionMessageToolCallUnionParam) union {
	return union{OfAssistant: &openai.ChatCompletionAssistantMessageParam{ToolCalls: calls}}
}

func function(id, name, arguments string) openai.ChatCompletionMessageToolCallUnionParam {
	return openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
		ID: id, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: name, Arguments: arguments},
	}}
}

func custom(id, name, input string) openai.ChatCompletionMessageToolCallUnionParam {
	return openai.ChatCompletionMessageToolCallUnionParam{OfCustom: &openai.ChatCompletionMessageCustomToolCallParam{
		ID: id, Custom: openai.ChatCompletionMessageCustomToolCallCustomParam{Name: name, Input: input},
	}}
}

// The constants of the SDK are filled in when a message is written, so that GetRole of
// one that its constructors have made is empty.
func TestMessage_roles(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]union{
		"system": openai.SystemMessage("x"), "user": openai.UserMessage("x"), "assistant": openai.AssistantMessage("x"),
		"tool": openai.ToolMessage("x", "c1"),
	} {
		assert.Empty(t, *n.GetRole())
		m := hooksopenai.Message(n)
		assert.Equal(t, want, m.Role)
		assert.Equal(t, "x", m.Content)
		assert.False(t, m.Edited())
	}
	assert.Equal(t, "system", hooksopenai.Message(openai.DeveloperMessage("x")).Role)
	m := hooksopenai.Message(openai.ChatCompletionMessageParamOfFunction("x", "alpha"))
	assert.Equal(t, [2]string{"tool", "alpha"}, [2]string{m.Role, m.Name})
	assert.Equal(t, "c1", hooksopenai.Message(openai.ToolMessage("x", "c1")).ToolCallID)
}

func TestMessage_isRebuiltWhenEdited(t *testing.T) {
	t.Parallel()
	image := openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "https://x/y.png"})
	named := openai.UserMessage("x")
	named.OfUser.Name = openai.String("ann")
	refusal := union{OfAssistant: &openai.ChatCompletionAssistantMessageParam{Refusal: openai.String("no")}}
	refusalPart := openai.AssistantMessage([]openai.ChatCompletionAssistantMessageParamContentArrayOfContentPartUnion{
		{OfText: &openai.ChatCompletionContentPartTextParam{Text: "a"}},
		{OfRefusal: &openai.ChatCompletionContentPartRefusalParam{Refusal: "b"}},
	})
	audio := openai.AssistantMessage("x")
	audio.OfAssistant.Audio.ID = "a1"
	extra := openai.AssistantMessage("x")
	extra.OfAssistant.SetExtraFields(map[string]any{"reasoning_content": "secret"})
	for name, tc := range map[string]struct {
		n    union
		text string
		want string
	}{
		"system":       {openai.SystemMessage("x"), "x", `{"content":"X","role":"system"}`},
		"developer":    {openai.DeveloperMessage("x"), "x", `{"content":"X","role":"developer"}`},
		"named user":   {named, "x", `{"content":"X","name":"ann","role":"user"}`},
		"tool":         {openai.ToolMessage("x", "c1"), "x", `{"content":"X","tool_call_id":"c1","role":"tool"}`},
		"function":     {openai.ChatCompletionMessageParamOfFunction("x", "f"), "x", `{"content":"X","name":"f","role":"function"}`},
		"text parts":   {openai.ToolMessage([]openai.ChatCompletionContentPartTextParam{{Text: "a"}, {Text: "b"}}, "c1"), "ab", `{"content":[{"text":"A","type":"text"},{"text":"B","type":"text"}],"tool_call_id":"c1","role":"tool"}`},
		"image":        {openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{openai.TextContentPart("a"), image}), "a", `{"content":[{"text":"A","type":"text"},{"image_url":{"url":"https://x/y.png"},"type":"image_url"}],"role":"user"}`},
		"refusal":      {refusal, "no", `{"content":"NO","role":"assistant"}`},
		"refusal part": {refusalPart, "ab", `{"content":[{"text":"A","type":"text"},{"refusal":"B","type":"refusal"}],"role":"assistant"}`},
		"audio":        {audio, "x", `{"audio":{"id":"a1"},"content":"X","role":"assistant"}`},
		"extra field":  {extra, "xsecret", `{"content":"X","role":"assistant"}`},
		"raw": {
			param.Override[union](json.RawMessage(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}}]}`)),
			"a", `{"content":[{"text":"A","type":"text"},{"type":"image_url","image_url":{"url":"u"}}],"role":"user"}`,
		},
		"empty result": {openai.ToolMessage("", "c1"), "", `{"content":"","tool_call_id":"c1","role":"tool"}`},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			m := hooksopenai.Message(tc.n)
			assert.Equal(t, tc.text, m.Text(), "what hooks see is all text that is sent")
			same, err := hooksopenai.Native(&m)
			require.NoError(t, err)
			assert.Equal(t, wire(t, tc.n), wire(t, same), "an unedited message is sent as it is")
			got, err := edited(t, tc.n)
			require.NoError(t, err)
			assert.JSONEq(t, tc.want, got)
		})
	}
}

func TestMessage_toolCalls(t *testing.T) {
	t.Parallel()
	n := assistantWith(function("c1", "alpha", `{"a":1}`), custom("c2", "shell", `rm "x" <y>`))
	m := hooksopenai.Message(n)
	assert.Equal(t, []hooks.ToolRequest{
		{ID: "c1", Name: "alpha", Arguments: `{"a":1}`}, {ID: "c2", Name: "shell", Arguments: `{"input":"rm \"x\" <y>"}`},
	}, m.ToolCalls)

	m.Content, m.ToolCalls[1].Arguments = "hm", `{"input":"ls"}`
	out, err := hooksopenai.Native(&m)
	require.NoError(t, err)
	assert.JSONEq(t, `{"role":"assistant","content":"hm","tool_calls":[
		{"id":"c1","type":"function","function":{"name":"alpha","arguments":"{\"a\":1}"}},
		{"id":"c2","type":"custom","custom":{"name":"shell","input":"ls"}}]}`, wire(t, out))

	m.ToolCalls[1].Arguments = `{"input":"ls","more":1}` // no longer one text
	out, err = hooksopenai.Native(&m)
	require.NoError(t, err)
	assert.Contains(t, wire(t, out), `{\"input\":\"ls\",\"more\":1}`, "no argument is lost")
	assert.NotContains(t, wire(t, out), "custom")
}

// What can't be read is shown to hooks as it is, and never sent.
func TestMessage_unknown(t *testing.T) {
	t.Parallel()
	two := openai.UserMessage("x")
	two.OfSystem = &openai.ChatCompletionSystemMessageParam{}
	raw := func(s string) union { return param.Override[union](json.RawMessage(s)) }
	for name, n := range map[string]union{
		"zero": {}, "two variants": two,
		"role":             raw(`{"role":"owner","content":"secret"}`),
		"no object":        raw(`"secret"`),
		"content":          raw(`{"role":"user","content":{"secret":1}}`),
		"kind of call":     raw(`{"role":"assistant","tool_calls":[{"id":"1","type":"mcp","secret":{}}]}`),
		"key twice":        raw(`{"role":"user","content":"secret","content":"x"}`),
		"key in two cases": raw(`{"role":"user","content":"x","Content":"secret"}`),
	} {
		m := hooksopenai.Message(n)
		assert.True(t, m.Edited(), name)
		if len(m.Parts) == 1 && name != "zero" && name != "two variants" {
			assert.Contains(t, m.Text(), "secret", name)
		}
		_, err := hooksopenai.Native(&m)
		assert.Error(t, err, name)
	}
}

func TestMessage_partWithUnknownText(t *testing.T) {
	t.Parallel()
	n := param.Override[union](json.RawMessage(`{"role":"user","content":[{"type":"text","text":"a","caption":"secret"}]}`))
	m := hooksopenai.Message(n)
	assert.Contains(t, m.Text(), "secret")
	out, err := hooksopenai.Native(&m)
	require.NoError(t, err)
	assert.Equal(t, wire(t, n), wire(t, out))
	_, err = edited(t, n)
	assert.ErrorContains(t, err, "can't be rebuilt")
}

func TestNative_messagesOfHooks(t *testing.T) {
	t.Parallel()
	image := openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "u"})
	for want, m := range map[string]hooks.Message{
		`{"role":"system","content":"x"}`:                  {Role: "system", Content: "x"},
		`{"role":"user","content":""}`:                     {Role: "user"},
		`{"role":"assistant","content":"x"}`:               {Role: "assistant", Content: "x", Parts: []hooks.Part{{Kind: "reasoning", Text: "hm"}}},
		`{"role":"tool","tool_call_id":"1","content":"x"}`: {Role: "tool", ToolCallID: "1", Content: "x"},
		`{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"u"}}]}`: {
			Role: "user", Content: "x", Parts: []hooks.Part{hooks.NewPart(image, hooks.Part{Kind: "image"})},
		},
		`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{}"}}]}`: {
			Role: "assistant", ToolCalls: []hooks.ToolRequest{{ID: "1", Name: "a", Arguments: "{}"}},
		},
	} {
		n, err := hooksopenai.Native(&m)
		require.NoError(t, err)
		assert.JSONEq(t, want, wire(t, n))
	}
}

func TestNative_refusesWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	image := openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "u"})
	changed := hooks.NewPart(image, hooks.Part{Kind: "image"})
	changed.Text = "caption"
	for want, m := range map[string]*hooks.Message{
		"is nil":                    nil,
		`the role ""`:               {Content: "x"},
		`the role "human"`:          {Role: "human", Content: "x"},
		"no ToolCallID":             {Role: "tool", Content: "x"},
		"which only the assistant":  {Role: "user", ToolCalls: []hooks.ToolRequest{{ID: "1"}}},
		`role "tool" has a part of`: {Role: "tool", ToolCallID: "1", Parts: []hooks.Part{hooks.NewPart(image, hooks.Part{Kind: "image"})}},
		`role "user" has a part of`: {Role: "user", Parts: []hooks.Part{{Kind: "image", Text: "u"}}},
		"was edited":                {Role: "user", Parts: []hooks.Part{changed}},
	} {
		_, err := hooksopenai.Native(m)
		assert.ErrorContains(t, err, want)
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	calls := hooksopenai.Calls(hooksopenai.Message(assistantWith(function("c1", "alpha", ` `), custom("c2", "shell", "ls"), function("c3", "beta", `{no`))))
	require.Len(t, calls, 3)
	assert.Equal(t, map[string]any{}, calls[0].Input)
	assert.Equal(t, map[string]any{"input": "ls"}, calls[1].Input)
	assert.Error(t, calls[2].ArgumentsError())
	assert.Equal(t, "c3", calls[2].ID)
	assert.Empty(t, hooksopenai.Calls(hooks.Message{}))
	assert.NoError(t, errors.Join(calls[0].ArgumentsError(), calls[1].ArgumentsError()))
}
