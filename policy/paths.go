package policy

// Paths that stay inside a directory.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loophooks/hooks"
)

// Paths keeps the files that tools open inside a directory. Register it with
// [hooks.WithTools] for the tools that it is for.
//
// A hook at [hooks.PreToolCall] puts the clean form of each path into the Input: with
// / for \, and without . and .. and doubled slashes. A guard lets clean paths pass
// and no others. Refused, alike on all systems, is a path that is empty or absolute,
// that leaves the directory, ends in a slash, isn't UTF-8, or has a colon, a control
// character, or a name that ends in a dot or a space. "." is the directory itself.
// The guard also looks the path up in Root: a symbolic link that leads out of it is
// refused, and so is what can't be looked up; a file that isn't there passes, since
// the tool may make it.
//
// That is no boundary. A link can be made between the check and the opening, and
// arguments that aren't among Args aren't looked at. A hook around [hooks.ToolBody] gives
// the tool the directory itself: a tool that opens its files through [RootFrom], and
// fails where that has none, stays inside. [os.Root] does the work there; it doesn't
// hold back device files, mounts, or what is in the directory already.
//
// A missing argument passes. One of another type is refused, and so is a key that
// equals one of Args but for its case. The reasons name the argument, and never hold
// its value: path must stay inside the working directory.
type Paths struct {
	Root *os.Root // the directory; required, and the caller's to close, after the runs have ended
	Args []string // arguments with a path or a list of paths; {"path"} if nil
}

// Register registers the policy, with opts behind its own options: its name is
// "policy.Paths", the priority of the guard 600, that of the hook -950, behind hooks
// that edit arguments, and that of the hook around the body -700. It panics where Root
// is nil or closed, and where Args is empty or has an empty name. What is registered is
// safe for concurrent use. A Root that is closed later makes the guard fail, which
// refuses the calls. In loops on the Begin forms the guard works, and RootFrom has
// nothing.
func (p Paths) Register(opts ...hooks.Option) *hooks.Group {
	if p.Root == nil {
		panic("policy: Paths needs a Root; open the directory by os.OpenRoot")
	}
	_, err := p.Root.Stat("..")
	if errors.Is(err, fs.ErrClosed) {
		panic("policy: Paths: the Root is closed; close it when the runs have ended")
	}
	if bad, ok := errors.AsType[*fs.PathError](err); ok {
		err = bad.Err
	}
	d := &directory{root: p.Root, args: newTextArgs("Paths", p.Args, "path"), escapes: err}
	return register(opts, func(r *registrar) {
		r.add(hooks.On(hooks.PreToolCall, d.tidy, r.with("policy.Paths", -950)...))
		r.add(hooks.Guard(hooks.PreToolCall, d.guard, r.with("policy.Paths", 600)...))
		r.add(hooks.Around(hooks.ToolBody, d.hand, r.with("policy.Paths", -700)...))
	})
}

// RootFrom returns the directory that [Paths] gives a tool, from the ctx of its body.
// It reports false where no Paths covers the call: a tool that needs one should fail
// then. Of several the innermost counts: the one registered last, or of the lowest
// priority. A sub-agent that a tool runs has the tool's, unless its own tools have one.
// The Root isn't the tool's to close.
func RootFrom(ctx context.Context) (*os.Root, bool) {
	root, ok := ctx.Value(rootKey{}).(*os.Root)
	return root, ok
}

type rootKey struct{}

// directory is one registration of Paths.
type directory struct {
	root    *os.Root
	args    textArgs
	escapes error // what os.Root returns for a path that leaves it, which package os doesn't export
}

// tidy puts clean forms into the input. What has none is left for the guard to refuse.
func (d *directory) tidy(_ context.Context, t *hooks.ToolCall) error {
	if t.ArgumentsError() != nil {
		return nil
	}
	for _, name := range d.args {
		texts, ok := textsOf(t.Input[name])
		if !ok {
			continue
		}
		for _, text := range texts {
			if clean, err := cleanPath(text); err == nil && clean != text {
				t.Input[name] = editTexts(t.Input[name], cleanedPath)
				break
			}
		}
	}
	return nil
}

func (d *directory) guard(_ context.Context, t *hooks.ToolCall) error {
	return d.args.judge(t, d.check)
}

// check judges one path.
func (d *directory) check(name, p string) error {
	clean, err := cleanPath(p)
	if err != nil {
		return hooks.Abort(name + " must " + err.Error())
	}
	if clean != p { // edited behind the hook
		return hooks.Abort(name + " must be written with /, and without . and .. and doubled slashes")
	}
	_, err = d.root.Stat(filepath.FromSlash(p))
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrClosed):
		return fmt.Errorf("policy: Paths: the Root is closed: %w", fs.ErrClosed)
	case errors.Is(err, d.escapes):
		return hooks.Abort(name + " must " + errOutside.Error())
	}
	return hooks.Abort(name + " must be a path that can be opened")
}

// hand gives the tool the directory.
func (d *directory) hand(ctx context.Context, _ *hooks.ToolCall, next func(context.Context) error) error {
	return next(context.WithValue(ctx, rootKey{}, d.root))
}

// What a path must do, with the name of its argument in front.
var (
	errOutside  = errors.New("stay inside the working directory")
	errNoPath   = errors.New("not be empty")
	errUnseen   = errors.New("be valid UTF-8 without control characters")
	errColon    = errors.New("have no colon")
	errSlash    = errors.New("not end in a slash")
	errNameEnds = errors.New("have no name that ends in a dot or a space")
)

// cleanPath returns the clean form of p. It fails for a path that doesn't stay inside
// the directory that it is relative to, on any system, or that some system takes for
// another one.
func cleanPath(p string) (string, error) {
	p = strings.ReplaceAll(p, `\`, "/")
	switch {
	case p == "":
		return "", errNoPath
	case !utf8.ValidString(p), strings.ContainsFunc(p, unicode.IsControl):
		return "", errUnseen
	case strings.HasPrefix(p, "/"), len(p) > 1 && p[1] == ':': // of \\server\share too, and of C:x
		return "", errOutside
	case strings.Contains(p, ":"): // on Windows, a stream of a file
		return "", errColon
	case strings.HasSuffix(p, "/"):
		return "", errSlash
	}
	for name := range strings.SplitSeq(p, "/") {
		if name != "." && name != ".." && strings.TrimRight(name, ". ") != name { // Windows drops these
			return "", errNameEnds
		}
	}
	p = path.Clean(p)
	if !filepath.IsLocal(filepath.FromSlash(p)) { // which knows the names of devices on Windows
		return "", errOutside
	}
	return p, nil
}

// cleanedPath returns the clean form of p, or p if it has none.
func cleanedPath(p string) string {
	if clean, err := cleanPath(p); err == nil {
		return clean
	}
	return p
}
