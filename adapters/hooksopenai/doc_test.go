package hooksopenai_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docImports are the packages that the README uses.
var docImports = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "json": "encoding/json", "os": "os",
	"hooks": "github.com/loophooks/hooks", "hooksopenai": "github.com/loophooks/hooks/adapters/hooksopenai",
	"openai": "github.com/openai/openai-go/v3",
}

func TestReadme_codeCompiles(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, blocks)
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	dir, err := os.MkdirTemp("testdata", "readme")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var args []string
	for i, block := range blocks {
		code := "package fragment\n\n"
		for name, path := range docImports {
			if regexp.MustCompile(`\b` + name + `\.`).MatchString(block[1]) {
				code += fmt.Sprintf("import %q\n", path)
			}
		}
		folder := filepath.Join(dir, fmt.Sprint(i))
		require.NoError(t, os.Mkdir(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "code.go"), []byte(code+"\n"+block[1]), 0o600))
		args = append(args, "./"+folder)
	}
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"vet"}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestReadme_namesTheVersion(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`openai-go/v3 (v\S+)`).FindStringSubmatch(string(mod))
	require.NotNil(t, version)
	assert.Contains(t, string(text), "openai-go/v3 "+version[1])
}
