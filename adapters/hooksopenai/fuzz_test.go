package hooksopenai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/adapters/hooksopenai"
)

// Whatever a program gives as JSON is sent as it is or not at all, and once a hook has
// taken all text out, none of it is sent.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"role":"user","content":"secret"}`, `{"role":"user","content":[{"type":"text","text":"secret"},{"type":"image_url","image_url":{"url":"u"}}]}`,
		`{"role":"assistant","refusal":"secret","reasoning_content":"secret","audio":{"id":"a"},"tool_calls":[{"id":"1","type":"custom","custom":{"name":"n","input":"i"}}]}`,
		`{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"secret"}]}`, `{"role":"developer","content":null,"Content":"secret"}`,
		`{"role":"assistant","content":[{"type":"refusal","refusal":"secret"},{"type":"text","text":"x","Text":"secret"}]}`, `{"role":1}`, `[]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			return
		}
		n := param.Override[union](json.RawMessage(raw))
		before, err := json.Marshal(n)
		if err != nil {
			return
		}
		m := hooksopenai.Message(n)
		same, err := hooksopenai.Native(&m)
		if err != nil {
			return
		}
		assert.JSONEq(t, string(before), wire(t, same))
		if len(m.ToolCalls) > 0 || strings.Contains(m.Name+m.ToolCallID, "secret") {
			return // arguments and names are no text
		}
		m.EditText(func(string) string { return "-" })
		if !m.Edited() {
			return
		}
		rebuilt, err := hooksopenai.Native(&m)
		if err != nil {
			return
		}
		if strings.Contains(m.Text(), "secret") {
			t.Fatalf("text is left: %q", m.Text())
		}
		out, err := json.Marshal(rebuilt)
		require.NoError(t, err)
		for _, p := range m.Parts {
			if p.Kind != "text" && p.Kind != "refusal" {
				return // an image has no text, and is sent as it is
			}
		}
		assert.NotContains(t, string(out), "secret")
	})
}
