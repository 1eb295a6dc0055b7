package policy

// Redacting texts, whole ones and those in parts.

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/redact"
)

// cleaner redacts texts of one run.
type cleaner struct {
	sets  []*redact.Set
	mark  func(name, match string) string
	known *runTokens // what marks stand for; nil without tokens
}

// reserve notes the tokens that stand in a text without having been given out.
func (c *cleaner) reserve(text string) {
	if c.known != nil {
		c.known.reserve(text)
	}
}

// reserveArguments is reserve for what a model writes as the arguments of a call, where a
// token may stand in the escapes of JSON.
func (c *cleaner) reserveArguments(raw string) {
	if c.known != nil {
		c.reader().json(raw)
	}
}

// reserveInput is reserve for the input of a tool.
func (c *cleaner) reserveInput(input map[string]any) {
	if c.known != nil {
		_, _ = c.reader().input(input) // what can't be read holds no token that is put back
	}
}

// reader returns what sees the strings of arguments, and changes none.
func (c *cleaner) reader() *argumentEditor {
	return &argumentEditor{lenient: true, text: func(text string) string {
		c.reserve(text)
		return text
	}}
}

// text returns the text with marks for all that is found in it.
func (c *cleaner) text(text string) string {
	c.reserve(text)
	for _, set := range c.sets {
		text = set.Replace(text, c.mark)
	}
	return text
}

// content redacts a text that is in several parts.
func (c *cleaner) content(content string, parts []hooks.Part) (string, []hooks.Part, bool) {
	texts := make([]string, 1, 1+len(parts))
	texts[0] = content
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	c.reserve(strings.Join(texts, ""))
	clean := texts
	for _, set := range c.sets {
		clean = set.ReplaceParts(clean, c.mark)
	}
	if slices.Equal(clean, texts) {
		return content, parts, false
	}
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Text = clean[1+i]
	}
	return clean[0], parts, true
}

// requests redacts the arguments of tool calls.
func (c *cleaner) requests(requests []hooks.ToolRequest) ([]hooks.ToolRequest, bool) {
	edit, edited := c.editor(), false
	for i, request := range requests {
		arguments := edit.json(request.Arguments)
		if arguments == request.Arguments {
			continue
		}
		if !edited {
			requests, edited = slices.Clone(requests), true
		}
		requests[i].Arguments = arguments
	}
	return requests, edited
}

// editor returns what redacts arguments.
func (c *cleaner) editor() *argumentEditor {
	return &argumentEditor{text: c.text, member: c.member, literal: true}
}

// member redacts the value behind a key, which may tell what the value is: nobody
// sees a secret in "hunter2" alone. Both are searched as they stand in JSON.
func (c *cleaner) member(key, value string, literal bool) string {
	prefix, body := quoteJSON(key)+": ", value
	if !literal {
		body = quoteJSON(value)
	}
	text := prefix + body
	for _, set := range c.sets {
		text = set.Replace(text, func(name, match string) string {
			if !literal {
				match = unquoteJSON(match)
			}
			mark := quoteJSON(c.mark(name, match))
			return mark[1 : len(mark)-1]
		})
	}
	if text == prefix+body {
		return value
	}
	rest, whole := strings.CutPrefix(text, prefix)
	var clean string
	switch {
	case whole && literal:
		return rest
	case whole && json.Unmarshal([]byte(rest), &clean) == nil:
		return clean
	}
	return strings.Trim(text, `"`) // the mark stands for the key, too
}

// unquoteJSON returns what a part of a JSON string stands for.
func unquoteJSON(part string) string {
	var s string
	if strings.Contains(part, `\`) && json.Unmarshal([]byte(`"`+part+`"`), &s) == nil {
		return s
	}
	return part
}

// quoteJSON returns s as JSON.
func quoteJSON(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always can
	return strings.TrimSuffix(b.String(), "\n")
}
