package hooksmcp

// What hooks see of the content of a result, and what is made of it again.

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The kinds of the parts of a result.
const (
	kindImage      = "image"
	kindAudio      = "audio"
	kindLink       = "resource_link" // Text is the link as JSON
	kindResource   = "resource"
	kindStructured = "structured" // Text is the structured content as JSON
)

// fromResult returns the text of a result, and as parts all else that it holds. It
// fails for what hooks couldn't judge.
func fromResult(res *mcp.CallToolResult) (text string, parts []hooks.Part, err error) {
	var texts []string
	for _, content := range res.Content {
		switch c := content.(type) {
		case *mcp.TextContent:
			if c == nil {
				return "", nil, fmt.Errorf("hooksmcp: the result holds a nil %T", c)
			}
			texts = append(texts, c.Text)
		case *mcp.EmbeddedResource:
			if c == nil || c.Resource == nil {
				return "", nil, fmt.Errorf("hooksmcp: the result holds a nil %T, or one without a resource", c)
			}
			if c.Resource.Text != "" {
				texts = append(texts, c.Resource.Text)
			}
			parts = append(parts, hooks.NewPart(c, hooks.Part{Kind: kindResource}))
		case *mcp.ImageContent:
			if c == nil {
				return "", nil, fmt.Errorf("hooksmcp: the result holds a nil %T", c)
			}
			parts = append(parts, hooks.NewPart(c, hooks.Part{Kind: kindImage}))
		case *mcp.AudioContent:
			if c == nil {
				return "", nil, fmt.Errorf("hooksmcp: the result holds a nil %T", c)
			}
			parts = append(parts, hooks.NewPart(c, hooks.Part{Kind: kindAudio}))
		case *mcp.ResourceLink:
			if c == nil {
				return "", nil, fmt.Errorf("hooksmcp: the result holds a nil %T", c)
			}
			raw, err := json.Marshal(linkOf(c))
			if err != nil {
				return "", nil, fmt.Errorf("hooksmcp: a link of the result can't be shown to hooks: %w", err)
			}
			parts = append(parts, hooks.NewPart(c, hooks.Part{Kind: kindLink, Text: string(raw)}))
		default:
			return "", nil, fmt.Errorf("hooksmcp: the result holds a %T, which hooks can't judge", content)
		}
	}
	if res.StructuredContent != nil {
		raw, err := json.Marshal(res.StructuredContent)
		if err != nil {
			return "", nil, fmt.Errorf("hooksmcp: the structured content can't be shown to hooks: %w", err)
		}
		parts = append(parts, hooks.NewPart(res.StructuredContent, hooks.Part{Kind: kindStructured, Text: string(raw)}))
	}
	return strings.Join(texts, "\n"), parts, nil
}

// link is what of a ResourceLink hooks see, and what is sent of it if they have
// edited the result.
type link struct {
	URI         string `json:"uri"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        *int64 `json:"size,omitempty"`
}

func linkOf(c *mcp.ResourceLink) link {
	return link{c.URI, c.Name, c.Title, c.Description, c.MIMEType, c.Size}
}

func (l link) content() mcp.Content {
	return &mcp.ResourceLink{URI: l.URI, Name: l.Name, Title: l.Title, Description: l.Description, MIMEType: l.MIMEType, Size: l.Size}
}

// toContent makes a result of what hooks left, and of nothing else. retold says
// that the text isn't that of the tool any more: then structured content which
// nobody has touched is dropped, since it repeats the text.
func toContent(text string, parts []hooks.Part, retold bool) (content []mcp.Content, structured any) {
	content = []mcp.Content{}
	if text != "" {
		content = append(content, &mcp.TextContent{Text: text})
	}
	for _, p := range parts {
		if p.Kind == kindStructured {
			if structured == nil && json.Valid([]byte(p.Text)) && (p.Edited() || !retold) {
				structured = json.RawMessage(p.Text)
			}
			continue
		}
		if c := partContent(p); c != nil {
			content = append(content, c)
		}
	}
	return content, structured
}

// partContent returns what is sent of a part, nil for nothing. Meta data and annotations
// are dropped, which hooks haven't seen.
func partContent(p hooks.Part) mcp.Content {
	if p.Kind == kindLink {
		var l link
		if json.Unmarshal([]byte(p.Text), &l) == nil && l.URI != "" {
			return l.content()
		}
		return nil
	}
	if !p.Edited() {
		switch c := p.Native.(type) {
		case *mcp.ImageContent:
			return &mcp.ImageContent{Data: c.Data, MIMEType: c.MIMEType}
		case *mcp.AudioContent:
			return &mcp.AudioContent{Data: c.Data, MIMEType: c.MIMEType}
		case *mcp.EmbeddedResource:
			if c.Resource.Text != "" { // is in the text of the result
				return nil
			}
			return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: c.Resource.URI, MIMEType: c.Resource.MIMEType, Blob: c.Resource.Blob}}
		}
	}
	if p.Text == "" {
		return nil
	}
	return &mcp.TextContent{Text: p.Text}
}

// newResult returns an empty result. Clients of protocol 2026-07-28 are told of what
// type it is, which can only be set by decoding.
func newResult(kind string) *mcp.CallToolResult {
	var res mcp.CallToolResult
	if kind != "" {
		raw, _ := json.Marshal(map[string]any{"resultType": kind, "content": []any{}}) // never fails
		_ = json.Unmarshal(raw, &res)
	}
	res.Content = []mcp.Content{}
	return &res
}

// errorResult returns a result by which the model reads text.
func errorResult(kind, text string) *mcp.CallToolResult {
	res := newResult(kind)
	res.IsError = true
	res.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	return res
}
