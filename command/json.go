package command

// Settings as a tree of JSON values that know their place.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/loophooks/hooks/internal/arguments"
)

// node is a JSON value.
type node struct {
	place   string
	kind    string // "an object", "an array", "a string", "a number", "a boolean", "null"
	text    string // of a string and a number
	members []member
	items   []node
}

type member struct {
	key   string
	value node
}

const (
	isObject  = "an object"
	isArray   = "an array"
	isString  = "a string"
	isNumber  = "a number"
	isBoolean = "a boolean"
	isNull    = "null"
)

// parseSettings reads one object without equal keys.
func parseSettings(raw []byte) (node, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return node{}, &LoadError{Place: "$", Problem: "the settings are empty; without any hooks they are {}"}
	}
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		where := ""
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			where = fmt.Sprintf(" in line %d", 1+bytes.Count(raw[:min(int(syntax.Offset), len(raw))], []byte("\n")))
		}
		return node{}, &LoadError{Place: "$", Problem: "the settings aren't JSON" + where, Err: err}
	}
	p := treeReader{json.NewDecoder(bytes.NewReader(raw))}
	p.UseNumber()
	root, err := p.value("$")
	if err != nil {
		return node{}, err
	}
	if root.kind != isObject {
		return node{}, root.problem("found " + root.kind + `; the settings are an object: {"hooks": {…}}`)
	}
	// Text that isn't Unicode is left, which encoding/json replaces.
	if _, err := arguments.Parse(string(raw)); err != nil {
		return node{}, &LoadError{Place: "$", Problem: "the settings can't be read exactly", Err: err}
	}
	return root, nil
}

// treeReader reads a text that is valid JSON.
type treeReader struct{ *json.Decoder }

func (p *treeReader) value(place string) (node, error) {
	n := node{place: place}
	token, err := p.Token()
	if err != nil {
		return n, &LoadError{Place: place, Problem: "it can't be read", Err: err}
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			n.kind = isArray
			return n, p.array(&n)
		}
		n.kind = isObject
		return n, p.object(&n)
	case string:
		n.kind, n.text = isString, token
	case json.Number:
		n.kind, n.text = isNumber, token.String()
	case bool:
		n.kind = isBoolean
	default:
		n.kind = isNull
	}
	return n, nil
}

func (p *treeReader) array(n *node) error {
	for p.More() {
		item, err := p.value(fmt.Sprintf("%s[%d]", n.place, len(n.items)))
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	return p.closing(n)
}

func (p *treeReader) object(n *node) error {
	seen := make(map[string]struct{})
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return n.problem("it can't be read: " + err.Error())
		}
		key, _ := token.(string)
		value, err := p.value(n.place + step(key))
		if err != nil {
			return err
		}
		if _, twice := seen[key]; twice {
			return value.problem("the key stands here twice; keep one of them")
		}
		seen[key] = struct{}{}
		n.members = append(n.members, member{key, value})
	}
	return p.closing(n)
}

func (p *treeReader) closing(n *node) error {
	if _, err := p.Token(); err != nil {
		return n.problem("it can't be read: " + err.Error())
	}
	return nil
}

// step is how a path goes on to key.
func step(key string) string {
	plain := key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-") == ""
	if plain {
		return "." + key
	}
	return "[" + strconv.Quote(key) + "]"
}

func (n *node) problem(text string) error { return &LoadError{Place: n.place, Problem: text} }

// must says what is wrong if n isn't of the kind.
func (n *node) must(kind string) error {
	if n.kind == kind {
		return nil
	}
	return n.problem("found " + n.kind + " where " + kind + " belongs")
}
