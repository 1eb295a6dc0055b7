package policy_test

// What README.md promises: its code compiles, prints what it says and is what is
// tested, the cells of its tables are code too, and priorities are as it lists them.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// readmeImports are the packages that a fragment may use without importing them.
var readmeImports = map[string]string{
	"context": "context", "json": "encoding/json", "testing": "testing", "time": "time",
	"hooks": "github.com/loophooks/hooks", "hookstest": "github.com/loophooks/hooks/hookstest", "policy": "github.com/loophooks/hooks/policy",
	"os": "os",
}

var (
	readmeBlock     = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")
	readmeQualifier = regexp.MustCompile(`\b([a-z]+)\.[A-Z]`)
	readmeRow       = regexp.MustCompile(`(?m)^\| .* \| (.*) \|$`)
	readmeCode      = regexp.MustCompile("`(policy\\.[^`]*\\))`")
)

// readmeBlocks returns the blocks of a language.
func readmeBlocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var blocks []string
	for _, block := range readmeBlock.FindAllStringSubmatch(string(text), -1) {
		if block[1] == language {
			blocks = append(blocks, block[2])
		}
	}
	require.NotEmpty(t, blocks, language)
	return blocks
}

// readmeFile makes a compilable file of a block: whole programs are taken as they
// are, others get a package clause and imports, and statements a function.
func readmeFile(block string) string {
	if strings.HasPrefix(block, "package ") {
		return block
	}
	if strings.HasPrefix(block, "policy.") {
		block = "func statements() {\n" + block + "}\n"
	}
	var imports []string
	for _, m := range readmeQualifier.FindAllStringSubmatch(block, -1) {
		if path, ok := readmeImports[m[1]]; ok {
			imports = append(imports, fmt.Sprintf("import %q\n", path))
		}
	}
	slices.Sort(imports)
	return "package fragment\n\n" + strings.Join(slices.Compact(imports), "") + "\n" + block
}

// readmeCells makes a function of the code in the tables.
func readmeCells(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString("func cells(ctx context.Context, root *os.Root, log *policy.AuditLog, key []byte, schema json.RawMessage, prices map[string]policy.Price, secret string) {\n")
	cells := 0
	for _, row := range readmeRow.FindAllStringSubmatch(string(text), -1) {
		for _, code := range readmeCode.FindAllStringSubmatch(row[1], -1) {
			results := "_"
			if !strings.Contains(code[1], "Register(") {
				results = "_, _" // with an ok or an error
			}
			fmt.Fprintf(&b, "\t%s = %s\n", results, code[1])
			cells++
		}
	}
	require.GreaterOrEqual(t, cells, 16, "one for each policy")
	b.WriteString("}\n")
	return readmeFile(b.String())
}

func TestReadme_codeCompilesAndPrintsWhatItSays(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	sum, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	_, requires, _ := strings.Cut(string(mod), "\nrequire")
	requires, _, _ = strings.Cut(requires, "\nreplace")
	write("go.mod", fmt.Sprintf("module readme\n\ngo 1.26.5\n\nrequire github.com/loophooks/hooks/policy v0.0.0\n\n"+
		"replace github.com/loophooks/hooks => %s\n\nreplace github.com/loophooks/hooks/policy => %s\n\nrequire%s\n", filepath.Dir(here), here, requires))
	write("go.sum", string(sum))
	var program string
	for i, block := range readmeBlocks(t, "go") {
		folder := fmt.Sprint("block", i)
		write(filepath.Join(folder, "code.go"), readmeFile(block))
		if strings.HasPrefix(block, "package main\n") {
			program = folder
		}
	}
	write("cells/code.go", readmeCells(t))

	command := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	command("vet", "./...")
	require.NotEmpty(t, program)
	assert.Equal(t, readmeBlocks(t, "text")[0], command("run", "./"+program))
}

func TestReadme_linksExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	links := regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		assert.FileExists(t, filepath.FromSlash(link[1]))
	}
}

func TestReadme_setIsTheOneThatIsTested(t *testing.T) {
	t.Parallel()
	tested, err := os.ReadFile("example_set_test.go")
	require.NoError(t, err)
	blocks := readmeBlocks(t, "go")
	assert.Contains(t, string(tested), blocks[len(blocks)-1])
}

func TestReadme_order(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	reg := hooks.NewRegistry()
	in := hooks.In(reg)
	for _, p := range []interface {
		Register(opts ...hooks.Option) *hooks.Group
	}{
		policy.Tools{Deny: []string{"x"}}, policy.Schema{Strict: true}, policy.Paths{Root: root}, policy.URLs{Hosts: []string{"example.com"}},
		policy.Loops{}, policy.Rate{Limit: 1}, policy.Rate{Limit: 1, Attempts: true}, policy.Budget{ToolCalls: 1}, policy.Approval{},
		policy.Audit{Log: policy.NewAuditLog(new(strings.Builder), make([]byte, 16))}, policy.Redact{With: policy.Token},
		policy.Cache{}, policy.Fallback{Models: []string{"x"}}, policy.Retry{}, policy.Timeout{After: 1}, policy.Truncate{}, policy.History{Tokens: 1},
	} {
		p.Register(in)
	}
	// found lists what has a kind at the points, in the form of the page.
	found := func(kind hooks.Kind, points ...hooks.AnyPoint) (all []string) {
		for _, p := range points {
			for _, r := range reg.Hooks(p) {
				if r.Kind() == kind {
					all = append(all, fmt.Sprint(strings.TrimPrefix(r.Name(), "policy."), " ", r.Priority()))
				}
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	want := map[string][]string{
		"hooks before model calls": found(hooks.KindHook, hooks.PreModelCall),
		"hooks before tool calls":  found(hooks.KindHook, hooks.PreToolCall),
		"guards":                   found(hooks.KindGuard, hooks.PreToolCall),
		"around the body":          found(hooks.KindAround, hooks.ModelBody, hooks.ToolBody),
		"hooks behind tool calls":  found(hooks.KindHook, hooks.PostToolCall),
	}
	lines := 0
	for line := range strings.Lines(readmeBlocks(t, "text")[1]) {
		place, list, _ := strings.Cut(strings.TrimSpace(line), "  ")
		listed := strings.Split(strings.TrimSpace(list), ", ")
		priorities := make([]int, len(listed))
		for i, entry := range listed {
			_, number, _ := strings.Cut(entry, " ")
			n, err := strconv.Atoi(number)
			require.NoError(t, err, entry)
			priorities[i] = -n
		}
		assert.True(t, slices.IsSorted(priorities), "%s: as they run", place)
		listed = slices.DeleteFunc(listed, func(entry string) bool { return strings.HasPrefix(entry, "command ") }) // its own tests know
		slices.Sort(listed)
		assert.Equal(t, want[place], listed, place)
		lines++
	}
	assert.Len(t, want, lines)
}
