package hookstest

// Hooks that change what a run is asked. The prompt is looked for wherever a
// loop puts it among the inputs of its execution.

import (
	"context"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

var inputScenarios = []scenario{
	{name: "edited-prompt", needs: []hooks.AnyPoint{hooks.Input}, play: editedPrompt(hooks.Input, editedText)},
	{name: "prompt-edited-at-start", needs: []hooks.AnyPoint{hooks.ExecutionStart}, play: editedPrompt(hooks.ExecutionStart, editedText)},
	{name: "emptied-prompt", needs: []hooks.AnyPoint{hooks.Input}, after: []string{"edited-prompt"}, play: editedPrompt(hooks.Input, "")},
}

func editedPrompt(p hooks.Point[hooks.Execution], with string) func(*trial) {
	return func(t *trial) {
		t.strange = with == "" // a loop may refuse to ask nothing
		var found, given atomic.Bool
		on(t, p, func(_ context.Context, x *hooks.Execution) error {
			for name, value := range x.Inputs {
				given.Store(true)
				if edited, ok := replaceText(value, thePrompt, with); ok {
					found.Store(true)
					x.Inputs[name] = edited
				}
			}
			return nil
		})
		t.run(answers(theAnswer))
		if !t.check(given.Load(), rulePrompt, "what the run is asked among the Inputs", "there are none to be edited") {
			return
		}
		if !found.Load() {
			t.unjudged = "the prompt was not found among the inputs of the execution"
			return
		}
		if with != "" {
			t.checkSent(rulePrompt, 0, with, true)
			t.checkGoesOn(ruleText)
		}
		if t.requests() > 0 {
			t.checkSent(rulePrompt, 0, thePrompt, false)
		}
	}
}

// replaceText returns a copy of v in which the text old is replaced wherever it
// stands in strings, slices, maps, exported fields and what pointers lead to,
// and whether it stood anywhere.
func replaceText(v any, old, with string) (any, bool) {
	if v == nil {
		return v, false
	}
	edited, found := replaceIn(reflect.ValueOf(v), old, with, 10)
	if !found {
		return v, false
	}
	return edited.Interface(), true
}

func replaceIn(v reflect.Value, old, with string, depth int) (_ reflect.Value, found bool) {
	if depth == 0 {
		return v, false
	}
	edit := func(part reflect.Value, set func(reflect.Value)) {
		if edited, ok := replaceIn(part, old, with, depth-1); ok {
			set(edited)
			found = true
		}
	}
	switch v.Kind() {
	case reflect.String:
		if !strings.Contains(v.String(), old) {
			return v, false
		}
		return reflect.ValueOf(strings.ReplaceAll(v.String(), old, with)).Convert(v.Type()), true
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		copied := reflect.New(v.Type()).Elem()
		edit(v.Elem(), func(e reflect.Value) {
			if v.Kind() == reflect.Pointer {
				copied.Set(reflect.New(v.Type().Elem()))
				copied.Elem().Set(e)
				return
			}
			copied.Set(e)
		})
		return copied, found
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
			if !strings.Contains(string(v.Bytes()), old) {
				return v, false
			}
			return reflect.ValueOf([]byte(strings.ReplaceAll(string(v.Bytes()), old, with))).Convert(v.Type()), true
		}
		copied := reflect.New(v.Type()).Elem()
		if v.Kind() == reflect.Slice {
			copied.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		reflect.Copy(copied, v)
		for i := range v.Len() {
			edit(v.Index(i), func(e reflect.Value) { copied.Index(i).Set(e) })
		}
		return copied, found
	case reflect.Map:
		copied := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			copied.SetMapIndex(key, value)
			edit(value, func(e reflect.Value) { copied.SetMapIndex(key, e) })
		}
		return copied, found
	case reflect.Struct:
		copied := reflect.New(v.Type()).Elem()
		copied.Set(v)
		for i := range v.NumField() {
			if copied.Field(i).CanSet() {
				edit(v.Field(i), func(e reflect.Value) { copied.Field(i).Set(e) })
			}
		}
		return copied, found
	}
	return v, false
}
