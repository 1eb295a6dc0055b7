package policy_test

// That the table of who runs where, in the package comment, is what Register does.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everyPolicy returns each policy, in as many forms as it takes to have all that it
// registers.
func everyPolicy(t *testing.T) []registrable {
	t.Helper()
	_, root := openDir(t)
	return []registrable{
		policy.Approval{},
		policy.Audit{Log: policy.NewAuditLog(new(strings.Builder), auditKey)},
		policy.Budget{ToolCalls: 1, Report: ignoreBill},
		policy.Cache{}, policy.Cache{Tools: []string{"*"}},
		policy.Fallback{Models: []string{"small"}},
		policy.History{Tokens: 1},
		policy.Loops{},
		policy.Paths{Root: root},
		policy.Rate{Limit: 1}, policy.Rate{Limit: 1, Model: true},
		policy.Rate{Limit: 1, Attempts: true}, policy.Rate{Limit: 1, Model: true, Attempts: true},
		policy.Redact{With: policy.Token, Where: policy.Prompts | policy.Answers | policy.Results | policy.Arguments},
		policy.Retry{}, policy.Retry{Tools: []string{"*"}},
		policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(`{}`)}},
		policy.Timeout{After: time.Second}, policy.Timeout{After: time.Second, Tools: []string{"*"}},
		policy.Tools{Deny: []string{"rm"}},
		policy.Truncate{},
		policy.URLs{Hosts: []string{"example.com"}},
	}
}

// place is where a policy runs.
type place struct {
	point    string
	kind     hooks.Kind
	policy   string
	priority int
}

// everyPoint are the points, bodies and streams of the package, by their names in Go.
var everyPoint = map[string]hooks.AnyPoint{
	"ExecutionStart": hooks.ExecutionStart, "Input": hooks.Input, "ExecutionBody": hooks.ExecutionBody,
	"PreStep": hooks.PreStep, "StepBody": hooks.StepBody, "PostStep": hooks.PostStep,
	"PreModelCall": hooks.PreModelCall, "ModelBody": hooks.ModelBody, "ModelStream": hooks.ModelStream, "PostModelCall": hooks.PostModelCall,
	"PreToolCall": hooks.PreToolCall, "ToolBody": hooks.ToolBody, "ToolStream": hooks.ToolStream, "PostToolCall": hooks.PostToolCall,
	"Output": hooks.Output, "ExecutionEnd": hooks.ExecutionEnd,
}

func TestOrder_tableIsWhatRegisterDoes(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	for _, p := range everyPolicy(t) {
		p.Register(hooks.In(reg))
	}
	var want []place
	seen := 0
	for name, point := range everyPoint {
		for _, r := range reg.Hooks(point) {
			seen++
			p := place{name, r.Kind(), strings.TrimPrefix(r.Name(), "policy."), r.Priority()}
			if !slices.Contains(want, p) { // twice by another form of the policy, or for each set of Redact
				want = append(want, p)
			}
		}
	}
	require.Equal(t, seen, reg.ClearAll(), "there are hooks at a point that this test doesn't know")

	table := orderTable(t)
	assert.ElementsMatch(t, want, table)
	for i, p := range table[1:] {
		if before := table[i]; before.point == p.point && before.kind == p.kind {
			assert.Negative(t, cmp.Or(cmp.Compare(p.priority, before.priority), cmp.Compare(before.policy, p.policy)), "%v stands before %v", before, p)
		}
	}
}

// All policies of the package are in the test above.
func TestOrder_hasEveryPolicy(t *testing.T) {
	t.Parallel()
	tested := make(map[string]bool)
	for _, p := range everyPolicy(t) {
		tested[reflect.TypeOf(p).Name()] = true
	}
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	found := 0
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Register" {
				continue
			}
			name, ok := f.Recv.List[0].Type.(*ast.Ident)
			require.True(t, ok, "%s: Register isn't a value method", source)
			assert.True(t, tested[name.Name], "%s isn't in everyPolicy", name.Name)
			found++
		}
	}
	assert.Len(t, tested, found)
}

// orderTable reads the table in the package comment, and fails for a line of it that it
// can't read.
func orderTable(t *testing.T) (table []place) {
	t.Helper()
	source, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(source), "// # The order\n")
	require.True(t, ok)
	section, _, ok = strings.Cut(section, "// # ")
	require.True(t, ok)
	entry := regexp.MustCompile(`^(\w+) (-?\d+)$`)
	lines := 0
	for line := range strings.Lines(section) {
		text, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			continue
		}
		lines++
		fields := strings.Fields(text)
		require.Greater(t, len(fields), 2, line)
		require.Contains(t, everyPoint, fields[0])
		for policy := range strings.SplitSeq(strings.Join(fields[2:], " "), ", ") {
			m := entry.FindStringSubmatch(policy)
			require.NotNil(t, m, "%q in %q", policy, line)
			p := place{fields[0], hooks.Kind(fields[1]), m[1], 0}
			_, err := fmt.Sscan(m[2], &p.priority)
			require.NoError(t, err)
			table = append(table, p)
		}
	}
	require.NotZero(t, lines)
	return table
}
