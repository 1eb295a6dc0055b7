package hooksmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksmcp"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/hookstest"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asks is a guard that asks whether a call may run.
func asks(prompt string) hooks.Func[hooks.ToolCall] {
	return func(ctx context.Context, c *hooks.ToolCall) error { return c.Ask(ctx, hooks.Question{Prompt: prompt}) }
}

func TestAsk_userOfTheClientDecides(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		for action, tc := range map[string]struct {
			runs int
			says string
		}{
			"accept":  {1, "deleted"},
			"decline": {0, "not approved"},
			"cancel":  {0, "approval failed"},
			"maybe":   {0, "approval failed"},
		} {
			t.Run(protocol+" "+action, func(t *testing.T) {
				t.Parallel()
				user := says(action)
				g := newRig(t, config{protocol: protocol, client: user.options()})
				ran := g.says("delete", "deleted")
				g.before(asks("Delete it?"), hooks.WithName("approval"))
				res := g.call(t, "delete", map[string]any{"path": "/tmp/a"})
				assert.Equal(t, tc.runs, *ran)
				assert.Equal(t, tc.runs == 0, res.IsError)
				assert.Contains(t, textOf(t, res), tc.says)
				require.Len(t, user.asked, 1)
				assert.Equal(t, "Delete it?\ndelete {\"path\":\"/tmp/a\"}", user.asked[0])
			})
		}
	}
}

func TestAsk_eachCallIsAskedAbout(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		user := says("accept")
		g := newRig(t, config{protocol: protocol, client: user.options()})
		ran := g.says("delete", "deleted")
		g.before(asks("Delete it?"), hooks.WithName("approval"))
		g.call(t, "delete", nil)
		g.call(t, "delete", nil)
		assert.Equal(t, 2, *ran)
		assert.Len(t, user.asked, 2, "one approval is for one call")
	}
}

func TestAsk_twoGuards(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		for _, prompts := range [][]string{{"First?", "Second?"}, {"Same?", "Same?"}} {
			user := says("accept")
			g := newRig(t, config{protocol: protocol, client: user.options()})
			ran := g.says("delete", "deleted")
			g.before(asks(prompts[0]), hooks.WithName("first"))
			g.before(asks(prompts[1]), hooks.WithName("second"))
			assert.False(t, g.call(t, "delete", nil).IsError)
			assert.Equal(t, 1, *ran)
			assert.Len(t, user.asked, 2, "%s %v", protocol, prompts)
		}
	}
}

func TestAsk_clientThatCannotAsk(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		g := newRig(t, config{protocol: protocol})
		ran := g.says("delete", "deleted")
		g.before(asks("Delete it?"), hooks.WithName("approval"))
		res := g.call(t, "delete", nil)
		assertRefused(t, res, "delete waits for a decision")
		assertRefused(t, res, "Delete it?")
		assert.Zero(t, *ran)
	}
}

func TestAsk_deskOfTheCtx(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		t.Run(protocol+" decides before the user is asked", func(t *testing.T) {
			t.Parallel()
			user := says("decline")
			g := newRig(t, config{protocol: protocol, client: user.options(), ctx: hooks.WithDesk(t.Context(), hookstest.NewDesk(t, hookstest.Approves()))})
			g.says("delete", "deleted")
			g.before(asks("Delete it?"), hooks.WithName("approval"))
			assert.Equal(t, "deleted", textOf(t, g.call(t, "delete", nil)))
			assert.Empty(t, user.asked)
		})
		for action, runs := range map[string]int{"accept": 1, "decline": 0, "cancel": 0} {
			t.Run(protocol+" and the user decides: "+action, func(t *testing.T) {
				t.Parallel()
				user := says(action)
				g := newRig(t, config{protocol: protocol, client: user.options(), ctx: hooks.WithDesk(t.Context(), desk.New(desk.Memory()))})
				ran := g.says("delete", "deleted")
				post := 0
				g.after(func(context.Context, *hooks.ToolCall) error { post++; return nil })
				g.before(asks("Delete it?"), hooks.WithName("approval"))
				g.before(asks("Really?"), hooks.WithName("second"))
				res := g.call(t, "delete", nil)
				assert.Equal(t, runs, *ran)
				assert.Equal(t, runs == 0, res.IsError)
				assert.Len(t, user.asked, 1+runs)
				assert.Equal(t, 1, post, "what waits has no post point")
			})
		}
	}
}

func TestAsk_deskDecidesLater(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		for name, tc := range map[string]struct {
			question hooks.Question
			options  []hooksmcp.Option
			user     *answers
		}{
			"the client can't ask":     {user: &answers{}},
			"somebody else is to":      {hooks.Question{Audience: []string{"admins"}}, nil, says("accept")},
			"the desk alone is to":     {hooks.Question{}, []hooksmcp.Option{hooksmcp.DeskOnly()}, says("accept")},
			"an edit alone is allowed": {hooks.Question{May: []hooks.Verdict{hooks.Edit, hooks.Reject}}, nil, says("accept")},
		} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				t.Parallel()
				d := desk.New(desk.Memory(), desk.WithAuthorizer(func(context.Context, desk.Record, string) error { return nil }))
				c := config{protocol: protocol, options: tc.options, ctx: hooks.WithDesk(t.Context(), d)}
				if tc.user.reply.Action != "" {
					c.client = tc.user.options()
				}
				g := newRig(t, c)
				ran := g.says("delete", "deleted")
				g.before(func(ctx context.Context, c *hooks.ToolCall) error {
					q := tc.question
					q.Prompt = "Delete it?"
					return c.Ask(ctx, q)
				}, hooks.WithName("approval"))
				arguments := map[string]any{"path": "/tmp/a"}
				res := g.call(t, "delete", arguments)
				assertRefused(t, res, "waits for a decision")
				assertRefused(t, res, "Delete it?")
				assert.Empty(t, tc.user.asked)

				open := slices.Collect(records(t, d))
				require.Len(t, open, 1)
				assertRefused(t, g.call(t, "delete", arguments), open[0].Question.ID)
				require.Len(t, slices.Collect(records(t, d)), 1, "the same call asks the same question")
				decision := hooks.Decision{Verdict: hooks.Approve, Digest: open[0].Question.Digest, By: "ana"}
				if len(tc.question.May) > 0 {
					decision.Verdict, decision.Arguments = hooks.Edit, `{"path":"/tmp/b"}`
				}
				require.NoError(t, d.Decide(t.Context(), open[0].Question.ID, decision))

				assertRefused(t, g.call(t, "delete", map[string]any{"path": "/etc"}), "waits")
				assert.Equal(t, "deleted", textOf(t, g.call(t, "delete", arguments)))
				assertRefused(t, g.call(t, "delete", arguments), "waits")
				assert.Equal(t, 1, *ran, "one approval is for one call")
			})
		}
	}
}

func records(t *testing.T, d *desk.Desk) func(func(desk.Record) bool) {
	t.Helper()
	return func(yield func(desk.Record) bool) {
		for rec, err := range d.List(t.Context(), desk.Query{}) {
			if !assert.NoError(t, err) || !yield(rec) {
				return
			}
		}
	}
}

func TestElicitation_requestHumanInput(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reply mcp.ElicitResult
		want  string // "" for an error
	}{
		"typed":             {mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": " Tuesday "}}, "Tuesday"},
		"accepted":          {mcp.ElicitResult{Action: "accept"}, "yes"},
		"declined":          {mcp.ElicitResult{Action: "decline"}, "no"},
		"dismissed":         {mcp.ElicitResult{Action: "cancel"}, ""},
		"no action":         {mcp.ElicitResult{}, ""},
		"another type":      {mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": 3}}, ""},
		"another field too": {mcp.ElicitResult{Action: "accept", Content: map[string]any{"x": "yes"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := &answers{reply: tc.reply}
			g := newRig(t, config{protocol: older, client: user.options()})
			ran := g.says("book", "booked")
			var got string
			g.before(func(ctx context.Context, c *hooks.ToolCall) (err error) {
				got, err = c.RequestHumanInput(ctx, "When?", "A day of the week:")
				return err
			})
			res := g.call(t, "book", nil)
			assert.Equal(t, tc.want, got)
			assert.Equal(t, tc.want == "", res.IsError)
			assert.Equal(t, tc.want != "", *ran == 1)
			assert.Equal(t, []string{"When?"}, user.asked)
		})
	}
}

func TestElicitation_unreachableClientFailsClosed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]config{
		"newest protocol":         {protocol: newest, client: says("accept").options()},
		"client without the form": {protocol: older},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, c)
			ran := g.says("delete", "deleted")
			g.before(func(ctx context.Context, c *hooks.ToolCall) error {
				_, err := c.RequestHumanInput(ctx, "Delete it?", `Type "yes" to allow it:`)
				return err
			})
			assert.True(t, g.call(t, "delete", nil).IsError)
			assert.Zero(t, *ran)
			_, err := hooksmcp.Elicitation{Session: g.session}.RequestInput(t.Context(), "Delete it?", "yes or no")
			require.Error(t, err)
		})
	}
	_, err := hooksmcp.Elicitation{}.RequestInput(t.Context(), "Delete it?", "yes or no")
	require.Error(t, err)
}

// gate asks the client itself, by what a hook returns.
func gate(how func(*hooksmcp.Ask) error, seen func(mcp.InputResponseMap)) hooks.Func[hooks.ToolCall] {
	return func(_ context.Context, c *hooks.ToolCall) error {
		req := hooksmcp.Request(c).(*mcp.CallToolRequest)
		if res, ok := req.Params.InputResponses["why"].(*mcp.ElicitResult); ok {
			seen(req.Params.InputResponses)
			if res.Action != "accept" {
				return hooks.Abort("no reason given")
			}
			return nil
		}
		return how(&hooksmcp.Ask{Requests: mcp.InputRequestMap{"why": &mcp.ElicitParams{Message: "Why?"}}})
	}
}

func byAbort(a *hooksmcp.Ask) error {
	return &hooks.HookAborted{Reason: "a reason is needed", StopRun: true, Err: a}
}

func bySuspension(a *hooksmcp.Ask) error { return hooks.PassThrough(a) }

func TestAsk_ofAHook(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		for how, give := range map[string]func(*hooksmcp.Ask) error{"abort": byAbort, "suspension": bySuspension} {
			for action, runs := range map[string]int{"accept": 1, "decline": 0} {
				t.Run(fmt.Sprint(protocol, how, action), func(t *testing.T) {
					t.Parallel()
					user := says(action)
					stopped := false
					g := newRig(t, config{protocol: protocol, client: user.options(), options: []hooksmcp.Option{
						hooksmcp.OnStop(func(*mcp.CallToolRequest, *hooks.HookAborted) { stopped = true }),
					}})
					ran := g.says("delete", "deleted")
					var ids, runIDs []string
					g.before(func(_ context.Context, c *hooks.ToolCall) error {
						ids, runIDs = append(ids, c.ID), append(runIDs, c.RunID)
						return nil
					})
					answered := 0
					g.before(gate(give, func(mcp.InputResponseMap) { answered++ }))
					res := g.call(t, "delete", nil)
					assert.Equal(t, runs, *ran)
					assert.Equal(t, runs == 0, res.IsError)
					assert.Equal(t, []string{"Why?"}, user.asked)
					assert.Equal(t, 1, answered)
					assert.False(t, stopped, "an Ask stops nothing")
					require.Len(t, ids, 2)
					assert.Equal(t, ids[0], ids[1], "it is one call")
					assert.Equal(t, runIDs[0], runIDs[1])
				})
			}
			t.Run(fmt.Sprint(protocol, how, "nobody to ask"), func(t *testing.T) {
				t.Parallel()
				g := newRig(t, config{protocol: protocol})
				ran := g.says("delete", "deleted")
				g.before(gate(give, nil))
				assertRefused(t, g.call(t, "delete", nil), "Why?")
				assert.Zero(t, *ran)
			})
		}
	}
}

func TestAsk_ofAHookAndOfAGuard(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		user := says("accept")
		g := newRig(t, config{protocol: protocol, client: user.options()})
		ran := g.says("delete", "deleted")
		g.before(gate(byAbort, func(mcp.InputResponseMap) {}))
		g.before(asks("Delete it?"), hooks.WithName("approval"))
		assert.Equal(t, "deleted", textOf(t, g.call(t, "delete", nil)), protocol)
		assert.Equal(t, 1, *ran)
		assert.Len(t, user.asked, 2)
	}
}

func TestAsk_behindTheToolStops(t *testing.T) {
	t.Parallel()
	for how, give := range map[string]func(*hooksmcp.Ask) error{"abort": byAbort, "suspension": bySuspension} {
		user := says("accept")
		g := newRig(t, config{client: user.options()})
		ran := g.says("delete", "deleted")
		hooks.Guard(hooks.PostToolCall, gate(give, nil), hooks.In(g.hooks))
		res, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "delete"})
		if how == "abort" {
			require.ErrorContains(t, err, "a reason is needed")
		} else {
			require.NoError(t, err)
			assertRefused(t, res, "withheld")
		}
		assert.Equal(t, 1, *ran, "nothing runs twice")
		assert.Empty(t, user.asked)
	}
}

func TestAsk_withoutEndIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		user := says("accept")
		g := newRig(t, config{protocol: protocol, client: user.options()})
		ran := g.says("delete", "deleted")
		g.before(func(context.Context, *hooks.ToolCall) error {
			return byAbort(&hooksmcp.Ask{Requests: mcp.InputRequestMap{"x": &mcp.ElicitParams{Message: "?"}}})
		})
		res, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "delete"})
		if protocol == older {
			require.NoError(t, err)
			assertRefused(t, res, "again and again")
		} else {
			require.Error(t, err)
		}
		assert.Zero(t, *ran)
		assert.LessOrEqual(t, len(user.asked), 10)
	}
}

func TestAsk_nothingToAskIsRefused(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		g := newRig(t, config{protocol: protocol, client: says("accept").options()})
		ran := g.says("delete", "deleted")
		g.before(func(context.Context, *hooks.ToolCall) error { return byAbort(&hooksmcp.Ask{}) })
		assert.True(t, g.call(t, "delete", nil).IsError)
		assert.Zero(t, *ran)
	}
}

// raw is a client that answers nothing by itself.
func raw() mcp.ClientOptions {
	o := says("accept").options()
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	return o
}

func TestAsk_wireOfAnInputRequest(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{protocol: newest, client: raw()})
	g.says("delete", "deleted")
	g.before(asks("Delete it?"), hooks.WithName("approval"))
	res := g.call(t, "delete", nil)
	assert.True(t, res.NeedsInput(), "the type of the result is on the wire")
	require.Len(t, res.InputRequests, 1)
	assert.NotEmpty(t, res.RequestState)
	assert.Empty(t, res.Content)
	assert.False(t, res.IsError)

	rebuilt := newRig(t, config{protocol: newest})
	rebuilt.says("look", "SECRET")
	rebuilt.after(func(_ context.Context, c *hooks.ToolCall) error { c.Result = redact(c.Result); return nil })
	wire, err := json.Marshal(rebuilt.call(t, "look", nil))
	require.NoError(t, err)
	assert.Contains(t, string(wire), `"resultType":"complete"`)
}

func TestAsk_answerIsForOneCall(t *testing.T) {
	t.Parallel()
	accept := func(of *mcp.CallToolResult) mcp.InputResponseMap {
		m := make(mcp.InputResponseMap)
		for key := range of.InputRequests {
			m[key] = &mcp.ElicitResult{Action: "accept"}
		}
		return m
	}
	g := newRig(t, config{protocol: newest, client: raw()})
	ran := new(int)
	g.tool("delete", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		*ran++
		assert.Empty(t, req.Params.InputResponses, "nobody asked for these")
		return textResult("deleted"), nil
	})
	other := g.says("other", "other")
	g.before(asks("Delete it?"), hooks.WithName("approval"))
	try := func(p mcp.CallToolParams) *mcp.CallToolResult {
		res, err := g.client.CallTool(t.Context(), &p)
		require.NoError(t, err)
		return res
	}
	tmp, etc := map[string]any{"path": "/tmp"}, map[string]any{"path": "/etc"}

	asked := try(mcp.CallToolParams{Name: "delete", Arguments: tmp})
	assert.True(t, try(mcp.CallToolParams{Name: "delete", Arguments: etc, InputResponses: accept(asked), RequestState: asked.RequestState}).NeedsInput(), "other arguments")
	assert.True(t, try(mcp.CallToolParams{Name: "delete", Arguments: tmp, InputResponses: accept(asked), RequestState: asked.RequestState}).NeedsInput(), "the state is used up")
	asked = try(mcp.CallToolParams{Name: "delete", Arguments: tmp})
	assert.True(t, try(mcp.CallToolParams{Name: "other", Arguments: tmp, InputResponses: accept(asked), RequestState: asked.RequestState}).NeedsInput(), "another tool")
	asked = try(mcp.CallToolParams{Name: "delete", Arguments: tmp})
	assert.True(t, try(mcp.CallToolParams{Name: "delete", Arguments: tmp, InputResponses: accept(asked)}).NeedsInput(), "no state")
	assert.True(t, try(mcp.CallToolParams{Name: "delete", Arguments: tmp, InputResponses: accept(asked), RequestState: "hooksmcp.forged"}).NeedsInput(), "a forged state")
	assert.Zero(t, *ran)
	yes := mcp.CallToolParams{Name: "delete", Arguments: tmp, InputResponses: accept(asked), RequestState: asked.RequestState}
	yes.InputResponses["unasked"] = &mcp.ElicitResult{Action: "accept"}
	assert.False(t, try(yes).NeedsInput())
	assert.Equal(t, 1, *ran)
	assert.True(t, try(yes).NeedsInput(), "one approval runs once")
	assert.Equal(t, 1, *ran)
	assert.Zero(t, *other)

	asked = try(mcp.CallToolParams{Name: "delete", Arguments: tmp})
	responses := mcp.InputResponseMap{}
	for key := range asked.InputRequests {
		//lint:ignore SA1019 an answer of another kind
		responses[key] = &mcp.ListRootsResult{Roots: []*mcp.Root{}}
	}
	res := try(mcp.CallToolParams{Name: "delete", Arguments: tmp, InputResponses: responses, RequestState: asked.RequestState})
	assertRefused(t, res, "approval failed")
	assert.Equal(t, 1, *ran)
}

func TestAsk_toolThatNeedsInput(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		for _, guarded := range []bool{false, true} {
			t.Run(fmt.Sprint(protocol, guarded), func(t *testing.T) {
				t.Parallel()
				user := says("accept")
				g := newRig(t, config{protocol: protocol, client: user.options()})
				var states []string
				g.tool("book", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					states = append(states, req.Params.RequestState)
					for key := range req.Params.InputResponses {
						assert.Equal(t, "day", key, "the tool sees what it asked for")
					}
					if req.Params.InputResponses["day"] == nil {
						return &mcp.CallToolResult{RequestState: "of the tool", InputRequests: mcp.InputRequestMap{"day": &mcp.ElicitParams{Message: "When?"}}}, nil
					}
					return textResult("booked"), nil
				})
				asked := []string{"When?"}
				if guarded {
					g.before(asks("Book it?"), hooks.WithName("approval"))
					asked = []string{"Book it?\nbook {}", "When?"}
				}
				g.after(func(_ context.Context, c *hooks.ToolCall) error { c.Result = redact(c.Result); return nil })
				assert.Equal(t, "booked", textOf(t, g.call(t, "book", nil)))
				assert.Equal(t, asked, user.asked, "the approval holds for all rounds of the call")
				assert.Equal(t, []string{"", "of the tool"}, states)
			})
		}
	}
}

func TestAsk_urlElicitationPasses(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	g.tool("login", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{{Mode: "url", Message: "Log in", URL: "https://example.org", ElicitationID: "1"}})
	})
	g.after(func(_ context.Context, c *hooks.ToolCall) error { c.Result = "x"; return nil })
	_, err := g.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "login"})
	var wire *jsonrpc.Error
	require.ErrorAs(t, err, &wire)
	assert.Equal(t, int64(mcp.CodeURLElicitationRequired), wire.Code)
	assert.Contains(t, string(wire.Data), "https://example.org")
}

func TestServer_frameworksInterruptOfAHookWaits(t *testing.T) {
	t.Parallel()
	g := newRig(t, config{})
	ran := g.says("look", "seen")
	g.before(func(context.Context, *hooks.ToolCall) error { return hooks.PassThrough(errors.New("SECRET")) })
	res := g.call(t, "look", nil)
	assertRefused(t, res, "look waits for a decision")
	assert.NotContains(t, textOf(t, res), "SECRET")
	assert.Zero(t, *ran)
}

func TestAsk_expiredQuestionIsNotForTheUser(t *testing.T) {
	t.Parallel()
	user := says("accept")
	undecided := hookstest.NewDesk(t, hookstest.Undecided())
	g := newRig(t, config{client: user.options(), ctx: hooks.WithDesk(t.Context(), undecided)})
	ran := g.says("delete", "deleted")
	g.before(func(ctx context.Context, c *hooks.ToolCall) error {
		return c.Ask(ctx, hooks.Question{Prompt: "Delete it?", Expires: time.Unix(1, 0)})
	}, hooks.WithName("approval"))
	assertRefused(t, g.call(t, "delete", nil), "waits")
	assert.Empty(t, user.asked)
	assert.Zero(t, *ran)
}

func TestAsk_inAnAgentThatTheToolRuns(t *testing.T) {
	t.Parallel()
	for _, protocol := range bothProtocols {
		user := says("accept")
		g := newRig(t, config{protocol: protocol, client: user.options()})
		ran := 0
		g.tool("agent", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			inner := &hooks.ToolCall{ID: "1", Name: "delete"}
			assert.Equal(t, "tester", hooks.CallerFrom(ctx).AgentRole, "it acts for the client")
			err := hooks.RunTool(ctx, inner, func(_ context.Context, c *hooks.ToolCall) error {
				ran++
				c.Result = "deleted"
				return nil
			})
			return textResult(inner.Result), err
		})
		g.before(asks("Delete it?"), hooks.WithName("approval"), hooks.WithTools("delete"))
		res := g.call(t, "agent", nil)
		if protocol == older {
			assert.Equal(t, "deleted", textOf(t, res))
			assert.Equal(t, 1, ran)
		} else { // the tool would run from its beginning again
			assert.Contains(t, textOf(t, res), "approval failed")
			assert.Zero(t, ran)
			assert.Empty(t, user.asked)
		}
	}
}
