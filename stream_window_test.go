// What a filter may do with its window.

package hooks_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// throughWindow returns what one filter lets through of text that comes at once, and
// what it failed with.
func throughWindow(t *testing.T, text string, f func(w *hooks.Window) error) (shown string, failure error) {
	t.Helper()
	ctx, r := newRun(t)
	r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
		if ev.Point == hooks.ModelStream.Name() {
			failure = ev.Hooks[0].Err
		}
	})
	hooks.OnStream(hooks.ModelStream, func(context.Context, *hooks.ModelCall, hooks.ChunkKind) hooks.Filter {
		return does(f)()
	}, hooks.In(r))
	seen := new(screen)
	require.NoError(t, hooks.RunModel(ctx, &hooks.ModelCall{}, func(ctx context.Context, m *hooks.ModelCall) error {
		return pushAll(hooks.OpenStream(ctx, hooks.ModelStream, m, seen.show), text)
	}))
	return seen.text(), failure
}

func TestWindow_replaces(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		do   func(w *hooks.Window)
		want string
	}{
		"nothing":              {"abc", func(*hooks.Window) {}, "abc"},
		"a part":               {"abc", func(w *hooks.Window) { w.Replace(1, 2, "xyz") }, "axyzc"},
		"all":                  {"abc", func(w *hooks.Window) { w.Replace(0, 3, "") }, ""},
		"several":              {"abcd", func(w *hooks.Window) { w.Replace(0, 1, "1"); w.Replace(1, 2, ""); w.Replace(3, 4, "44") }, "1c44"},
		"inserted":             {"ab", func(w *hooks.Window) { w.Replace(0, 0, "<"); w.Replace(1, 1, "-"); w.Replace(2, 2, ">") }, "<a-b>"},
		"twice in one place":   {"ab", func(w *hooks.Window) { w.Replace(1, 1, "1"); w.Replace(1, 1, "2"); w.Replace(1, 2, "3") }, "a123"},
		"whole runes":          {"a€b", func(w *hooks.Window) { w.Replace(1, 4, "$") }, "a$b"},
		"an invalid byte":      {"a\xff\x80b", func(w *hooks.Window) { w.Replace(1, 2, "?"); w.Replace(2, 3, "!") }, "a?!b"},
		"half of what is none": {"\xe2\x82b", func(w *hooks.Window) { w.Replace(1, 2, "!") }, "\xe2!b"},
		"in front of a hold":   {"abc", func(w *hooks.Window) { w.Hold(1); w.Replace(0, 1, "x"); w.Replace(1, 1, "y") }, "xybc"},
		"a hold behind it":     {"abc", func(w *hooks.Window) { w.Replace(0, 1, "x"); w.Hold(1) }, "xbc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown, failure := throughWindow(t, tt.text, func(w *hooks.Window) error {
				if len(w.Text()) > 0 && !w.Final() {
					tt.do(w)
					assert.Equal(t, tt.text, string(w.Text()), "it stays as it is")
				}
				return nil
			})
			assert.NoError(t, failure)
			assert.Equal(t, tt.want, shown)
		})
	}
}

// Calls that make no sense are a failure, which says what is wrong and quotes
// nothing.
func TestWindow_misuse(t *testing.T) {
	t.Parallel()
	for says, do := range map[string]func(w *hooks.Window){
		"Hold(5): there are 4 bytes":                                   func(w *hooks.Window) { w.Hold(5) },
		"Hold(-1): there are 4 bytes":                                  func(w *hooks.Window) { w.Hold(-1) },
		"Hold(2): the place is inside a rune":                          func(w *hooks.Window) { w.Hold(2) },
		"Replace(0, 5): there are 4 bytes":                             func(w *hooks.Window) { w.Replace(0, 5, "x") },
		"Replace(-1, 1): there are 4 bytes":                            func(w *hooks.Window) { w.Replace(-1, 1, "x") },
		"Replace(1, 0): there are 4 bytes":                             func(w *hooks.Window) { w.Replace(1, 0, "x") },
		"Replace(0, 3): a place is inside a rune":                      func(w *hooks.Window) { w.Replace(0, 3, "x") },
		"Replace(2, 4): a place is inside a rune":                      func(w *hooks.Window) { w.Replace(2, 4, "x") },
		"Replace(0, 1) after one up to 4":                              func(w *hooks.Window) { w.Replace(1, 4, "x"); w.Replace(0, 1, "x") },
		"Replace(0, 4) reaches into what Hold(1) keeps":                func(w *hooks.Window) { w.Hold(1); w.Replace(0, 4, "x") },
		"Hold(9): there are 4 bytes":                                   func(w *hooks.Window) { w.Replace(0, 1, "x"); w.Hold(9); w.Hold(-9) },
		"Replace(1, 4) reaches into what Hold(0) keeps":                func(w *hooks.Window) { w.Replace(1, 4, "x"); w.Hold(0) },
		"Replace(4, 4) reaches into what Hold(1) keeps":                func(w *hooks.Window) { w.Replace(4, 4, "x"); w.Hold(1) },
		"Replace(0, 1) after one up to 1: replace in the order of the": func(w *hooks.Window) { w.Replace(0, 1, "x"); w.Replace(0, 1, "x") },
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			shown, failure := throughWindow(t, "a€", func(w *hooks.Window) error { do(w); return nil })
			assert.ErrorContains(t, failure, "hooks: Window: "+says)
			assert.Equal(t, "a€", shown)
		})
	}
}

// A window that is kept does nothing any more.
func TestWindow_isValidForOneCall(t *testing.T) {
	t.Parallel()
	var kept *hooks.Window
	shown, failure := throughWindow(t, "abc", func(w *hooks.Window) error {
		kept = w
		return nil
	})
	kept.Hold(-1)
	kept.Replace(0, 1, "x")
	assert.NoError(t, failure)
	assert.Equal(t, "abc", shown)
}

// What is let through is what there was, for every place where text is cut, held and
// replaced.
func TestWindow_letsThroughOnce(t *testing.T) {
	t.Parallel()
	const text = "aé€🙂b\xffc"
	begins := map[int]bool{len(text): true} // a rune, or a byte that belongs to none
	for i := range text {
		begins[i] = true
	}
	for hold := range len(text) + 1 {
		var seen []string
		shown, failure := throughWindow(t, text, func(w *hooks.Window) error {
			seen = append(seen, string(w.Text()))
			if len(seen) == 1 {
				w.Hold(hold)
			}
			return nil
		})
		assert.Equal(t, text, shown, hold)
		assert.Equal(t, begins[hold], failure == nil, hold)
		if failure == nil {
			assert.Equal(t, []string{text, text[hold:]}, seen)
		} else {
			assert.Equal(t, []string{text}, seen)
		}
	}
}

// Of several places to hold from, the smallest counts.
func TestWindow_holdsFromTheSmallestPlace(t *testing.T) {
	t.Parallel()
	var seen []string
	shown, failure := throughWindow(t, "abc", func(w *hooks.Window) error {
		if seen = append(seen, string(w.Text())); len(seen) == 1 {
			w.Hold(2)
			w.Hold(1)
			w.Hold(3)
		}
		return nil
	})
	assert.NoError(t, failure)
	assert.Equal(t, "abc", shown)
	assert.Equal(t, []string{"abc", "bc"}, seen)
}
