package policy

// Arguments that fit a JSON Schema: what the policy is, and its registration. How faults
// are told is in schema_faults.go, and keys in another case are found in schema_keys.go.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/loophooks/hooks"
)

// Schema refuses tool calls whose arguments don't fit the JSON Schema of their tool.
// A guard at [hooks.PreToolCall] judges the Input as the hooks left it, by its JSON, so
// that no digit of a number is lost. The library behind it is santhosh-tekuri/jsonschema:
// drafts 4, 6, 7, 2019-09 and 2020-12, by the "$schema" of each, 2020-12 without one.
// Formats are checked, patterns are those of package regexp, and nothing is ever loaded:
// a reference leads into the schema itself or to a metaschema.
//
// Beside what the schema says, a key is refused that equals a declared property but for
// its case, at any depth: a decoder such as encoding/json's may read it as the property.
// So is a number of more than 1000 digits, or with an exponent beyond 1000.
//
// The reason is at most five faults, each a JSON pointer and a keyword, for the model to
// mend: /to/0: type, want string; missing "amount"; unknown "zz". Keys are quoted and cut
// at 64 bytes. It never holds a value, neither of the call nor of the schema.
type Schema struct {
	// Schemas are the schemas by the name of the tool. A call in another spelling is the
	// tool's, too, as hooks.MatchTool has it; there are no patterns.
	Schemas map[string]json.RawMessage

	// Strict refuses the calls of tools that have no schema. Otherwise they pass.
	Strict bool
}

// Register registers the policy, with opts behind its own options: its name is
// "policy.Schema" and its priority 700. It panics, with the name of the tool, for a
// schema that doesn't compile: one that isn't valid, refers to what would have to be
// loaded, or has a pattern that package regexp can't read, as a lookahead. It also
// panics for a name that is empty or a pattern, for two names of one tool, and where
// there is nothing to check. What is registered is safe for concurrent use.
func (s Schema) Register(opts ...hooks.Option) *hooks.Group {
	if len(s.Schemas) == 0 && !s.Strict {
		panic("policy: Schema has no Schemas, and nothing would be checked")
	}
	p := &schemaPolicy{schemas: make(map[string]*argSchema, len(s.Schemas)), strict: s.Strict}
	names := make(map[string]string, len(s.Schemas)) // by key
	for _, name := range slices.Sorted(maps.Keys(s.Schemas)) {
		if name == "" || strings.ContainsAny(name, "*?") {
			panic(fmt.Sprintf("policy: Schema: Schemas has %q; give the name of one tool", name))
		}
		schema, err := compileSchema(s.Schemas[name])
		if err != nil {
			panic(fmt.Sprintf("policy: Schema: the schema of %q is refused: %v", name, err))
		}
		for _, key := range toolKeys(name) {
			if other, ok := names[key]; ok {
				panic(fmt.Sprintf("policy: Schema: %q and %q are one tool; give it one schema", other, name))
			}
			names[key], p.schemas[key] = name, schema
		}
	}
	return register(opts, func(r *registrar) {
		r.add(hooks.Guard(hooks.PreToolCall, p.guard, r.with("policy.Schema", 700)...))
	})
}

// toolKeys returns the keys of a tool: its folded name and, where it is called by a form
// that holds a hash in place of the name, that.
func toolKeys(name string) []string {
	keys := []string{hooks.FoldToolName(name)}
	short := hooks.SanitizeToolName(name)
	if key := hooks.FoldToolName(short); key != keys[0] && hooks.MatchTool(short, name) {
		keys = append(keys, key)
	}
	return keys
}

// compileSchema compiles a schema without loading anything.
func compileSchema(raw json.RawMessage) (*argSchema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // the library's own opens files
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	const url = "policy://schema/" // not a urn: the library takes a relative reference there for the schema itself
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	root, err := c.Compile(url)
	if err != nil {
		return nil, err
	}
	return newArgSchema(root), nil
}

// schemaPolicy is one registration of Schema.
type schemaPolicy struct {
	schemas map[string]*argSchema // by toolKeys
	strict  bool
}

func (p *schemaPolicy) guard(_ context.Context, t *hooks.ToolCall) error {
	if t.ArgumentsError() != nil {
		return nil
	}
	schema := p.find(t.Name)
	switch {
	case schema == nil && p.strict:
		return hooks.Abort("this tool's arguments can't be checked, so it isn't run; use another tool")
	case schema == nil:
		return nil
	}
	raw, err := argumentsText(t)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		return fmt.Errorf("policy: Schema: the arguments can't be read back: %w", err)
	}
	if faults := schema.faults(value); len(faults) > 0 {
		return hooks.Abort(strings.Join(faults, "; "))
	}
	return nil
}

// find returns the schema of the tool called name, nil if it has none.
func (p *schemaPolicy) find(name string) *argSchema {
	for _, key := range toolKeys(name) {
		if schema, ok := p.schemas[key]; ok {
			return schema
		}
	}
	return nil
}
