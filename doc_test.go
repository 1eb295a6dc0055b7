package hooks_test

// What the documents promise: their code compiles and prints what they say, and
// the exported surface is the one that testdata/api lists.

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docImports are the packages that a fragment of the documents may use without
// importing them.
var docImports = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "iter": "iter", "log": "log", "slog": "log/slog", "maps": "maps", "slices": "slices",
	"strings": "strings", "testing": "testing", "time": "time", "atomic": "sync/atomic",
	"hooks": "github.com/loophooks/hooks", "hookstest": "github.com/loophooks/hooks/hookstest", "redact": "github.com/loophooks/hooks/redact", "command": "github.com/loophooks/hooks/command",
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

func TestDocuments_codeCompiles(t *testing.T) {
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

	documents, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	found := make(map[string]int)
	for _, name := range append(documents, "README.md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, block := range goBlock.FindAllStringSubmatch(string(text), -1) {
			found[name]++
			folder := strings.NewReplacer(string(filepath.Separator), "_", ".md", "").Replace(strings.ToLower(name))
			write(fmt.Sprintf("%s_%d/code.go", folder, found[name]), goFile(block[1]))
		}
	}
	require.NotZero(t, found["README.md"], "the README has no code")
	require.NotZero(t, found[filepath.Join("docs", "security.md")], "the page on security has no code")
	cmd := exec.CommandContext(t.Context(), "go", "vet", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestReadme_firstProgramPrints(t *testing.T) {
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

// TestDocuments_loopKeepsTheRules puts the loop that docs/embedding.md shows
// through the kit. It has no steps.
func TestDocuments_loopKeepsTheRules(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("docs", "embedding.md"))
	require.NoError(t, err)
	var loop string
	for _, block := range goBlock.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], "func Answer(") {
			loop = goFile(block[1])
		}
	}
	require.NotEmpty(t, loop)
	dir, err := os.MkdirTemp("testdata", "embedding")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "loop.go"), []byte(loop), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "loop_test.go"), []byte(loopAdapter), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "./"+dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestAnswer/", "no scenario was played")
}

// loopAdapter builds that loop from what the kit gives.
const loopAdapter = `package fragment

import (
	"context"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

func TestAnswer(t *testing.T) {
	marked := hookstest.MarksErrors(func(m hooks.Message) bool { return strings.HasPrefix(m.Content, "Error: ") })
	hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop {
		tools := make(map[string]any)
		for _, tool := range s.Tools {
			tools[tool.Name] = tool
		}
		return func(ctx context.Context, prompt string) (string, error) {
			output, err := Answer(ctx, prompt, tools, func(ctx context.Context, m *hooks.ModelCall) error {
				reply, err := s.Model(ctx, hookstest.Request{Messages: m.Messages, Tools: m.Tools, Model: m.Model})
				m.Response, m.ToolCalls = reply.Text, reply.ToolCalls
				return err
			}, func(ctx context.Context, t *hooks.ToolCall) (err error) {
				tool, known := tools[t.Name].(hookstest.Tool)
				if !known {
					return hooks.ErrNoTool
				}
				t.Result, err = tool.Run(ctx, t.Input)
				return err
			})
			text, _ := output.(string)
			return text, err
		}
	}, hookstest.Without(hooks.PreStep, hooks.PostStep), marked)
}
`

// TestReadme_benchmarksExist looks for what the commands of the README name.
func TestReadme_benchmarksExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("bench_test.go")
	require.NoError(t, err)
	names := regexp.MustCompile(`(?m)^func (Benchmark\w+)`).FindAllStringSubmatch(string(source), -1)
	commands := regexp.MustCompile("-bench '?([^' ]+)'? \\.`").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, commands)
	for _, command := range commands {
		pattern := regexp.MustCompile(command[1])
		assert.True(t, slices.ContainsFunc(names, func(name []string) bool { return pattern.MatchString(name[1]) }),
			"no benchmark matches %s", command[1])
	}
}

// documentLink is a link to a file, with its place in the page left out.
var documentLink = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestDocuments_linksExist(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	links := 0
	for _, name := range append(documents, "README.md", "CHANGELOG.md", filepath.Join("bench", "README.md")) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		prose := goBlock.ReplaceAllString(string(text), "")
		for _, link := range documentLink.FindAllStringSubmatch(prose, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(name), link[1]))
			assert.NoError(t, err, "%s links to it", name)
			links++
		}
	}
	assert.NotZero(t, links)
}

// TestMap_namesFilesThatExist holds docs/map.md to the sources: the files that
// it names exist and declare what it says they do, and it names every source of
// the root.
func TestMap_namesFilesThatExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("docs", "map.md"))
	require.NoError(t, err)
	named := make(map[string]bool)
	var source string
	for _, code := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(page), -1) {
		if strings.HasSuffix(code[1], ".go") {
			text, err := os.ReadFile(code[1])
			require.NoError(t, err)
			source, named[code[1]] = string(text), true
			continue
		}
		declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var |const |\t)` + code[1] + `\b`)
		assert.True(t, declared.MatchString(source), "%s isn't declared in the file named before it", code[1])
	}
	require.NotEmpty(t, named)
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range sources {
		if !strings.HasSuffix(file, "_test.go") {
			assert.True(t, named[file], "docs/map.md doesn't name %s", file)
		}
	}
}

var updateSurface = flag.Bool("update", false, "write the listings in testdata/api anew")

const (
	surfaceModule = "github.com/loophooks/hooks"
	surfaceFolder = "testdata/api"
)

// TestExportedSurface compares what each public package exports with its
// listing in testdata/api, so that no name, signature, field or method changes
// unnoticed. Where a change is meant, write the listings anew and commit them:
//
//	go test -run TestExportedSurface -update .
func TestExportedSurface(t *testing.T) {
	t.Parallel()
	public := surfacePackages(t)
	require.Contains(t, public, surfaceModule)
	var files []string
	for pkg, lines := range surfacesOf(t, public) {
		file := filepath.Join(surfaceFolder, path.Base(pkg)+".txt")
		files = append(files, file)
		if *updateSurface {
			require.NoError(t, os.MkdirAll(surfaceFolder, 0o755))
			require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
			continue
		}
		listing, err := os.ReadFile(file)
		require.NoError(t, err, "%s has no listing", pkg)
		listed := strings.Split(strings.TrimSuffix(string(listing), "\n"), "\n")
		if !slices.Equal(listed, lines) {
			t.Errorf("%s differs from %s:\n%s\nWhere that is meant: go test -run TestExportedSurface -update .",
				pkg, file, strings.Join(surfaceDiff(listed, lines), "\n"))
		}
	}
	present, err := filepath.Glob(surfaceFolder + "/*")
	require.NoError(t, err)
	assert.ElementsMatch(t, files, present, "one listing for each public package, and nothing else")
}

// surfacePackages returns the import paths of the packages that others may
// import. The examples are there to be read.
func surfacePackages(t *testing.T) []string {
	t.Helper()
	var public []string
	for line := range strings.Lines(surfaceGo(t, "list", "-f", "{{.ImportPath}} {{.Name}}", "./...")) {
		pkg, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		within := strings.Split(strings.TrimPrefix(pkg, surfaceModule), "/")
		if name != "main" && !slices.Contains(within, "internal") && !slices.Contains(within, "examples") {
			public = append(public, pkg)
		}
	}
	return public
}

// surfacesOf returns the listing of each package, as the compiler sees it.
func surfacesOf(t *testing.T, pkgs []string) map[string][]string {
	t.Helper()
	compiled := make(map[string]string)
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, pkgs...)
	for line := range strings.Lines(surfaceGo(t, args...)) {
		pkg, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		compiled[pkg] = file
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(pkg string) (io.ReadCloser, error) {
		return os.Open(compiled[pkg])
	})
	surfaces := make(map[string][]string)
	for _, name := range pkgs {
		pkg, err := imports.Import(name)
		require.NoError(t, err)
		surfaces[name] = surfaceOf(pkg)
	}
	return surfaces
}

func surfaceGo(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &errOut)
	return string(out)
}

// surfaceDiff returns the lines that only one of two listings has.
func surfaceDiff(before, after []string) []string {
	var diff []string
	for _, line := range before {
		if !slices.Contains(after, line) {
			diff = append(diff, "- "+line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			diff = append(diff, "+ "+line)
		}
	}
	return diff
}

// surfaceOf lists what pkg exports: a line for each name with its full type, a
// line for each field of a struct, each method of an interface and each method
// that a type has, promoted ones included. The lines are sorted.
func surfaceOf(pkg *types.Package) []string {
	s := surface{pkg: pkg}
	for _, name := range pkg.Scope().Names() {
		if ast.IsExported(name) {
			s.object(pkg.Scope().Lookup(name))
		}
	}
	slices.Sort(s.lines)
	return s.lines
}

type surface struct {
	pkg   *types.Package
	lines []string
}

func (s *surface) add(format string, args ...any) {
	s.lines = append(s.lines, "pkg "+s.pkg.Name()+", "+fmt.Sprintf(format, args...))
}

// write returns a type with packages by their names, its own without one.
func (s *surface) write(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == s.pkg {
			return ""
		}
		return p.Name()
	})
}

// signature returns parameters and results, without the word func.
func (s *surface) signature(f *types.Func) string {
	return strings.TrimPrefix(s.write(f.Type()), "func")
}

func (s *surface) object(o types.Object) {
	switch o := o.(type) {
	case *types.Const:
		s.add("const %s %s = %s", o.Name(), s.write(o.Type()), o.Val().ExactString())
	case *types.Var:
		s.add("var %s %s", o.Name(), s.write(o.Type()))
	case *types.Func:
		s.add("func %s%s", o.Name(), s.signature(o))
	case *types.TypeName:
		s.typeName(o)
	}
}

func (s *surface) typeName(o *types.TypeName) {
	var params *types.TypeParamList
	switch t := o.Type().(type) {
	case *types.Alias:
		params = t.TypeParams()
	case *types.Named:
		params = t.TypeParams()
	}
	name, receiver := o.Name(), o.Name()
	if n := params.Len(); n > 0 {
		var declared, used []string
		for p := range params.TypeParams() {
			declared = append(declared, p.Obj().Name()+" "+s.write(p.Constraint()))
			used = append(used, p.Obj().Name())
		}
		name += "[" + strings.Join(declared, ", ") + "]"
		receiver += "[" + strings.Join(used, ", ") + "]"
	}
	if a, ok := o.Type().(*types.Alias); ok {
		s.add("type %s = %s", name, s.write(a.Rhs()))
		return
	}
	switch u := o.Type().Underlying().(type) {
	case *types.Struct:
		s.add("type %s struct", name)
		s.fields(name, u)
	case *types.Interface:
		s.interfaceOf(name, u)
		return
	default:
		s.add("type %s %s", name, s.write(u))
	}
	direct := types.NewMethodSet(o.Type())
	for m := range types.NewMethodSet(types.NewPointer(o.Type())).Methods() {
		f, ok := m.Obj().(*types.Func)
		if !ok || !f.Exported() {
			continue
		}
		by := receiver
		if direct.Lookup(f.Pkg(), f.Name()) == nil {
			by = "*" + receiver
		}
		s.add("method (%s) %s%s", by, f.Name(), s.signature(f))
	}
}

// fields lists the exported fields of a struct, those of embedded structs too
// where these have no name to look them up by.
func (s *surface) fields(name string, u *types.Struct) {
	for i := range u.NumFields() {
		f := u.Field(i)
		var tag string
		if u.Tag(i) != "" {
			tag = " `" + u.Tag(i) + "`"
		}
		switch {
		case f.Exported() && f.Embedded():
			s.add("type %s struct, embedded %s%s", name, s.write(f.Type()), tag)
		case f.Exported():
			s.add("type %s struct, %s %s%s", name, f.Name(), s.write(f.Type()), tag)
		case f.Embedded():
			t := f.Type()
			if p, ok := t.(*types.Pointer); ok {
				t = p.Elem()
			}
			if inner, ok := t.Underlying().(*types.Struct); ok {
				s.fields(name, inner)
			}
		}
	}
}

func (s *surface) interfaceOf(name string, u *types.Interface) {
	if !u.IsMethodSet() {
		s.add("type %s %s", name, s.write(u))
		return
	}
	s.add("type %s interface", name)
	sealed := false
	for m := range u.Methods() {
		if m.Exported() {
			s.add("type %s interface, %s%s", name, m.Name(), s.signature(m))
		}
		sealed = sealed || !m.Exported()
	}
	if sealed {
		s.add("type %s interface, unexported methods", name)
	}
}

func TestSurface_listsEveryKindOfName(t *testing.T) {
	t.Parallel()
	const source = `package p
		const Small Kind = 3
		const Text = "a"
		const hidden = 1
		var Found = Make[int](nil)
		func Make[T comparable](from []T, more ...func(n int) error) *Box[T] { return nil }
		func hide() {}
		type Kind int
		func (k Kind) String() string { return "" }
		type Func[T any] = func(*T) bool
		type Box[T any] struct { Value, Other T; size int; inner; Kind }
		func (b *Box[T]) Get() T { return b.Value }
		func (b *Box[T]) get() {}
		type inner struct { Deep string ` + "`json:\"deep\"`" + ` }
		func (inner) Lift() {}
		type Open interface { error; Do(n int) (ok bool) }
		type Sealed interface { Do(); own() }
		type Number interface { ~int | ~uint }
		type Callback func(*Box[int])
		type Byte = byte
	`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, 0)
	require.NoError(t, err)
	pkg, err := new(types.Config).Check("p", fset, []*ast.File{file}, nil)
	require.NoError(t, err)
	want := []string{
		`const Small Kind = 3`,
		`const Text untyped string = "a"`,
		`func Make[T comparable](from []T, more ...func(n int) error) *Box[T]`,
		`method (*Box[T]) Get() T`,
		`method (Box[T]) Lift()`,
		`method (Box[T]) String() string`,
		`method (Kind) String() string`,
		`type Box[T any] struct`,
		`type Box[T any] struct, Deep string ` + "`json:\"deep\"`",
		`type Box[T any] struct, Other T`,
		`type Box[T any] struct, Value T`,
		`type Box[T any] struct, embedded Kind`,
		`type Byte = byte`,
		`type Callback func(*Box[int])`,
		`type Func[T any] = func(*T) bool`,
		`type Kind int`,
		`type Number interface{~int | ~uint}`,
		`type Open interface`,
		`type Open interface, Do(n int) (ok bool)`,
		`type Open interface, Error() string`,
		`type Sealed interface`,
		`type Sealed interface, Do()`,
		`type Sealed interface, unexported methods`,
		`var Found *Box[int]`,
	}
	for i := range want {
		want[i] = "pkg p, " + want[i]
	}
	assert.Equal(t, want, surfaceOf(pkg))
}

func TestSurface_diff(t *testing.T) {
	t.Parallel()
	assert.Empty(t, surfaceDiff([]string{"a", "b"}, []string{"a", "b"}))
	assert.Equal(t, []string{"- a", "- b 1", "+ b 2", "+ d"}, surfaceDiff([]string{"a", "b 1", "c"}, []string{"b 2", "c", "d"}))
}
