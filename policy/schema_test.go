package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
)

// schemaCall puts a call with the arguments through a policy with the one schema.
func schemaCall(t *testing.T, schema, arguments string) *passed {
	t.Helper()
	r := hookstest.Registry(t)
	policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(schema)}}.Register(hooks.In(r))
	call := &hooks.ToolCall{Name: "pay"}
	require.NoError(t, call.SetArguments(arguments), arguments)
	return passCall(t, r, call)
}

func TestSchema_tellsFaults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 63) + "é" // 65 bytes
	for _, c := range []struct{ schema, arguments, want string }{
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":1}`, ""},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":1.0}`, ""},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":1.5}`, "/n: type, want integer"},
		{`{"properties":{"n":{"type":["string","null"]}}}`, `{"n":1}`, "/n: type, want null or string"},
		{`{"properties":{"to":{"items":{"type":"string"}}}}`, `{"to":[1,"x",2]}`, "/to/0: type, want string; /to/2: type, want string"},
		{`{"required":["amount"]}`, `{}`, `missing "amount"`},
		{`{"required":["b","a"]}`, ``, `missing "a"; missing "b"`},
		{`{"properties":{"to":{"required":["x"]}}}`, `{"to":{}}`, `/to: missing "x"`},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"zz":1,"y":2}`, `unknown "y"; unknown "zz"`},
		{`{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"zz":1}`, `unknown "zz"`},
		{`{"properties":{"a":{"unevaluatedProperties":false}}}`, `{"a":{"zz":1}}`, `/a: unknown "zz"`},
		{`{"properties":{"a":false}}`, `{"a":1}`, `/a: not allowed`},
		{`false`, `{}`, `not allowed`},
		{`true`, `{"a":1}`, ``},
		{`{"type":"array"}`, `{}`, `type, want array`},
		{`{"properties":{"a":{"enum":["x","y"]}}}`, `{"a":"z"}`, `/a: enum`},
		{`{"properties":{"a":{"const":"x"}}}`, `{"a":"z"}`, `/a: const`},
		{`{"properties":{"a":{"pattern":"^x"}}}`, `{"a":"z"}`, `/a: pattern`},
		{`{"properties":{"a":{"format":"email"}}}`, `{"a":"z"}`, `/a: format`},
		{`{"properties":{"a":{"format":"unheard-of"}}}`, `{"a":"z"}`, ``},
		{`{"properties":{"a":{"minLength":2,"maxLength":3}}}`, `{"a":"z"}`, `/a: minLength`},
		{`{"properties":{"a":{"minLength":2,"maxLength":3}}}`, `{"a":"날씨"}`, ``},
		{`{"properties":{"a":{"minLength":2,"maxLength":3}}}`, `{"a":"날"}`, `/a: minLength`},
		{`{"properties":{"a":{"pattern":"\\S"}}}`, `{"a":"     "}`, `/a: pattern`},
		{`{"properties":{"a":{"maximum":1}}}`, `{"a":2}`, `/a: maximum`},
		{`{"properties":{"a":{"multipleOf":0.01}}}`, `{"a":0.07}`, ``},
		{`{"properties":{"a":{"multipleOf":0.01}}}`, `{"a":0.075}`, `/a: multipleOf`},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,1]}`, `/a: uniqueItems`},
		{`{"properties":{"a":{"contains":{"const":1}}}}`, `{"a":[2]}`, `/a: contains`},
		{`{"not":{"required":["a"]}}`, `{"a":1}`, `not`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `missing "b"`},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `propertyNames "ab"`},
		{`{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`, `{"a":1}`, `/a: type, want string`},
		{`{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, `missing "a"; missing "b"`},
		{`{"allOf":[{"required":["a"]},{"required":["a"]}]}`, `{}`, `missing "a"`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, `missing "b"`},

		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, `/a: type, want null or string`},
		{`{"properties":{"a":{"anyOf":[{"type":"object","required":["x"]},{"type":"null"}]}}}`, `{"a":{}}`, `/a: missing "x"`},
		{`{"properties":{"a":{"anyOf":[{"required":["x"]},{"required":["y"]}]}}}`, `{"a":{}}`, `/a: anyOf`},
		{`{"properties":{"a":{"oneOf":[{"type":"number"},{"type":"integer"}]}}}`, `{"a":1}`, `/a: oneOf`},
		{`{"properties":{"a":{"oneOf":[{"type":"number"},{"type":"string"}]}}}`, `{"a":null}`, `/a: type, want number or string`},

		{`{"required":["a","b","c","d","e","f"]}`, `{}`, `missing "a"; missing "b"; missing "c"; missing "d"; missing "e"`},
		{`{"additionalProperties":{"type":"string"}}`, `{"a/b~c":1}`, `/a~1b~0c: type, want string`},
		{`{"additionalProperties":{"type":"string"}}`, `{"a\n\"b":1}`, `/a\n\"b: type, want string`},
		{`{"additionalProperties":false}`, `{"a\n\"b":1}`, `unknown "a\n\"b"`},
		{`{"additionalProperties":false}`, `{"` + long + `":1}`, `unknown "` + long[:63] + `"`},
		{`{"additionalProperties":{"type":"string"}}`, `{"` + long + `":1}`, `/` + long[:63] + `: type, want string`},
	} {
		call := schemaCall(t, c.schema, c.arguments)
		if c.want == "" {
			call.ran(t, c.schema)
			continue
		}
		call.refused(t, "policy.Schema", c.want, c.schema)
	}
}

func TestSchema_drafts(t *testing.T) {
	t.Parallel()
	seven := `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}},
		"definitions":{"n":{"type":"number"}},"dependencies":{"a":["b"]}}`
	schemaCall(t, seven, `{"a":["x"],"b":1}`).ran(t)
	schemaCall(t, seven, `{"a":["x","y"]}`).refused(t, "policy.Schema", `missing "b"; /a: additionalItems`)
	latest := `{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"a":{"prefixItems":[{"type":"string"}],"items":false}}}`
	schemaCall(t, latest, `{"a":["x"]}`).ran(t)
	schemaCall(t, latest, `{"a":["x","y"]}`).refused(t, "policy.Schema", `/a/1: not allowed`)
	schemaCall(t, strings.Replace(latest, `"$schema":"https://json-schema.org/draft/2020-12/schema",`, "", 1), `{"a":["x","y"]}`).
		refused(t, "policy.Schema", `/a/1: not allowed`, "2020-12 without $schema")
	for _, draft := range []string{"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "https://json-schema.org/draft/2019-09/schema"} {
		schemaCall(t, `{"$schema":"`+draft+`","properties":{"a":{"format":"ipv4"}}}`, `{"a":"x"}`).refused(t, "policy.Schema", `/a: format`, draft)
	}
}

func TestSchema_losesNoDigit(t *testing.T) {
	t.Parallel()
	const most = `{"properties":{"n":{"maximum":9007199254740992}}}`
	schemaCall(t, most, `{"n":9007199254740992}`).ran(t)
	schemaCall(t, most, `{"n":9007199254740993}`).refused(t, "policy.Schema", "/n: maximum")
	schemaCall(t, `{"properties":{"n":{"const":0.1}}}`, `{"n":0.1}`).ran(t)
	schemaCall(t, `{"properties":{"n":{"const":0.1}}}`, `{"n":0.1000000000000000055}`).refused(t, "policy.Schema", "/n: const")

	r := hookstest.Registry(t)
	policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(most)}}.Register(hooks.In(r))
	passCall(t, r, &hooks.ToolCall{Name: "pay", Input: map[string]any{"n": int64(9007199254740993)}}).refused(t, "policy.Schema", "/n: maximum")
}

func TestSchema_refusesNumbersThatTakeSeconds(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for _, n := range []string{"1e1001", "1e-1001", "1e999999", "1e-999999", "1e2000000", "1e99999999999999999999", strings.Repeat("9", 1001)} {
		schemaCall(t, `{"properties":{"n":{"multipleOf":3}}}`, `{"n":[`+n+`]}`).refused(t, "policy.Schema", "/n/0: number too large", n[:5])
	}
	assert.Less(t, time.Since(began), 10*time.Second)
	schemaCall(t, `{}`, `{"n":{"a":[1e2000,1,1e2000],"b":{"c":1e2000}}}`).
		refused(t, "policy.Schema", "/n/a/0: number too large; /n/a/2: number too large; /n/b/c: number too large")
	schemaCall(t, `{"properties":{"n":{"maximum":3}}}`, `{"n":1e400}`).refused(t, "policy.Schema", "/n: maximum")
	schemaCall(t, `{"properties":{"n":{"minimum":3}}}`, `{"n":1e400}`).ran(t)
}

func TestSchema_judgesGoValues(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(`{"properties":{"to":{"type":"array","items":{"maxLength":1}}}}`)}}.Register(hooks.In(r))
	passCall(t, r, &hooks.ToolCall{Name: "pay", Input: map[string]any{"to": []string{"a"}}}).ran(t)
	passCall(t, r, &hooks.ToolCall{Name: "pay", Input: map[string]any{"to": []string{"a", "bb"}}}).refused(t, "policy.Schema", "/to/1: maxLength")
	passCall(t, r, &hooks.ToolCall{Name: "pay"}).ran(t)

	for _, bad := range []any{math.NaN(), func() {}, "\xff", make(chan int)} {
		call := passCall(t, r, &hooks.ToolCall{Name: "pay", Input: map[string]any{"to": bad}})
		assert.Zero(t, call.runs, "what JSON can't hold fails closed")
		assert.NotNil(t, call.Blocked)
	}
}

func TestSchema_refusesKeysInAnotherCase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, arguments, want string }{
		{`{"properties":{"amount":{}}}`, `{"Amount":1}`, `unknown "Amount", want "amount"`},
		{`{"properties":{"amount":{}}}`, `{"amount":1,"AMOUNT":2}`, `unknown "AMOUNT", want "amount"`},
		{`{"properties":{"key":{}}}`, `{"\u212aey":1}`, `unknown "` + "\u212a" + `ey", want "key"`},
		{`{"properties":{"amount":{}}}`, `{"amounts":1}`, ``},
		{`{"properties":{"a":{},"A":{}}}`, `{"a":1,"A":2}`, ``},
		{`{"properties":{"to":{"properties":{"x":{}}}}}`, `{"to":{"X":1}}`, `/to: unknown "X", want "x"`},
		{`{"properties":{"to":{"properties":{"x":{}}}}}`, `{"X":1}`, ``},
		{`{"properties":{"to":{"items":{"properties":{"x":{}}}}}}`, `{"to":[{"x":1},{"X":1}]}`, `/to/1: unknown "X", want "x"`},
		{`{"properties":{"to":{"prefixItems":[{"properties":{"x":{}}}],"items":{"properties":{"y":{}}}}}}`, `{"to":[{"Y":1},{"X":1},{"Y":1}]}`, `/to/2: unknown "Y", want "y"`},
		{`{"$ref":"#/$defs/o","$defs":{"o":{"properties":{"x":{"$ref":"#/$defs/o"}}}}}`, `{"x":{"x":{"X":1}}}`, `/x/x: unknown "X", want "x"`},
		{`{"allOf":[{"properties":{"x":{}}}]}`, `{"X":1}`, `unknown "X", want "x"`},
		{`{"anyOf":[{"properties":{"x":{"type":"string"}}},{"properties":{"X":{}}}]}`, `{"X":1}`, ``},
		{`{"if":{"properties":{"x":{}}},"then":{"properties":{"y":{}}},"else":{"properties":{"z":{}}}}`, `{"Y":1}`, `unknown "Y", want "y"`},
		{`{"not":{"properties":{"x":{"const":1}},"required":["x"]}}`, `{"X":1}`, `unknown "X", want "x"`},
		{`{"dependentSchemas":{"a":{"properties":{"x":{}}}}}`, `{"X":1}`, `unknown "X", want "x"`},
		{`{"patternProperties":{"^p":{"properties":{"x":{}}}}}`, `{"p1":{"X":1},"q":{"X":1}}`, `/p1: unknown "X", want "x"`},
		{`{"properties":{"q":{}},"additionalProperties":{"properties":{"x":{}}}}`, `{"p":{"X":1},"q":{"X":1}}`, `/p: unknown "X", want "x"`},
		{`{"unevaluatedProperties":{"properties":{"x":{}}}}`, `{"p":{"X":1}}`, `/p: unknown "X", want "x"`},
		{`{"properties":{"to":{"contains":{"properties":{"x":{}}}}}}`, `{"to":[{"X":1}]}`, `/to/0: unknown "X", want "x"`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"to":{"items":[{}],"additionalItems":{"properties":{"x":{}}}}}}`, `{"to":[{"X":1},{"X":1}]}`, `/to/1: unknown "X", want "x"`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"properties":{"x":{}}}}}`, `{"X":1}`, `unknown "X", want "x"`},
		{`{"$dynamicAnchor":"n","properties":{"x":{},"kids":{"items":{"$dynamicRef":"#n"}}}}`, `{"kids":[{"kids":[{"X":1}]}]}`, `/kids/0/kids/0: unknown "X", want "x"`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"x":{},"kid":{"$recursiveRef":"#"}}}`, `{"kid":{"X":1}}`, `/kid: unknown "X", want "x"`},
		{`{"properties":{"amount":{}},"required":["amount"],"additionalProperties":false}`, `{"Amount":1}`, `missing "amount"; unknown "Amount"; unknown "Amount", want "amount"`},
	} {
		call := schemaCall(t, c.schema, c.arguments)
		if c.want == "" {
			call.ran(t, c.schema)
			continue
		}
		call.refused(t, "policy.Schema", c.want, c.schema)
	}
}

func TestSchema_reasonsHoldNoValue(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, keyword := range []string{
		`"pattern":"^x$"`, `"enum":["x"]`, `"const":"x"`, `"format":"date"`, `"maxLength":1`, `"type":"number"`, `"not":{}`, `"anyOf":[{"const":"x"},{"pattern":"y"}]`,
	} {
		call := schemaCall(t, `{"properties":{"a":{`+keyword+`}}}`, `{"a":"`+secret+`"}`)
		require.NotNil(t, call.Blocked, keyword)
		assert.NotContains(t, call.Result, secret, keyword)
	}
	for _, keyword := range []string{`"const":"hunter2"`, `"pattern":"hunter2"`, `"enum":["hunter2"]`} {
		call := schemaCall(t, `{"properties":{"a":{`+keyword+`}}}`, `{"a":"x"}`)
		require.NotNil(t, call.Blocked, keyword)
		assert.NotContains(t, call.Result, secret, "of the schema: "+keyword)
	}
}

func TestSchema_goesByTheTool(t *testing.T) {
	t.Parallel()
	one := json.RawMessage(`{"required":["a"]}`)
	for _, c := range []struct {
		name, call string
		judged     bool
	}{
		{"delete_file", "Delete File", true},
		{"deleteFile", "delete-file", true},
		{"delete_file", "delete_files", false},
		{"search_天气", "search", false},
		{"search_天气", "search_用户", false},
		{"日本語", "日本語", true},
		{"日本語", "tool_77710aed", true}, // as SanitizeToolName writes it
		{"tool_77710aed", "日本語", true},
	} {
		r := hookstest.Registry(t)
		policy.Schema{Schemas: map[string]json.RawMessage{c.name: one}}.Register(hooks.In(r))
		call := passCall(t, r, &hooks.ToolCall{Name: c.call})
		assert.Equal(t, c.judged, call.Blocked != nil, "%s, %s", c.name, c.call)
	}
}

func TestSchema_strictRefusesToolsWithoutOne(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(`{}`)}, Strict: true}.Register(hooks.In(r))
	passCall(t, r, &hooks.ToolCall{Name: "Pay"}).ran(t)
	passCall(t, r, &hooks.ToolCall{Name: "refund"}).
		refused(t, "policy.Schema", "this tool's arguments can't be checked, so it isn't run; use another tool")

	r = hookstest.Registry(t)
	policy.Schema{Strict: true}.Register(hooks.In(r), hooks.WithTools("pay*"))
	passCall(t, r, &hooks.ToolCall{Name: "read"}).ran(t)
	assert.NotNil(t, passCall(t, r, &hooks.ToolCall{Name: "pay"}).Blocked)
}

func TestSchema_judgesWhatRuns(t *testing.T) {
	t.Parallel()
	small := policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(`{"properties":{"n":{"maximum":10}}}`)}}
	for name, edit := range map[string]func(r *hooks.Registry){
		"by a hook": func(r *hooks.Registry) {
			hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
				call.Input["n"] = 11
				return nil
			}, hooks.In(r), hooks.WithPriority(-5000))
		},
		"by a hook around the body": func(r *hooks.Registry) {
			hooks.Around(hooks.ToolBody, func(ctx context.Context, call *hooks.ToolCall, next func(context.Context) error) error {
				call.Input["n"] = 11
				return next(ctx)
			}, hooks.In(r))
		},
	} {
		r := hookstest.Registry(t)
		small.Register(hooks.In(r))
		edit(r)
		passCall(t, r, &hooks.ToolCall{Name: "pay", Input: map[string]any{"n": 1}}).refused(t, "policy.Schema", "/n: maximum", name)
	}
}

func TestSchema_judgesWhatHooksHaveTidied(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{"  Trains to\tOslo ": "Trains to Oslo", "     ": "", " x ": ""} {
		r := hookstest.Registry(t)
		policy.Schema{Schemas: map[string]json.RawMessage{"web_search": json.RawMessage(`{"properties":{"query":{"minLength":2}}}`)}}.Register(hooks.In(r))
		hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			query, err := call.StringArg("query")
			call.Input["query"] = strings.Join(strings.Fields(query), " ")
			return err
		}, hooks.In(r))
		call := passCall(t, r, &hooks.ToolCall{Name: "web_search", Input: map[string]any{"query": query}})
		if want == "" {
			call.refused(t, "policy.Schema", "/query: minLength", "%q", query)
			continue
		}
		call.ran(t, query)
		assert.Equal(t, want, call.input["query"])
	}
}

func TestSchema_judgesWhatAPersonEdits(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(`{"properties":{"n":{"maximum":10}}}`)}}.Register(hooks.In(r))
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		return call.Ask(ctx, hooks.Question{Prompt: "Pay?", May: []hooks.Verdict{hooks.Approve, hooks.Reject, hooks.Edit}})
	}, hooks.In(r), hooks.WithName("ask"), hooks.WithPriority(-900))
	hookstest.Run(t, r, func(ctx context.Context) {
		ctx = hooks.WithDesk(ctx, hookstest.NewDesk(t, hookstest.Edits(`{"n":11}`)))
		call := &hooks.ToolCall{ID: "1", Name: "pay", Input: map[string]any{"n": 1}}
		err := hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return errors.New("ran") })
		require.NoError(t, err)
		if assert.NotNil(t, call.Blocked) {
			assert.Equal(t, "/n: maximum", call.Blocked.Reason)
		}
	})
}

func TestSchema_passesOverUnreadableArguments(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(`{"required":["a"]}`)}, Strict: true}.Register(hooks.In(r))
	call := &hooks.ToolCall{Name: "pay"}
	require.Error(t, call.SetArguments("[]"))
	got := passCall(t, r, call)
	assert.Nil(t, got.Blocked)
	assert.Contains(t, got.Result, "arguments must be one JSON object")
}

func TestSchema_panics(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "s.json")
	require.NoError(t, os.WriteFile(file, []byte(`{}`), 0o600))
	for name, schema := range map[string]string{
		"https":             `{"$ref":"https://example.com/s.json"}`,
		"file":              `{"$ref":"file://` + filepath.ToSlash(file) + `"}`,
		"path":              `{"$ref":"` + filepath.ToSlash(file) + `"}`,
		"relative":          `{"properties":{"a":{"$ref":"s.json"}}}`,
		"base and relative": `{"$id":"file://` + filepath.ToSlash(filepath.Dir(file)) + `/x.json","$ref":"s.json"}`,
		"meta schema":       `{"$schema":"https://example.com/meta"}`,
		"no such place":     `{"$ref":"#/$defs/x"}`,
		"lookahead":         `{"properties":{"a":{"pattern":"(?=x)"}}}`,
		"pattern property":  `{"patternProperties":{"(?!x)":{}}}`,
		"type":              `{"type":"strnig"}`,
		"no schema":         `[]`,
		"null":              `null`,
		"no JSON":           `{`,
		"nothing":           ``,
		"more":              `{} {}`,
		"2 keywords":        `{"minLength":-1}`,
	} {
		r := hookstest.Registry(t)
		func() {
			defer func() {
				text, _ := recover().(string)
				assert.Contains(t, text, `the schema of "pay now" is refused`, name)
			}()
			policy.Schema{Schemas: map[string]json.RawMessage{"ok": json.RawMessage(`{}`), "pay now": json.RawMessage(schema)}}.Register(hooks.In(r))
		}()
		assert.Zero(t, registered(r), name)
	}
	ok := json.RawMessage(`{}`)
	for name, s := range map[string]policy.Schema{
		"nothing":     {},
		"empty":       {Schemas: map[string]json.RawMessage{}},
		"no name":     {Schemas: map[string]json.RawMessage{"": ok}},
		"a pattern":   {Schemas: map[string]json.RawMessage{"pay*": ok}},
		"one tool":    {Schemas: map[string]json.RawMessage{"pay_now": ok, "Pay Now": ok}},
		"one, hashed": {Schemas: map[string]json.RawMessage{"日本語": ok, "tool_77710aed": ok}},
	} {
		assert.Panics(t, func() { s.Register(hooks.In(hookstest.Registry(t))) }, name)
	}
}

func TestSchema_referencesLeadIntoTheSchema(t *testing.T) {
	t.Parallel()
	schemaCall(t, `{"$id":"https://example.com/s","properties":{"a":{"$ref":"/s#/$defs/x"},"b":{"$ref":"t"}},"$defs":{"x":{"type":"string"},"y":{"$id":"t","type":"null"}}}`, `{"a":1,"b":1}`).
		refused(t, "policy.Schema", "/a: type, want string; /b: type, want null")
	schemaCall(t, `{"properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, `{"a":{"type":1}}`).
		refused(t, "policy.Schema", "/a/type: enum")
	schemaCall(t, `{"$ref":"#"}`, `{}`).refused(t, "policy.Schema", "invalid") // which never ends
}

func TestSchema_takesOptions(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	group := policy.Schema{Strict: true}.Register(hooks.In(r))
	reg := r.Hooks(hooks.PreToolCall)[0]
	assert.Equal(t, []any{"policy.Schema", 700, hooks.KindGuard}, []any{reg.Name(), reg.Priority(), reg.Kind()})
	assert.True(t, group.Remove())
	assert.Zero(t, registered(r))
}

func TestSchema_judgesParallelCalls(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(`{"properties":{"n":{"anyOf":[{"maximum":10},{"type":"string"}]}},"$dynamicAnchor":"x"}`)}}.Register(hooks.In(r))
	done := make(chan bool)
	for i := range 20 {
		go func() {
			call := &hooks.ToolCall{Name: "pay", Input: map[string]any{"n": i}}
			err := hooks.RunTool(hookstest.Context(t, r), call, func(context.Context, *hooks.ToolCall) error { return nil })
			done <- err == nil && (call.Blocked != nil) == (i > 10)
		}()
	}
	for range 20 {
		assert.True(t, <-done)
	}
}

func FuzzSchema(f *testing.F) {
	for _, raw := range []string{`{"n":1}`, `{"N":1}`, `{"to":[{"x":"hunter2"}]}`, `{"n":1e999999}`, `{"a":{"b":[null]}}`, `{"k\u0000":1}`} {
		f.Add(raw)
	}
	r := hooks.NewRegistry()
	policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(`{
		"properties":{"n":{"type":"integer","multipleOf":3},"to":{"items":{"$ref":"#/$defs/p"}}},
		"$defs":{"p":{"properties":{"x":{"pattern":"^a*$"},"p":{"$ref":"#/$defs/p"}},"unevaluatedProperties":false}},
		"additionalProperties":{"anyOf":[{"type":"string"},{"type":"object","propertyNames":{"maxLength":3}}]}}`)}}.Register(hooks.In(r))
	ctx := hooks.WithScope(context.Background(), r)
	f.Fuzz(func(t *testing.T, raw string) {
		call := &hooks.ToolCall{Name: "pay"}
		bad := call.SetArguments(raw)
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil }))
		if bad != nil {
			assert.Nil(t, call.Blocked)
			return
		}
		if call.Blocked != nil {
			require.NoError(t, call.Blocked.Err, "the guard failed")
			assert.NotContains(t, call.Blocked.Reason, "\n")
		}
	})
}
