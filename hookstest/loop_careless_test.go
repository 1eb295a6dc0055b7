package hookstest_test

// A loop on the Run forms that goes on with runs that wait, and its mistakes in
// that and in the bodies that it hands to the seams.

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// wrongBodies has a careless loop for each rule about bodies and resumed runs.
var wrongBodies = []wrongLoop{
	{"begins tool calls", "around hooks wrap each call of a model and of a tool, which take the Run form of their seam", nil},
	{"begins model calls", "around hooks wrap each call of a model and of a tool, which take the Run form of their seam", nil},
	{"runs tools under the ctx of the execution", "tools and models run under the ctx of the run, with its values, scopes and cancellation", []string{
		"a hook can ask about a tool call: the question has its run, its id and the calls around it",
	}},
	{"keeps the first input of a call", "a body runs as often as around hooks have it run, and reads its context each time", nil},
	{"runs the first tool of a call again", "the tool that runs is the one that its call names after the pre hooks", nil},
	{"runs the tool of a call once", "a body runs as often as around hooks have it run, and reads its context each time", []string{
		"what the last run of a body left stands, and nothing of an earlier one",
	}},
	{"sends the first messages of a call again", "a body runs as often as around hooks have it run, and reads its context each time", nil},
	{"offers the first tools of a call again", "a body runs as often as around hooks have it run, and reads its context each time", nil},
	{"keeps the first result of a call", "what the last run of a body left stands, and nothing of an earlier one", nil},
	{"keeps the first error of a call", "what the last run of a body left stands, and nothing of an earlier one", nil},
	{"keeps the first reply of a call", "what the last run of a body left stands, and nothing of an earlier one", nil},
	{"keeps the first error of its model", "what the last run of a body left stands, and nothing of an earlier one", nil},
	{"asks the one model whatever hooks set", "a model call goes to the model that hooks have set, or fails with errors.ErrUnsupported", nil},

	{"makes tool calls outside of its execution", "a hook can ask about a tool call: the question has its run, its id and the calls around it", []string{
		"what happens in an execution has its RunID",
	}},
	{"saves nothing", "a run that waits saves its state", nil},
	{"saves nothing a second time", "a run that waits saves its state", nil},
	{"saves where its state is in memory", "a run that waited goes on to its answer, in a loop that is made anew from the saved state", nil},
	{"saves raw results", "a saved state holds what hooks have left, and nothing of what it was", nil},
	{"saves no marks of errors", "a result is marked as an error where the call was blocked, withheld or failed, and nowhere else", nil},
	{"saves arguments as hooks left them", "a call that waited is made again under its id, on the arguments that the model gave it", nil},
	{"saves no RunID", "a resumed run has the RunID that it had", nil},
	{"saves no results", "each tool call of a turn has one result in the next request, told by its id or else by its place", nil},
	{"saves the last message alone", "a resumed run goes on with the messages that it had", nil},
	{"says nothing of a resumption", "an execution that goes on with a run says so in Resumed, and no other does", nil},
	{"says of each run that it is resumed", "an execution that goes on with a run says so in Resumed, and no other does", nil},
	{"gives resumed calls ids of their own", "a call that waited is made again under its id, on the arguments that the model gave it", nil},
	{"makes all calls of a resumed turn", "a call that had ended when its run was suspended is not made again", nil},
	{"fires the points of ended calls again", "a call that had ended when its run was suspended is not made again", nil},
	{"runs what waited without its points", "a tool call that a hook suspends does not run", nil},
	{"asks the model again where it goes on", "the model is not asked while a tool call waits", nil},
	{"counts anew where it goes on", "a model call says how many its run has made before", nil},
	{"gives a resumed run a root of its own", "a question is put once, however often its run is resumed", nil},
}

// careless is a loop with one mistake, none for the bug "".
type careless struct {
	hookstest.Setup
	bug     bug
	given   context.Context // of the run
	resumed bool
	from    int // the turn in which it goes on
	memory  map[string]kept

	// For bugs.
	mu      sync.Mutex
	inputs  map[*hooks.ToolCall]map[string]any
	results map[*hooks.ToolCall]string
	names   map[*hooks.ToolCall]string
	errs    map[any]error
	raw     map[string]string
	first   map[*hooks.ModelCall]asked
}

// asked is what a model was asked and what it answered.
type asked struct {
	req   hookstest.Request
	reply hookstest.Reply
	err   error
}

func newCareless(b bug) func(hookstest.Setup) *careless {
	return func(s hookstest.Setup) *careless {
		return &careless{
			Setup: s, bug: b, memory: make(map[string]kept),
			inputs: make(map[*hooks.ToolCall]map[string]any), results: make(map[*hooks.ToolCall]string), names: make(map[*hooks.ToolCall]string),
			errs: make(map[any]error), raw: make(map[string]string), first: make(map[*hooks.ModelCall]asked),
		}
	}
}

// loop and options are what CheckLoop takes of a careless loop.
func (b bug) loop(s hookstest.Setup) hookstest.Loop { return newCareless(b)(s).run }

func (b bug) options() []hookstest.LoopOption {
	return []hookstest.LoopOption{
		marksErrors, noSteps, hookstest.Renames(),
		hookstest.Resumes(func(s hookstest.Setup) hookstest.Resume { return newCareless(b)(s).resume }),
	}
}

func TestLoop_passesCarelessLoopWithoutMistake(t *testing.T) {
	t.Parallel()
	hookstest.TestLoop(t, bug("").loop, bug("").options()...)
}

func TestCheckLoop_namesBrokenRuleOfBodies(t *testing.T) {
	t.Parallel()
	for _, tc := range wrongBodies {
		t.Run(strings.ReplaceAll(string(tc.bug), " ", "-"), func(t *testing.T) {
			t.Parallel()
			failures := hookstest.CheckLoop(t.Context(), tc.bug.loop, tc.bug.options()...)
			require.NotEmpty(t, failures)
			assert.ElementsMatch(t, append(tc.also, tc.rule), brokenRules(failures), "%v", failures)
		})
	}
}

func TestResumes_isOptIn(t *testing.T) {
	t.Parallel()
	assert.Empty(t, hookstest.CheckLoop(t.Context(), bug("saves nothing").loop, marksErrors, noSteps))
	assert.PanicsWithValue(t, "hookstest: Resumes: newLoop is nil; give a function that builds the loop", func() { hookstest.Resumes(nil) })
}

func TestFailure_tellsOfSuspensionAndResumption(t *testing.T) {
	t.Parallel()
	b := bug("makes all calls of a resumed turn")
	failures := hookstest.CheckLoop(t.Context(), b.loop, b.options()...)
	require.NotEmpty(t, failures)
	trace := strings.Join(failures[0].Trace, "\n")
	for _, want := range []string{
		"    a hook suspends: the kit waits for a person\n", "the loop returns \"\" and the error: the kit waits for a person\na loop made anew goes on\nexecution_start\n",
	} {
		assert.Contains(t, trace, want)
	}
}

func (l *careless) run(ctx context.Context, prompt string) (string, error) {
	x := &hooks.Execution{Inputs: map[string]any{"prompt": prompt}, Resumed: l.bug == "says of each run that it is resumed"}
	return l.execute(ctx, x, kept{})
}

func (l *careless) resume(ctx context.Context, state []byte) (string, error) {
	var k kept
	if l.bug == "saves where its state is in memory" {
		var ok bool
		if k, ok = l.memory[string(state)]; !ok {
			return "", errors.New("there is no such run")
		}
	} else if err := json.Unmarshal(state, &k); err != nil {
		return "", err
	}
	l.resumed, l.from = true, k.Turn+1
	x := &hooks.Execution{Caller: hooks.Caller{RunID: k.RunID}, Resumed: l.bug != "says nothing of a resumption"}
	switch l.bug {
	case "gives a resumed run a root of its own":
		x.RootRunID = rand.Text()
	case "asks the model again where it goes on":
		k.Calls, k.Results, k.History = nil, nil, k.History[:len(k.History)-1]
	case "makes all calls of a resumed turn":
		clear(k.Results)
	}
	return l.execute(ctx, x, k)
}

func (l *careless) execute(ctx context.Context, x *hooks.Execution, k kept) (string, error) {
	l.given = ctx
	err := hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		if k.History == nil {
			prompt, _ := x.Inputs["prompt"].(string)
			k.History = []hooks.Message{{Role: "user", Content: prompt}}
		}
		text, err := l.turns(ctx, &k)
		if isSuspended(err) {
			k.RunID = x.RunID
			err = errors.Join(err, l.save(k))
		}
		x.Output = text
		return err
	})
	text, _ := x.Output.(string)
	return text, err
}

func (l *careless) save(k kept) error {
	switch l.bug {
	case "saves nothing":
		return nil
	case "saves nothing a second time":
		if l.resumed {
			return nil
		}
	case "saves where its state is in memory":
		l.memory[k.RunID] = k
		l.Save([]byte(k.RunID))
		return nil
	case "saves no RunID":
		k.RunID = ""
	case "saves the last message alone":
		k.History = k.History[len(k.History)-1:]
	}
	for i, result := range k.Results {
		switch {
		case result == nil:
		case l.bug == "saves no results":
			k.Results[i] = &hooks.Message{}
		case l.bug == "saves raw results":
			result.Content = cmp.Or(l.raw[result.ToolCallID], result.Content)
		case l.bug == "saves no marks of errors":
			result.Content = strings.TrimPrefix(result.Content, "Error: ")
		}
	}
	state, err := json.Marshal(k)
	if err == nil {
		l.Save(state)
	}
	return err
}

func (l *careless) turns(ctx context.Context, k *kept) (string, error) {
	for ; k.Turn < l.MaxTurns; k.Turn++ {
		if k.Calls == nil {
			m := l.newModelCall(k)
			run := hooks.RunModel
			if l.bug == "begins model calls" {
				run = beginModel
			}
			if err := run(ctx, m, l.model); err != nil {
				return "", err
			}
			if len(m.ToolCalls) == 0 {
				return m.Response, nil
			}
			k.History = append(k.History, hooks.Message{Role: "assistant", Content: m.Response, ToolCalls: m.ToolCalls})
			k.Calls, k.Results = m.ToolCalls, make([]*hooks.Message, len(m.ToolCalls))
		}
		if err := l.callAll(ctx, k); err != nil {
			return "", err
		}
		for _, result := range k.Results {
			if result.Role != "" {
				k.History = append(k.History, *result)
			}
		}
		k.Calls, k.Results = nil, nil
	}
	return "", errors.New("no answer")
}

func (l *careless) newModelCall(k *kept) *hooks.ModelCall {
	m := &hooks.ModelCall{Iterations: k.Turn, Messages: k.History}
	if l.bug == "counts anew where it goes on" {
		m.Iterations -= l.from
	}
	for _, tool := range l.Tools {
		m.Tools = append(m.Tools, tool.Name)
	}
	return m
}

// beginModel is RunModel by its Begin form.
func beginModel(ctx context.Context, m *hooks.ModelCall, body func(context.Context, *hooks.ModelCall) error) (err error) {
	ctx, end, err := hooks.BeginModel(ctx, m)
	if err != nil {
		return err
	}
	defer hooks.End(end, &err)
	if m.Answered() {
		return nil
	}
	return body(ctx, m)
}

func (l *careless) model(ctx context.Context, m *hooks.ModelCall) error {
	first, again := l.first[m]
	req := hookstest.Request{Messages: m.Messages, Tools: m.Tools, Model: m.Model}
	switch {
	case l.bug == "sends the first messages of a call again" && again:
		req.Messages = first.req.Messages
	case l.bug == "offers the first tools of a call again" && again:
		req.Tools = first.req.Tools
	case l.bug == "asks the one model whatever hooks set":
		req.Model = ""
	}
	reply, err := l.Model(ctx, req)
	switch {
	case !again:
		l.first[m] = asked{req, reply, err}
	case l.bug == "keeps the first reply of a call" && first.err == nil:
		reply = first.reply
	case l.bug == "keeps the first error of its model":
		err = first.err
	}
	m.Response, m.ToolCalls = reply.Text, reply.ToolCalls
	return err
}

// callAll makes the calls that have no results, and keeps the results.
func (l *careless) callAll(ctx context.Context, k *kept) error {
	if l.bug == "makes tool calls outside of its execution" {
		ctx = l.given
	}
	var calls []*hooks.ToolCall
	at := make(map[*hooks.ToolCall]int)
	for i, req := range k.Calls {
		c := l.newCall(req)
		switch waited := l.resumed && l.from == k.Turn+1; {
		case k.Results[i] != nil:
			if waited && l.bug == "fires the points of ended calls again" {
				_ = hooks.RunTool(ctx, c, func(_ context.Context, c *hooks.ToolCall) error {
					c.Result = strings.TrimPrefix(k.Results[i].Content, "Error: ")
					return nil
				})
			}
			continue
		case waited && l.bug == "gives resumed calls ids of their own":
			c.ID = rand.Text()
		case waited && l.bug == "runs what waited without its points":
			_ = l.tool(ctx, c)
			k.Results[i] = l.message(c, req)
			continue
		}
		calls, at[c] = append(calls, c), i
	}
	body := l.tool
	if l.bug == "runs tools under the ctx of the execution" {
		body = func(_ context.Context, c *hooks.ToolCall) error { return l.tool(ctx, c) }
	}
	err := l.runAll(ctx, calls, body)
	for _, c := range calls {
		if c.Suspended() == nil {
			k.Results[at[c]] = l.message(c, k.Calls[at[c]])
		} else if arguments, err := c.Arguments(); err == nil && l.bug == "saves arguments as hooks left them" {
			k.Calls[at[c]].Arguments = arguments
		}
	}
	return err
}

func (l *careless) runAll(ctx context.Context, calls []*hooks.ToolCall, body hooks.Func[hooks.ToolCall]) error {
	if l.bug != "begins tool calls" {
		return hooks.RunTools(ctx, calls, 1, body)
	}
	var waits []error
	for _, c := range calls {
		switch err := beginTool(ctx, c, body); {
		case isSuspended(err):
			waits = append(waits, err)
		case err != nil:
			return err
		}
	}
	return errors.Join(waits...)
}

func (l *careless) newCall(req hooks.ToolRequest) *hooks.ToolCall {
	c := &hooks.ToolCall{ID: req.ID, Name: req.Name}
	if tool := l.find(req.Name); tool != nil {
		c.Tool = tool
	}
	_ = c.SetArguments(req.Arguments)
	return c
}

func (l *careless) message(c *hooks.ToolCall, req hooks.ToolRequest) *hooks.Message {
	text := c.Result
	if c.IsError() {
		text = "Error: " + text
	}
	return &hooks.Message{Role: "tool", ToolCallID: req.ID, Content: text}
}

func (l *careless) find(name string) *hookstest.Tool {
	for i := range l.Tools {
		if l.Tools[i].Name == name {
			return &l.Tools[i]
		}
	}
	return nil
}

// tool is the body of a tool call.
func (l *careless) tool(ctx context.Context, c *hooks.ToolCall) error {
	l.mu.Lock()
	if l.names[c] == "" || l.bug != "runs the first tool of a call again" {
		l.names[c] = c.Name
	}
	tool := l.find(l.names[c])
	l.mu.Unlock()
	if tool == nil {
		return hooks.ErrNoTool
	}
	l.mu.Lock()
	input, text := c.Input, l.results[c]
	failed, again := l.errs[c]
	if l.bug == "keeps the first input of a call" && again {
		input = l.inputs[c]
	}
	l.inputs[c] = maps.Clone(input)
	l.mu.Unlock()
	if l.bug == "runs the tool of a call once" && again && failed == nil {
		c.Result = text
		return nil
	}
	result, err := tool.Run(ctx, input)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !again:
		l.results[c], l.errs[c] = result, err
		l.raw[c.ID] = result
	case l.bug == "keeps the first result of a call" && failed == nil:
		result = text
	case l.bug == "keeps the first error of a call":
		err = failed
	}
	c.Result = result
	return err
}
