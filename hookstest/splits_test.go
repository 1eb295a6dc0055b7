package hookstest_test

// Filters that depend on the pieces, and filters that don't.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// keyMask hides a key, and holds back what may become one if careful is set.
func keyMask(careful bool) func() hooks.Filter {
	key := []byte("sk-42")
	return func() hooks.Filter {
		return func(_ context.Context, w *hooks.Window) error {
			text, at := w.Text(), 0
			for i := bytes.Index(text, key); i >= 0; i = bytes.Index(text[at:], key) {
				w.Replace(at+i, at+i+len(key), "***")
				at += i + len(key)
			}
			for n := min(len(key)-1, len(text)-at); careful && !w.Final() && n > 0; n-- {
				if bytes.HasSuffix(text, key[:n]) {
					w.Hold(len(text) - n)
					break
				}
			}
			return nil
		}
	}
}

// refuser refuses a text with a word in it, and lets nothing else of it through
// before that.
func refuser() hooks.Filter {
	return func(_ context.Context, w *hooks.Window) error {
		if bytes.Contains(w.Text(), []byte("bad")) {
			return hooks.Abort("a bad word")
		}
		if !w.Final() {
			w.Hold(0)
		}
		return nil
	}
}

func TestSplits(t *testing.T) {
	t.Parallel()
	hookstest.Splits(t, keyMask(true), "the key is sk-42; sk-4, sk-42sk-42 and €sk-42\xff sk-4")
	hookstest.Splits(t, keyMask(false), "without one")
	hookstest.Splits(t, keyMask(true), "")
	hookstest.Splits(t, func() hooks.Filter { return nil }, "whatever")
	hookstest.Splits(t, refuser, "a bad one")
	hookstest.Splits(t, refuser, "a good one")
}

// reporter keeps what a test that fails would print.
type reporter struct {
	testing.TB
	said string
}

var errStop = errors.New("the test ends here")

func (r *reporter) Helper()                           {}
func (r *reporter) Context() context.Context          { return r.TB.Context() }
func (r *reporter) Errorf(format string, args ...any) { r.said += fmt.Sprintf(format, args...) }
func (r *reporter) Fatal(args ...any)                 { r.said += fmt.Sprint(args...); panic(errStop) }
func (r *reporter) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(errStop)
}

func TestSplits_fails(t *testing.T) {
	t.Parallel()
	for says, tt := range map[string]struct {
		open func() hooks.Filter
		text string
	}{
		`of ["a sk-42"]: "a ***"
of ["a" " " "s" "k" "-" "4" "2"]: "a sk-42"`: {keyMask(false), "a sk-42"},
		`of ["bad"]: it was refused (a bad word) when "" was shown`: {func() hooks.Filter {
			return func(_ context.Context, w *hooks.Window) error {
				if string(w.Text()) == "bad" {
					return hooks.Abort("a bad word")
				}
				return nil
			}
		}, "bad"},
		"the filter failed: broken": {func() hooks.Filter {
			return func(_ context.Context, w *hooks.Window) error {
				if len(w.Text()) == 1 {
					return errors.New("broken")
				}
				return nil
			}
		}, "text"},
		"failed on the text in one piece: broken": {func() hooks.Filter {
			return func(context.Context, *hooks.Window) error { return errors.New("broken") }
		}, "text"},
		"open is nil": {nil, "text"},
	} {
		r := &reporter{TB: t}
		func() {
			defer func() {
				if v := recover(); v != nil {
					assert.Equal(t, errStop, v)
				}
			}()
			hookstest.Splits(r, tt.open, tt.text)
		}()
		assert.Contains(t, r.said, says)
	}
}
