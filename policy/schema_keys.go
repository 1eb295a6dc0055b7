package policy

// Keys that equal a declared property but for their case.

import (
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// dynamic are the targets of references that depend on where validation comes from. All
// of them count: which one it is makes no difference to what is declared somewhere.
type dynamic struct {
	anchors   map[string][]*jsonschema.Schema
	recursive []*jsonschema.Schema
}

// newDynamic finds those that can be reached from root.
func newDynamic(root *jsonschema.Schema) *dynamic {
	d := &dynamic{anchors: map[string][]*jsonschema.Schema{}}
	seen := map[*jsonschema.Schema]bool{}
	open := []*jsonschema.Schema{root}
	for len(open) > 0 {
		s := open[len(open)-1]
		open = open[:len(open)-1]
		if s == nil || seen[s] {
			continue
		}
		seen[s] = true
		if s.DynamicAnchor != "" {
			d.anchors[s.DynamicAnchor] = append(d.anchors[s.DynamicAnchor], s)
		}
		if s.RecursiveAnchor {
			d.recursive = append(d.recursive, s)
		}
		open = append(open, d.inPlace(s)...)
		open = append(open, below(s)...)
	}
	return d
}

// inPlace returns the schemas that s applies to the same value, some of them nil.
func (d *dynamic) inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	all = append(all, s.Ref, s.Not, s.If, s.Then, s.Else)
	if s.RecursiveRef != nil {
		all = append(append(all, s.RecursiveRef), d.recursive...)
	}
	if s.DynamicRef != nil {
		all = append(append(all, s.DynamicRef.Ref), d.anchors[s.DynamicRef.Anchor]...)
	}
	for _, dep := range s.Dependencies {
		if schema, ok := dep.(*jsonschema.Schema); ok {
			all = append(all, schema)
		}
	}
	for _, schema := range s.DependentSchemas {
		all = append(all, schema)
	}
	return all
}

// below returns the schemas that s applies to what is in a value, some of them nil.
func below(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Clone(s.PrefixItems)
	all = append(all, s.Items2020, s.Contains, s.UnevaluatedItems, s.UnevaluatedProperties)
	for _, schema := range s.Properties {
		all = append(all, schema)
	}
	for _, schema := range s.PatternProperties {
		all = append(all, schema)
	}
	for _, v := range []any{s.Items, s.AdditionalItems, s.AdditionalProperties} {
		switch v := v.(type) {
		case *jsonschema.Schema:
			all = append(all, v)
		case []*jsonschema.Schema:
			all = append(all, v...)
		}
	}
	return all
}

// applied returns schemas and all that they apply to the same value.
func (d *dynamic) applied(schemas []*jsonschema.Schema) []*jsonschema.Schema {
	seen := map[*jsonschema.Schema]bool{}
	var all []*jsonschema.Schema
	open := slices.Clone(schemas)
	for len(open) > 0 {
		s := open[len(open)-1]
		open = open[:len(open)-1]
		if s == nil || seen[s] {
			continue
		}
		seen[s] = true
		all = append(all, s)
		open = append(open, d.inPlace(s)...)
	}
	return all
}

// misspelt adds the keys in value that differ from a declared property in case.
func (s *argSchema) misspelt(found []fault, value any) []fault {
	return s.rough.misspelt(found, []*jsonschema.Schema{s.root}, value, nil)
}

func (d *dynamic) misspelt(found []fault, schemas []*jsonschema.Schema, value any, at []string) []fault {
	switch value := value.(type) {
	case map[string]any:
		schemas = d.applied(schemas)
		for key, v := range value {
			if property := declaredAs(schemas, key); property != key {
				found = append(found, fault{slices.Clone(at), "unknown " + quoteKey(key) + ", want " + quoteKey(property)})
			}
			found = d.misspelt(found, ofProperty(schemas, key), v, append(at, key))
		}
	case []any:
		schemas = d.applied(schemas)
		for i, v := range value {
			found = d.misspelt(found, ofItem(schemas, i), v, append(at, strconv.Itoa(i)))
		}
	}
	return found
}

// declaredAs returns the property that key differs from in case alone, the first one of
// several, and key itself if it is declared or like none.
func declaredAs(schemas []*jsonschema.Schema, key string) string {
	like := key
	for _, s := range schemas {
		for property := range s.Properties {
			switch {
			case property == key:
				return key
			case strings.EqualFold(property, key) && (like == key || property < like):
				like = property
			}
		}
	}
	return like
}

// ofProperty returns the schemas of the value of a key.
func ofProperty(schemas []*jsonschema.Schema, key string) []*jsonschema.Schema {
	var all, rest []*jsonschema.Schema
	for _, s := range schemas {
		before := len(all)
		if schema, ok := s.Properties[key]; ok {
			all = append(all, schema)
		}
		for pattern, schema := range s.PatternProperties {
			if pattern.MatchString(key) {
				all = append(all, schema)
			}
		}
		if schema, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && len(all) == before {
			all = append(all, schema)
		}
		rest = append(rest, s.UnevaluatedProperties)
	}
	if len(all) == 0 {
		return rest
	}
	return all
}

// ofItem returns the schemas of an item of an array.
func ofItem(schemas []*jsonschema.Schema, i int) []*jsonschema.Schema {
	var all, rest []*jsonschema.Schema
	for _, s := range schemas {
		switch items := s.Items.(type) { // until 2019-09
		case *jsonschema.Schema:
			all = append(all, items)
		case []*jsonschema.Schema:
			if i < len(items) {
				all = append(all, items[i])
			} else if schema, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
				all = append(all, schema)
			}
		}
		switch {
		case i < len(s.PrefixItems):
			all = append(all, s.PrefixItems[i])
		case s.Items2020 != nil:
			all = append(all, s.Items2020)
		}
		if s.Contains != nil {
			all = append(all, s.Contains)
		}
		rest = append(rest, s.UnevaluatedItems)
	}
	if len(all) == 0 {
		return rest
	}
	return all
}
