package hooksmcp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadme_codeCompiles vets the fragments of the README as one package of this module.
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
	paths := map[string]string{
		"context": "context", "hooks": "github.com/loophooks/hooks", "hooksmcp": "github.com/loophooks/hooks/adapters/hooksmcp",
		"mcp": "github.com/modelcontextprotocol/go-sdk/mcp",
	}
	for i, block := range blocks {
		var b strings.Builder
		b.WriteString("package readme\n\n")
		for name, path := range paths {
			if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(block[1]) {
				b.WriteString("import \"" + path + "\"\n")
			}
		}
		b.WriteString("\n" + block[1])
		require.NoError(t, os.WriteFile(filepath.Join(dir, string(rune('a'+i))+".go"), []byte(b.String()), 0o600))
	}
	out, err := exec.CommandContext(t.Context(), "go", "vet", "./"+dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestModule_pinsTheVersionThatTheReadmeNames(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`modelcontextprotocol/go-sdk (v\S+)`).FindSubmatch(mod)
	require.NotNil(t, version)
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.Contains(t, string(text), string(version[1]))
}
