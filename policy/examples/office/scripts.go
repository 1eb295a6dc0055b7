package main

// The hook scripts: the embedded ones, or those of -policy.

import (
	"bytes"
	"embed"
	"fmt"
	"os"

	"github.com/loophooks/hooks/command"
)

//go:embed settings
var embedded embed.FS

// settingsError says that a settings file can't be used.
type settingsError struct {
	file string
	err  error
}

func (e *settingsError) Error() string { return fmt.Sprintf("settings %s: %v", e.file, e.err) }
func (e *settingsError) Unwrap() error { return e.err }

// loadScripts reads the settings file, or the embedded one if that is "", whose script
// stands in dir.
func loadScripts(file, dir string) (*command.Config, error) {
	options := []command.Option{command.ToolNames(map[string]string{
		"run_shell": "Bash", "read_file": "Read", "fetch": "WebFetch", "search": "WebSearch",
	})}
	text, err := os.ReadFile(file)
	if file == "" {
		file = "settings.json (embedded)"
		options = append(options, command.Dir(dir))
		text, err = embedded.ReadFile("settings/settings.json")
	}
	if err != nil {
		return nil, &settingsError{file, err}
	}
	config, err := command.Load(bytes.NewReader(text), options...)
	if err != nil {
		return nil, &settingsError{file, err}
	}
	return config, nil
}
