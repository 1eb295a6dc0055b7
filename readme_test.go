package hooks_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docImports are the packages that a fragment of the documents may use without
// importing them.
var docImports = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "log": "log", "slog": "log/slog",
	"strings": "strings", "testing": "testing", "time": "time",
	"hooks": "github.com/loophooks/hooks", "hookstest": "github.com/loophooks/hooks/hookstest",
}

var (
	goBlock   = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	qualifier = regexp.MustCompile(`\b([a-z]+)\.[A-Z]`)
)

// goFile makes a compilable file of a block: whole programs are taken as they
// are, declarations get a package clause and imports.
func goFile(block string) string {
	if strings.HasPrefix(block, "package ") {
		return block
	}
	var imports []string
	for _, m := range qualifier.FindAllStringSubmatch(block, -1) {
		if path, ok := docImports[m[1]]; ok {
			imports = append(imports, fmt.Sprintf("import %q\n", path))
		}
	}
	slices.Sort(imports)
	return "package fragment\n\n" + strings.Join(slices.Compact(imports), "") + "\n" + block
}

func TestCodeInTheDocumentsCompiles(t *testing.T) {
	t.Parallel()
	root, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	sum, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	_, requires, _ := strings.Cut(string(mod), "\nrequire")
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("go.mod", fmt.Sprintf("module documents\n\ngo 1.26\n\nrequire github.com/loophooks/hooks v0.0.0\n\n"+
		"replace github.com/loophooks/hooks => %s\n\nrequire%s", root, requires))
	write("go.sum", string(sum))

	documents := []string{"README.md", "docs/security.md"}
	for _, name := range documents {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		blocks := goBlock.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, blocks, "%s has no code", name)
		for i, block := range blocks {
			write(fmt.Sprintf("%s_%d/code.go", strings.NewReplacer("/", "_", ".md", "").Replace(strings.ToLower(name)), i+1), goFile(block[1]))
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestFirstProgramOfTheReadmePrintsWhatItSays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	program := goBlock.FindStringSubmatch(string(text))[1]
	says := regexp.MustCompile(`(?m)^\t// (Tool execution .*)$`).FindStringSubmatch(program)
	require.NotNil(t, says)
	dir, err := os.MkdirTemp("testdata", "readme")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "run", "./"+dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, says[1], strings.TrimSpace(string(out)))
}
