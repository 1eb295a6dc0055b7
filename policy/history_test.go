package policy_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const leftOut = "Earlier messages of this conversation are left out here."

// conversation makes messages of words such as "s1", "u2", "a3", "a4>x,y" (which calls
// x and y) and "t5<x" (the result of x).
func conversation(words string) []hooks.Message {
	roles := map[byte]string{'s': "system", 'u': "user", 'a': "assistant", 't': "tool"}
	var all []hooks.Message
	for word := range strings.FieldsSeq(words) {
		msg := hooks.Message{Role: roles[word[0]]}
		text, calls, _ := strings.Cut(word, ">")
		msg.Content, msg.ToolCallID, _ = strings.Cut(text, "<")
		if calls != "" {
			for id := range strings.SplitSeq(calls, ",") {
				msg.ToolCalls = append(msg.ToolCalls, hooks.ToolRequest{ID: id, Name: "read"})
			}
		}
		all = append(all, msg)
	}
	return all
}

// words is the contents of messages, with "~" for what says that some are left out.
func words(messages []hooks.Message) string {
	var all []string
	for _, msg := range messages {
		if msg.Role == "system" && msg.Content == leftOut {
			msg.Content = "~"
		}
		all = append(all, msg.Content)
	}
	return strings.Join(all, " ")
}

// one counts messages.
func one(hooks.Message) int { return 1 }

// sent returns what the body of a model call with the messages gets.
func sent(t *testing.T, p policy.History, messages []hooks.Message) []hooks.Message {
	t.Helper()
	reg := hooks.NewRegistry()
	p.Register(hooks.In(reg))
	var got []hooks.Message
	require.NoError(t, askModel(t.Context(), reg, &hooks.ModelCall{Messages: messages}, func(_ context.Context, m *hooks.ModelCall) error {
		got = m.Messages
		return nil
	}))
	return got
}

func TestHistory_whatIsSent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tokens, keep int
		messages     string
		want         string
	}{
		"all that fits":                    {6, 2, "s1 u2 a3 u4 a5 u6", "s1 u2 a3 u4 a5 u6"},
		"without the oldest":               {5, 2, "s1 u2 a3 u4 a5 u6", "s1 ~ u4 a5 u6"},
		"the note counts":                  {4, 2, "u1 a2 u3 a4 u5", "~ u3 a4 u5"},
		"no system message is dropped":     {4, 1, "s1 u2 s3 a4 s5 u6", "s1 ~ s3 s5 u6"},
		"Keep":                             {1, 3, "u1 a2 u3 a4 u5", "~ u3 a4 u5"},
		"Keep by default":                  {1, 0, "u1 a2 u3 a4 u5 a6", "~ u3 a4 u5 a6"},
		"Keep is more than there is":       {1, 9, "u1 a2 u3", "u1 a2 u3"},
		"nothing but system messages":      {1, 1, "s1 s2 s3", "s1 s2 s3"},
		"no messages":                      {1, 1, "", ""},
		"a call and its results":           {5, 2, "u1 a2>x,y t3<x t4<y a5 u6", "~ a5 u6"},
		"of which a result is kept":        {3, 1, "u1 a2>x,y t3<x t4<y", "~ a2 t3 t4"},
		"or a later message isn't":         {4, 1, "u1 a2>x,y t3<x u4 t5<y", "~ a2 t3 t5"},
		"results in another order":         {4, 1, "u1 a2>x,y t3<y t4<x u5", "~ u5"},
		"two turns":                        {4, 1, "u1 a2>x t3<x a4>y t5<y", "~ a4 t5"},
		"an ID that is used again":         {4, 1, "u1 a2>x t3<x a4>x t5<x", "~ a4 t5"},
		"two calls at once, crossed":       {4, 1, "a1>x a2>y t3<x t4<y u5", "~ a2 t4 u5"},
		"calls without IDs":                {3, 1, "a1>- t2 t3 a4>- t5", "~ a4 t5"},
		"results of another ID":            {3, 1, "a1>- t2<x t3<y a4>- t5<z", "~ a4 t5"},
		"a call that has no result":        {3, 1, "a1>x u2 a3 u4", "~ a3 u4"},
		"a result that has no call":        {3, 1, "t1<x u2 a3 u4", "~ a3 u4"},
		"a result in front of its call":    {4, 1, "u1 t2<x a3>x u4 a5", "~ u4 a5"},
		"which is kept":                    {1, 1, "t1<x u2 a3>x", "t1 ~ a3"},
		"results in front of one call":     {2, 1, "t1<x t2<y a3>x,y u4", "~ u4"},
		"and behind another call":          {3, 1, "a1>x t2<x t3<y a4>y u5", "~ u5"},
		"a call that waits for its result": {2, 1, "u1 a2 u3 a4>x", "~ a4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := conversation(tt.messages)
			got := sent(t, policy.History{Tokens: tt.tokens, Keep: tt.keep, Estimate: one}, all)
			assert.Equal(t, tt.want, words(got))
			assert.Equal(t, conversation(tt.messages), all, "the loop keeps its history")
		})
	}
}

func TestHistory_oneNoteInAHistoryThatKeepsIt(t *testing.T) {
	t.Parallel()
	p := policy.History{Tokens: 5, Keep: 2, Estimate: one}
	got := sent(t, p, conversation("s1 u2 a3 u4 a5 u6"))
	require.Equal(t, "s1 ~ u4 a5 u6", words(got))
	assert.Equal(t, "s1 ~ u4 a5 u6", words(sent(t, p, got)), "nothing more to drop")
	assert.Equal(t, "s1 ~ a5 u6 a7", words(sent(t, p, append(got, conversation("a7")...))))
	assert.True(t, got[1].Edited(), "the framework has none of its own")
	assert.NotContains(t, got[1].Content, "\n")
}

func TestHistory_estimateByDefault(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300) // 104 tokens
	for name, msg := range map[string]hooks.Message{
		"content":   {Role: "user", Content: long},
		"parts":     {Role: "user", Parts: []hooks.Part{{Kind: "text", Text: long[:100]}, {Kind: "text", Text: long[100:]}}},
		"arguments": {Role: "assistant", ToolCalls: []hooks.ToolRequest{{ID: "1", Name: "read", Arguments: long[4:]}}},
	} {
		all := append([]hooks.Message{msg}, conversation("u2 a3")...) // 4 tokens each
		assert.Len(t, sent(t, policy.History{Tokens: 112, Keep: 1}, all), 3, name)
		assert.Equal(t, "~ u2 a3", words(sent(t, policy.History{Tokens: 111, Keep: 1}, all)), name)
	}
}

func TestHistory_oddEstimates(t *testing.T) {
	t.Parallel()
	all := conversation("u1 a2 u3")
	assert.Equal(t, "u1 a2 u3", words(sent(t, policy.History{Tokens: 1, Estimate: func(hooks.Message) int { return math.MinInt }}, all)))
	assert.Equal(t, "~ u3", words(sent(t, policy.History{Tokens: 1, Keep: 1, Estimate: func(hooks.Message) int { return math.MaxInt }}, all)))
	calls := 0
	assert.Equal(t, "u1 a2 u3", words(sent(t, policy.History{Tokens: 1, Keep: 1, Estimate: func(hooks.Message) int {
		if calls++; calls == 3 {
			panic("bug")
		}
		return 1
	}}, all)), "it is passed over")
}

// Of random conversations: what is never dropped isn't, order stays, and it fits or
// nothing more could go.
func TestHistory_rulesHoldForAll(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var b strings.Builder
		var open []string
		for i := range rng.IntN(14) {
			switch n := rng.IntN(5); {
			case n == 0:
				fmt.Fprintf(&b, "s%d ", i)
			case n == 1:
				fmt.Fprintf(&b, "u%d ", i)
			case n == 2:
				id := fmt.Sprint("id", i)
				open = append(open, id, id+"b")
				fmt.Fprintf(&b, "a%d>%s,%sb ", i, id, id)
			case len(open) > 0:
				at := rng.IntN(len(open))
				fmt.Fprintf(&b, "t%d<%s ", i, open[at])
				open = append(open[:at:at], open[at+1:]...)
			}
		}
		all := conversation(b.String())
		p := policy.History{Tokens: 1 + rng.IntN(10), Keep: 1 + rng.IntN(5), Estimate: one}
		got := sent(t, p, all)

		left := map[string]bool{}
		notes, at := 0, 0
		for _, msg := range got {
			if msg.Content == leftOut {
				notes++
				continue
			}
			for all[at].Content != msg.Content {
				at++
			}
			left[msg.Content] = true
		}
		owner := map[string]string{}
		for _, msg := range all {
			for _, call := range msg.ToolCalls {
				owner[call.ID] = msg.Content
			}
		}
		droppable := map[string]bool{}
		for i, msg := range all {
			if of, ok := owner[msg.ToolCallID]; ok {
				assert.Equal(t, left[of], left[msg.Content], "%s of %s", msg.Content, b.String())
				if i >= len(all)-p.Keep {
					delete(droppable, of)
				}
			} else if msg.Role != "system" && i < len(all)-p.Keep {
				droppable[msg.Content] = true
			}
			if msg.Role == "system" || i >= len(all)-p.Keep {
				assert.True(t, left[msg.Content], "%s of %s", msg.Content, b.String())
			}
		}
		dropped := len(all) - len(left)
		assert.Equal(t, dropped > 0, notes == 1, b.String())
		if len(got) > p.Tokens {
			for name := range droppable {
				assert.False(t, left[name], "%s of %s stays though %d > %d", name, b.String(), len(got), p.Tokens)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// At every point of one conversation and for every number of tokens: calls and results
// stay together, the newest message stays, and it fits as far as it can.
func TestHistory_everyBudgetOfAConversation(t *testing.T) {
	t.Parallel()
	tokens := func(msg hooks.Message) int { return len(msg.Text()) + 2*len(msg.ToolCalls) } // uneven
	all := conversation("system1 user2 a3>1 tool4<1 a-thought5>2,3 t6<2 tool-result7<3 a8 u9 a10>4 t11<4")
	total := 0
	for _, msg := range all {
		total += tokens(msg)
	}
	for n := 1; n <= len(all); n++ {
		if n < len(all) && all[n].ToolCallID != "" {
			continue // no model is called between a call and its result
		}
		least := sent(t, policy.History{Tokens: 1, Keep: 1, Estimate: tokens}, all[:n:n])
		for budget := 1; budget <= total; budget++ {
			got := sent(t, policy.History{Tokens: budget, Keep: 1, Estimate: tokens}, all[:n:n])
			cost, open := 0, map[string]bool{}
			for _, msg := range got {
				cost += tokens(msg)
				for _, call := range msg.ToolCalls {
					open[call.ID] = true
				}
				if msg.ToolCallID != "" {
					require.True(t, open[msg.ToolCallID], "budget %d of %d messages: result %s without its call", budget, n, msg.ToolCallID)
					delete(open, msg.ToolCallID)
				}
			}
			require.Empty(t, open, "budget %d of %d messages: calls without a result", budget, n)
			require.Equal(t, all[0], got[0], "the system message stays")
			require.Equal(t, all[n-1], got[len(got)-1], "the newest stays")
			if len(got) > len(least) {
				require.LessOrEqual(t, cost, budget, "%d messages", n)
			}
		}
	}
	keep := policy.History{Tokens: total, Keep: 1, Estimate: tokens}
	require.Equal(t, all, sent(t, keep, all))
	keep.Tokens--
	require.Contains(t, words(sent(t, keep, all)), "~")
}
