package command

// The options of Load, and what they are without being given.

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loophooks/hooks/internal/toolname"
)

// Option changes how [Load] reads settings and how their scripts run. If one is
// given twice, the last one wins. A nil Option is an error of Load.
type Option func(*options)

type options struct {
	toolNames  map[string]string
	toolKeys   []string // of toolNames, sorted
	dir        string
	env        []string
	envSet     bool
	prompt     string
	shell      []string
	shellSet   bool
	failClosed bool
	stopAborts bool
	ignores    bool
	ignored    func(string)
}

// ToolNames tells scripts the names of tools that they know: "run_shell": "Bash".
// The keys are the names that tools have here, in any spelling; none is a pattern.
// Matchers look at both names.
func ToolNames(names map[string]string) Option {
	names = maps.Clone(names)
	return func(o *options) { o.toolNames = names }
}

// Dir is the folder in which scripts run, and which they find in the variable
// CLAUDE_PROJECT_DIR. The default is the working directory of the process at [Load].
func Dir(path string) Option {
	return func(o *options) { o.dir = path }
}

// Env is the environment of scripts, each entry "key=value", without anything of the
// environment of the process. The default is [os.Environ] when a script starts.
// CLAUDE_PROJECT_DIR is added to it.
func Env(env []string) Option {
	env = slices.Clone(env)
	return func(o *options) { o.env, o.envSet = env, true }
}

// Prompt names the input of an execution that holds the prompt, "prompt" by default.
// It is what UserPromptSubmit scripts are asked about and text is added to; where
// an execution has no such input, they read "".
func Prompt(key string) Option {
	return func(o *options) { o.prompt = key }
}

// Shell is the program, and its arguments, that is given a command as its last
// argument: "sh", "-c" by default. On Windows there is none by default.
func Shell(command ...string) Option {
	command = slices.Clone(command)
	return func(o *options) { o.shell, o.shellSet = command, true }
}

// FailClosed makes the failure of any script block what the script was asked about,
// as "onFailure": "block" does for one. A SessionEnd script can't block anything.
func FailClosed() Option {
	return func(o *options) { o.failClosed = true }
}

// StopAborts lets Stop scripts withhold the output of an execution, which then fails.
// In the program that they were written for they make the agent go on.
func StopAborts() Option {
	return func(o *options) { o.stopAborts = true }
}

// IgnoreUnknown makes [Load] pass over events and fields that it doesn't know, and
// tells f the place of each; f may be nil. Unknown fields in what a script answers are
// then logged. It changes nothing about what Load knows and can't honour.
func IgnoreUnknown(f func(place string)) Option {
	return func(o *options) { o.ignores, o.ignored = true, f }
}

// collect applies opts and completes what they leave open for a program on goos.
func collect(goos string, opts []Option) (options, error) {
	o := options{prompt: "prompt"}
	var errs []error
	bad := func(option, problem string, err error) {
		errs = append(errs, &LoadError{Place: option, Problem: problem, Err: err})
	}
	for i, opt := range opts {
		if opt == nil {
			bad(fmt.Sprintf("option %d", i), "it is nil; leave it out", nil)
			continue
		}
		opt(&o)
	}
	if o.prompt == "" {
		bad("Prompt", `the key is empty; name the input that holds the prompt, or leave the option out for "prompt"`, nil)
	}
	o.toolKeys = slices.Sorted(maps.Keys(o.toolNames))
	if problem := o.badNames(); problem != "" {
		bad("ToolNames", problem, nil)
	}
	for i, entry := range o.env { // which may be a secret
		// Windows has variables whose names begin with =.
		if strings.IndexByte(entry, '=') < 0 || goos != "windows" && entry[0] == '=' || strings.ContainsRune(entry, 0) {
			bad("Env", fmt.Sprintf(`entry %d isn't of the form "key=value"`, i), nil)
		}
	}
	var err error
	if o.dir, err = folder(o.dir); err != nil {
		bad("Dir", "scripts can't run there; name a folder that exists", err)
	}
	if err := o.findShell(goos); err != nil {
		bad("Shell", "no script can run; name the program that takes a command as its last argument", err)
	}
	return o, errors.Join(errs...)
}

// folder returns the absolute path of dir, which must be a folder.
func folder(dir string) (string, error) {
	abs, err := filepath.Abs(dir) // "" is the working directory
	if err != nil {
		return "", err
	}
	switch info, err := os.Stat(abs); {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%s isn't a folder", abs)
	}
	return abs, nil
}

func (o *options) findShell(goos string) error {
	switch {
	case o.shellSet:
	case goos == "windows":
		return errors.New(`there is no default on Windows; give one, as Shell("bash", "-c")`)
	default:
		o.shell = []string{"sh", "-c"}
	}
	if len(o.shell) == 0 || o.shell[0] == "" {
		return errors.New("the program is empty")
	}
	if slices.ContainsFunc(o.shell, func(s string) bool { return strings.ContainsRune(s, 0) }) {
		return errors.New("an argument holds a NUL character")
	}
	path, err := exec.LookPath(o.shell[0])
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil { // scripts run in another folder
		return err
	}
	o.shell = append([]string{path}, o.shell[1:]...)
	return nil
}

// badNames says what is wrong with the names of tools, "" for nothing.
func (o *options) badNames() string {
	names := o.toolNames
	seen := make(map[string]string)
	for _, name := range o.toolKeys {
		folded := toolname.Fold(name)
		first, twice := seen[folded]
		switch {
		case folded == "" || names[name] == "":
			return fmt.Sprintf("%q for %q: neither name may be empty", names[name], name)
		case strings.ContainsAny(name, "*?"):
			return fmt.Sprintf("%q is a pattern; name each tool by itself", name)
		case twice && names[first] != names[name]:
			return fmt.Sprintf("%q and %q are spellings of one tool; give one name for it", first, name)
		}
		seen[folded] = name
	}
	return ""
}
