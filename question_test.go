// Questions: what a decision is bound to, and what may be decided.

package hooks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// fullQuestion returns a question with every field set.
func fullQuestion() hooks.Question {
	return hooks.Question{
		ID: "id", RunID: "run-2", RootRunID: "run-1", Tenant: "acme", AgentRole: "Clerk", CallID: "c1", Tool: "pay",
		Arguments: `{"amount":5}`, Path: []string{"c0", "c00"},
		Key: "approval", Prompt: "Pay?", Audience: []string{"finance"},
		May: []hooks.Verdict{hooks.Approve}, Offer: []hooks.Remember{hooks.Once},
		Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Again: 1, Details: map[string]string{"to": "ana"},
	}
}

func digestOf(q hooks.Question) string {
	q.Rebind()
	return q.Digest
}

// What a decision is bound to, and what only helps people decide.
func TestQuestion_digestCoversTheCall(t *testing.T) {
	t.Parallel()
	same := digestOf(fullQuestion())
	for name, tt := range map[string]struct {
		change func(*hooks.Question)
		binds  bool
	}{
		"RootRunID":         {func(q *hooks.Question) { q.RootRunID = "other" }, true},
		"Path, shorter":     {func(q *hooks.Question) { q.Path = q.Path[:1] }, true},
		"Path, longer":      {func(q *hooks.Question) { q.Path = append(q.Path, "") }, true},
		"Path, other order": {func(q *hooks.Question) { slices.Reverse(q.Path) }, true},
		"Path, joined":      {func(q *hooks.Question) { q.Path = []string{"c0c00"} }, true},
		"Path, none":        {func(q *hooks.Question) { q.Path = nil }, true},
		"CallID":            {func(q *hooks.Question) { q.CallID = "c2" }, true},
		"Tool":              {func(q *hooks.Question) { q.Tool = "Pay" }, true},
		"AgentRole":         {func(q *hooks.Question) { q.AgentRole = "" }, true},
		"Tenant":            {func(q *hooks.Question) { q.Tenant = "other" }, true},
		"Arguments":         {func(q *hooks.Question) { q.Arguments = `{"amount":6}` }, true},
		"Again":             {func(q *hooks.Question) { q.Again++ }, true},

		"ID":       {func(q *hooks.Question) { q.ID = "other" }, false},
		"Digest":   {func(q *hooks.Question) { q.Digest = "other" }, false},
		"RunID":    {func(q *hooks.Question) { q.RunID = "other" }, false}, // of a sub-agent it is new after a resume
		"Key":      {func(q *hooks.Question) { q.Key = "other" }, false},
		"Prompt":   {func(q *hooks.Question) { q.Prompt = "other" }, false},
		"Audience": {func(q *hooks.Question) { q.Audience = nil }, false},
		"May":      {func(q *hooks.Question) { q.May = nil }, false},
		"Offer":    {func(q *hooks.Question) { q.Offer = nil }, false},
		"Expires":  {func(q *hooks.Question) { q.Expires = time.Time{} }, false},
		"Details":  {func(q *hooks.Question) { q.Details = nil }, false},
	} {
		q := fullQuestion()
		tt.change(&q)
		assert.Equal(t, tt.binds, digestOf(q) != same, name)
	}
}

// Text that moves from one field to the next makes another question.
func TestQuestion_fieldsDontRunTogether(t *testing.T) {
	t.Parallel()
	fields := []func(*hooks.Question) *string{
		func(q *hooks.Question) *string { return &q.RootRunID },
		func(q *hooks.Question) *string { return &q.Path[0] },
		func(q *hooks.Question) *string { return &q.Path[1] },
		func(q *hooks.Question) *string { return &q.CallID },
		func(q *hooks.Question) *string { return &q.Tool },
		func(q *hooks.Question) *string { return &q.AgentRole },
		func(q *hooks.Question) *string { return &q.Tenant },
		func(q *hooks.Question) *string { return &q.Arguments },
	}
	seen := make(map[string]string)
	for _, text := range []string{"ab", "1:", "2:1:", "\x00", ""} {
		for i, first := range fields {
			for j, second := range fields {
				if i == j {
					continue
				}
				for cut := range len(text) + 1 {
					q := hooks.Question{Path: make([]string, 2)}
					*first(&q), *second(&q) = text[:cut], text[cut:]
					raw, err := json.Marshal(q)
					require.NoError(t, err)
					digest := digestOf(q)
					if other, known := seen[digest]; known {
						require.Equal(t, other, string(raw), "two questions with one digest")
					}
					seen[digest] = string(raw)
				}
			}
		}
	}
	assert.Greater(t, len(seen), 100)
}

// A digest outlives the process that computed it, and the version of this
// package.
func TestQuestion_digestIsFixed(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "50041199f78c5c4ab62d4571f91408b1e773d971962be2a078163c3626475e2d", digestOf(fullQuestion()))
	assert.Equal(t, "309eb00aa71ca0aae7426247dd76afed39fced04db6e76d9a1fcf68597a0622c", digestOf(hooks.Question{}))
}

func TestQuestion_verdictsAllowed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		may  []hooks.Verdict
		want string
	}{
		"by default": {nil, "approve reject"},
		"editing":    {[]hooks.Verdict{hooks.Approve, hooks.Edit}, "approve edit"},
		"one":        {[]hooks.Verdict{hooks.Reject}, "reject"},
		"unknown":    {[]hooks.Verdict{"postpone"}, "postpone"},
	} {
		q := hooks.Question{May: tt.may}
		var got []string
		for _, v := range []hooks.Verdict{hooks.Approve, hooks.Edit, hooks.Reject, "postpone", "", "Approve"} {
			if q.Allows(v) {
				got = append(got, string(v))
			}
		}
		assert.Equal(t, tt.want, strings.Join(got, " "), name)
	}
}

func TestQuestion_memoriesOffered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		offer []hooks.Remember
		want  []hooks.Remember
	}{
		"by default": {nil, []hooks.Remember{"", hooks.Once}},
		"once":       {[]hooks.Remember{hooks.Once}, []hooks.Remember{"", hooks.Once}},
		"another":    {[]hooks.Remember{hooks.SameArguments}, []hooks.Remember{"", hooks.Once, hooks.SameArguments}},
	} {
		q := hooks.Question{Offer: tt.offer}
		got := slices.DeleteFunc([]hooks.Remember{"", hooks.Once, hooks.SameArguments, "always"}, func(m hooks.Remember) bool { return !q.Offers(m) })
		assert.Equal(t, tt.want, got, name)
	}
}

// A question is saved and read again as it was.
func TestQuestion_survivesJSON(t *testing.T) {
	t.Parallel()
	q := fullQuestion()
	q.Rebind()
	raw, err := json.Marshal(q)
	require.NoError(t, err)
	var read hooks.Question
	require.NoError(t, json.Unmarshal(raw, &read))
	assert.Equal(t, q, read)
	assert.Equal(t, q.Digest, digestOf(read))
}
