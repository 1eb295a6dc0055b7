package hookstest_test

// The loop that is right unless it is told which mistake to make. A mistake is
// named in the words of what the loop does then.

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

// bug is a deliberate mistake of a flawed loop.
type bug string

// flawed is a loop with one mistake, none for the bug "". It is built on the
// Begin forms, which leave a loop every freedom to get things wrong.
type flawed struct {
	hookstest.Setup
	bug      bug
	steps    bool
	parallel bool
	talks    bool              // the conversation goes on with the next run
	talk     []hooks.Message   // what was said in earlier runs
	named    map[string]string // the tools that the model named, by the id of the call; for a bug
	cached   map[string]string // results by name and arguments; for a bug
}

// flawedOptions are those of a flawed loop that makes no mistake.
var flawedOptions = []hookstest.LoopOption{
	marksErrors,
	hookstest.Skip("wrapped-tool", "the Begin forms have no body to wrap"),
	hookstest.Skip("wrapped-model", "the Begin forms have no body to wrap"),
}

func newFlawed(b bug) func(hookstest.Setup) hookstest.Loop {
	return func(s hookstest.Setup) hookstest.Loop {
		switch b {
		case "panics while it is built":
			panic("there is no configuration")
		case "is nil":
			return nil
		}
		return (&flawed{Setup: s, bug: b, steps: true, talks: true, cached: make(map[string]string)}).run
	}
}

func (l *flawed) run(ctx context.Context, prompt string) (string, error) {
	x := &hooks.Execution{Caller: hooks.Caller{RunID: rand.Text()}, Inputs: map[string]any{"prompt": prompt}}
	switch l.bug {
	case "fails at once":
		return "", errors.New("no configuration")
	case "hides the prompt":
		x.Inputs = nil
	case "fires no execution points":
		return l.body(ctx, prompt)
	case "gives a run inside a tool no start of its own":
		if ctx.Value(insideKey{}) != nil {
			return l.body(ctx, prompt)
		}
		ctx = context.WithValue(ctx, insideKey{}, true)
	case "keeps to itself that a run inside a tool waits":
		if ctx.Value(insideKey{}) != nil {
			l.bug = "flattens what waits"
		}
		ctx = context.WithValue(ctx, insideKey{}, true)
	case "panics":
		panic("the loop is broken")
	case "ends its goroutine":
		runtime.Goexit()
	}
	runCtx, end, err := hooks.BeginExecution(ctx, x)
	if err != nil {
		abort, ok := errors.AsType[*hooks.HookAborted](err)
		if l.bug == "ends what was aborted at its start" && ok && abort.Point == hooks.ExecutionStart.Name() {
			_ = hooks.Dispatch(ctx, hooks.ExecutionEnd, x)
		}
		return "", l.spoil(err)
	}
	if l.bug == "fires input twice" {
		_ = hooks.Dispatch(runCtx, hooks.Input, x)
	}
	if p, ok := x.Inputs["prompt"].(string); ok && l.bug != "ignores edited inputs" && (p != "" || l.bug != "takes an empty prompt for none") {
		prompt = p
	}
	text, err := l.contained(runCtx, prompt)
	if err == nil {
		x.Output = text
	}
	switch failed := err; {
	case ctx.Err() != nil && l.bug == "tells of the end with the cancelled ctx":
		x.Status, x.Err = hooks.StatusFailed, failed
		return "", errors.Join(failed, hooks.Dispatch(ctx, hooks.ExecutionEnd, x))
	case failed != nil && l.bug == "fires no end after an error":
		return "", failed
	case isSuspended(failed) && l.bug == "ends what waits as failed":
		x.Status, x.Err = hooks.StatusFailed, failed
		return "", errors.Join(failed, hooks.Dispatch(ctx, hooks.ExecutionEnd, x))
	case failed != nil && l.bug == "keeps the error from execution_end":
		x.Status = hooks.StatusFailed
		_ = hooks.Dispatch(context.WithoutCancel(ctx), hooks.ExecutionEnd, x)
		return "", l.spoil(failed)
	case failed == nil && l.bug == "fires no output":
		x.Status = hooks.StatusCompleted
		err = hooks.Dispatch(ctx, hooks.ExecutionEnd, x)
		if text, _ = x.Output.(string); err != nil {
			text = ""
		}
		return text, err
	}
	err = end(err)
	if panicked, ok := errors.AsType[*hooks.PanicError](err); ok && strings.HasPrefix(string(l.bug), "takes the ") {
		panic(panicked.Value)
	}
	switch {
	case l.bug == "takes the prompt for a text":
		_ = x.Inputs["prompt"].(string)
	case l.bug == "takes the output for a text" && err == nil:
		_ = x.Output.(string)
	}
	switch l.bug {
	case "fires the end twice":
		_ = hooks.Dispatch(context.WithoutCancel(ctx), hooks.ExecutionEnd, x)
	case "fires a step after the end":
		s := &hooks.Step{}
		_ = hooks.Dispatch(context.WithoutCancel(ctx), hooks.PreStep, s)
		_ = hooks.Dispatch(context.WithoutCancel(ctx), hooks.PostStep, s)
	}
	vetoed := err != nil && l.bug == "returns vetoed output"
	edited := err == nil && l.bug == "ignores edited output"
	if !vetoed && !edited {
		edited, _ := x.Output.(string)
		if edited != "" || err != nil || l.bug != "takes an empty output for none" {
			text = edited
		}
	}
	if l.bug == "adds to the answer" && text == "the final answer" {
		text += "!"
	}
	return text, l.spoil(err)
}

// insideKey marks the ctx of a run.
type insideKey struct{}

// spoil is what the loop makes of an error that it returns.
func (l *flawed) spoil(err error) error {
	if isSuspended(err) && l.bug == "flattens what waits" {
		return errors.New(err.Error())
	}
	if !errors.As(err, new(*hooks.HookAborted)) {
		return err
	}
	switch l.bug {
	case "flattens aborts":
		return errors.New(err.Error())
	case "swallows aborts":
		return nil
	}
	return err
}

// contained runs the loop; a panic of it is an error.
func (l *flawed) contained(ctx context.Context, prompt string) (text string, err error) {
	if l.bug == "fires no end after a panic" {
		return l.body(ctx, prompt)
	}
	returned := false
	defer func() {
		if !returned {
			err = &hooks.PanicError{Value: recover()}
		}
	}()
	text, err = l.body(ctx, prompt)
	returned = true
	return text, err
}

func (l *flawed) body(ctx context.Context, prompt string) (string, error) {
	history := append(slices.Clone(l.talk), hooks.Message{Role: "user", Content: prompt})
	if l.talks {
		defer func() { l.talk = l.kept(history) }()
	}
	for n := range l.MaxTurns {
		text, done, err := l.turn(ctx, n, &history)
		if err != nil || done {
			if l.bug == "asks on" && done {
				_, _, err = l.turn(ctx, n+1, &history)
			}
			return text, err
		}
	}
	return "", errors.New("no answer")
}

// kept is what the loop keeps of its history for the next run.
func (l *flawed) kept(history []hooks.Message) []hooks.Message {
	if l.bug != "keeps raw results for the next run" {
		return history
	}
	history = slices.Clone(history)
	for i, m := range history {
		if m.Role == "tool" {
			history[i].Content = cmp.Or(l.cached[m.ToolCallID], m.Content)
		}
	}
	return history
}

func (l *flawed) turn(ctx context.Context, n int, history *[]hooks.Message) (text string, done bool, err error) {
	if !l.steps {
		return l.modelAndTools(ctx, n, history)
	}
	turn := &hooks.Turn{Number: n, Messages: slices.Clone(*history)}
	s := &hooks.Step{Kind: hooks.StepTurn, Name: fmt.Sprint(n), Input: turn}
	switch l.bug {
	case "has steps without a turn":
		s.Input = nil
	case "has turns that are no pointers":
		s.Input = *turn
	case "has turns with the first messages alone":
		turn.Messages = turn.Messages[:1]
	case "has turns without messages":
		turn.Messages = nil
	}
	if l.bug == "never fires steps" {
		return l.modelAndTools(ctx, n, history)
	}
	stepCtx, end, err := hooks.BeginStep(ctx, s)
	if err != nil {
		if l.bug == "fires a post point after an abort" && errors.As(err, new(*hooks.HookAborted)) {
			_ = hooks.Dispatch(ctx, hooks.PostStep, s)
		}
		return "", false, err
	}
	defer func() {
		if l.bug != "gives a turn no reply" {
			turn.Reply = l.reply(*history)
		}
		err = end(err)
		if l.bug == "ignores an abort at the end of the last step" && done {
			err = nil
		}
		if err != nil || !done || l.bug == "ignores the edited output of a step" {
			return
		}
		if l.bug == "takes the output of a step for a text" {
			_ = s.Output.(string)
		}
		edited, _ := s.Output.(string)
		if edited != "" || l.bug != "takes an empty output of a step for none" {
			text = edited
		}
	}()
	if l.bug == "takes the input of a step for its own" {
		_ = s.Input.(*hooks.Turn)
	}
	text, done, err = l.modelAndTools(stepCtx, n, history)
	s.Output = text
	return text, done, err
}

// reply returns the last reply of the model.
func (l *flawed) reply(history []hooks.Message) (reply hooks.Message) {
	for _, m := range history {
		if m.Role == "assistant" {
			reply = m
		}
	}
	return reply
}

func (l *flawed) modelAndTools(ctx context.Context, n int, history *[]hooks.Message) (string, bool, error) {
	m, raw, err := l.callModel(ctx, n, *history)
	if l.bug == "keeps edits of the messages" && err == nil {
		*history = m.Messages
	}
	if l.bug == "retries aborted model calls" && errors.As(err, new(*hooks.HookAborted)) {
		m, raw, err = l.callModel(ctx, n, *history)
	}
	if l.bug == "hides model errors" && err != nil && !errors.As(err, new(*hooks.HookAborted)) && !isSuspended(err) && ctx.Err() == nil {
		err = errors.New("something went wrong")
	}
	if l.bug == "asks a suspended model again" && isSuspended(err) {
		m, raw, err = l.callModel(ctx, n, *history)
	}
	if l.bug == "goes on after an abort at the model" && errors.As(err, new(*hooks.HookAborted)) {
		err = nil
		m.ToolCalls = []hooks.ToolRequest{{ID: "extra", Name: "beta", Arguments: `{"key":"extra"}`}}
	}
	if err != nil {
		return "", false, err
	}
	reply := hooks.Message{Role: "assistant", Content: m.Response, ToolCalls: m.ToolCalls}
	calls := m.ToolCalls
	switch l.bug {
	case "keeps the raw response":
		reply.Content = raw.Text
	case "takes an empty response for none":
		reply.Content = cmp.Or(m.Response, raw.Text)
	case "runs the tool calls that were all dropped":
		if len(calls) == 0 {
			reply.ToolCalls, calls = raw.ToolCalls, raw.ToolCalls
		}
	case "keeps dropped tool calls in the history":
		reply.ToolCalls = raw.ToolCalls
	case "keeps raw arguments in the history":
		reply.ToolCalls = slices.Clone(m.ToolCalls)
		for i := range min(len(reply.ToolCalls), len(raw.ToolCalls)) {
			reply.ToolCalls[i].Arguments = raw.ToolCalls[i].Arguments
		}
	case "runs no more tool calls than the model asked for":
		calls = calls[:min(len(calls), len(raw.ToolCalls))]
	case "runs the tool calls of before the post hooks":
		reply.ToolCalls, calls = raw.ToolCalls, raw.ToolCalls
	}
	if l.bug == "runs the tool that the model named" {
		l.named = make(map[string]string)
		for _, req := range raw.ToolCalls {
			l.named[req.ID] = req.Name
		}
	}
	*history = append(*history, reply)
	if len(calls) == 0 {
		return reply.Content, true, nil
	}
	results, err := l.callTools(ctx, n, calls)
	*history = append(*history, results...)
	return "", false, err
}

func (l *flawed) callModel(ctx context.Context, n int, history []hooks.Message) (*hooks.ModelCall, hookstest.Reply, error) {
	m := &hooks.ModelCall{Iterations: n, Messages: history}
	if l.bug == "counts no model calls" {
		m.Iterations = 0
	}
	for _, t := range l.Tools {
		m.Tools = append(m.Tools, t.Name)
	}
	all := slices.Clone(m.Tools)
	if l.bug == "offers nothing to the hooks" {
		m.Tools = nil
	}
	if l.bug == "calls the model without hooks" {
		raw, err := l.Model(ctx, hookstest.Request{Messages: history, Tools: all, Model: m.Model})
		m.Response, m.ToolCalls = raw.Text, raw.ToolCalls
		return m, raw, err
	}
	modelCtx, end, err := hooks.BeginModel(ctx, m)
	if err != nil {
		if l.bug == "calls an aborted model" && !isSuspended(err) {
			_, _ = l.Model(ctx, hookstest.Request{Messages: history, Tools: all, Model: m.Model})
		}
		return m, hookstest.Reply{}, err
	}
	if m.Answered() && l.bug != "ignores answered model calls" {
		return m, hookstest.Reply{Text: m.Response}, end(nil)
	}
	req := hookstest.Request{Messages: m.Messages, Tools: m.Tools, Model: m.Model}
	switch l.bug {
	case "ignores hidden tools", "offers nothing to the hooks":
		req.Tools = all
	case "obeys the hooks of its model in two turns only":
		if n >= 2 {
			req = hookstest.Request{Messages: history, Tools: all, Model: m.Model}
		}
	case "offers every tool where all are hidden":
		if len(req.Tools) == 0 {
			req.Tools = all
		}
	case "calls the model without cancellation":
		modelCtx = context.WithoutCancel(modelCtx)
	case "offers no tools":
		req.Tools = nil
	case "sends its own messages of the assistant":
		req.Messages = slices.Clone(req.Messages)
		for i := range min(len(req.Messages), len(history)) {
			if history[i].Role == "assistant" && req.Messages[i].Role == "assistant" {
				req.Messages[i] = history[i]
			}
		}
	case "ignores edited messages":
		req.Messages = history
	case "calls the model without its ctx":
		modelCtx = context.Background()
	}
	returned := false
	defer func() {
		if !returned {
			_ = end(errors.New("the model panicked"))
		}
	}()
	raw, err := l.Model(modelCtx, req)
	if err != nil && ctx.Err() == nil {
		switch l.bug {
		case "asks a failed model again with its own messages":
			raw, err = l.Model(modelCtx, hookstest.Request{Messages: history, Tools: m.Tools, Model: m.Model})
		case "asks a failed model again without cancellation":
			raw, err = l.Model(context.WithoutCancel(modelCtx), req)
		}
	}
	raw.ToolCalls = slices.Clone(raw.ToolCalls)
	returned = true
	m.Response, m.ToolCalls = raw.Text, raw.ToolCalls
	if l.bug == "shows a response before its post hooks" {
		for piece := range strings.SplitAfterSeq(raw.Text, " ") {
			l.Show(piece)
		}
	}
	if l.bug == "fires the post point of the model twice" {
		_ = hooks.Dispatch(context.WithoutCancel(ctx), hooks.PostModelCall, m)
	}
	if l.bug == "fires no post point of a failed model call" && err != nil {
		return m, raw, err
	}
	err = end(err)
	if l.bug == "obeys the hooks of its model in two turns only" && n >= 2 {
		m.Response, m.ToolCalls, err = raw.Text, raw.ToolCalls, nil
	}
	if err == nil && m.Response != "" && l.bug != "shows a response before its post hooks" {
		l.Show(m.Response)
	}
	return m, raw, err
}

func (l *flawed) callTools(ctx context.Context, turn int, requests []hooks.ToolRequest) ([]hooks.Message, error) {
	results := make([]hooks.Message, len(requests))
	errs := make([]error, len(requests))
	var wg sync.WaitGroup
	for i, req := range requests {
		if l.bug == "skips the calls after one that failed" && i > 0 && strings.HasPrefix(results[i-1].Content, "Error: ") {
			results[i] = hooks.Message{Role: "tool", ToolCallID: req.ID, Content: "Error: skipped"}
			continue
		}
		run := func() { results[i], errs[i] = l.callTool(ctx, turn, i, req) }
		switch {
		case l.parallel:
			wg.Go(run)
		default:
			run()
		}
		if l.parallel {
			continue
		}
		waits := isSuspended(errs[i]) && l.bug != "leaves the turn at a call that waits"
		if errs[i] == nil || waits || l.bug == "finishes the turn after a stop" {
			continue
		}
		for j := i + 1; j < len(requests); j++ {
			results[j] = hooks.Message{Role: "tool", ToolCallID: requests[j].ID, Content: "Error: not run"}
		}
		if l.bug == "leaves holes in a stopped conversation" {
			results = results[:i+1]
		}
		return results, errs[i]
	}
	wg.Wait()
	switch l.bug {
	case "collects the results of a turn by id":
		l.collect(make(map[string]string), results)
	case "collects the results of a run by id":
		l.collect(l.cached, results)
	case "mixes up the results":
		slices.Reverse(results)
		for i := range results {
			results[i].ToolCallID = requests[i].ID
		}
	case "sends results without ids in any order":
		slices.Reverse(results)
		for i := range results {
			results[i].ToolCallID = ""
		}
	case "sends results without ids":
		for i := range results {
			results[i].ToolCallID = ""
		}
	case "forgets the results but the first":
		results = results[:1]
	case "sends failed calls no result":
		results = slices.DeleteFunc(results, func(m hooks.Message) bool { return strings.HasPrefix(m.Content, "Error: ") })
	}
	return results, errors.Join(errs...)
}

// collect gives each id one text, the first that it had.
func (l *flawed) collect(texts map[string]string, results []hooks.Message) {
	for i, m := range results {
		if _, ok := texts[m.ToolCallID]; !ok {
			texts[m.ToolCallID] = m.Content
		}
		results[i].Content = texts[m.ToolCallID]
	}
}

func (l *flawed) callTool(ctx context.Context, turn, i int, req hooks.ToolRequest) (hooks.Message, error) {
	c := &hooks.ToolCall{ID: req.ID, Name: req.Name}
	name := cmp.Or(l.named[req.ID], req.Name)
	if l.bug == "runs tools that are spelt otherwise" {
		name = strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	}
	at := slices.IndexFunc(l.Tools, func(t hookstest.Tool) bool { return t.Name == name })
	var tool *hookstest.Tool
	if at >= 0 {
		tool = &l.Tools[at]
		c.Tool = tool
	}
	switch {
	case l.bug == "gives calls no id":
		c.ID = ""
	case l.bug == "gives calls no tool":
		c.Tool = nil
	case l.bug == "gives calls a run of their own":
		c.RunID = rand.Text()
	case l.bug == "hands out a nil pointer as the tool":
		c.Tool = tool
	case l.bug == "passes unknown tools by" && tool == nil:
		return hooks.Message{Role: "tool", ToolCallID: req.ID, Content: "no such tool"}, nil
	}
	raw := req.Arguments
	if l.bug == "refuses blank arguments" && strings.TrimSpace(raw) == "" {
		raw = "null"
	}
	argErr := c.SetArguments(raw)
	if l.bug == "passes bad arguments by" && argErr != nil {
		return hooks.Message{Role: "tool", ToolCallID: req.ID, Content: "bad arguments"}, nil
	}
	if argErr != nil && l.bug == "runs on bad arguments" {
		_ = c.SetArguments("{}")
	}
	if argErr != nil && l.bug == "reads arguments leniently" {
		var input map[string]any
		if json.NewDecoder(strings.NewReader(raw)).Decode(&input) == nil {
			text, _ := json.Marshal(input)
			argErr = c.SetArguments(string(text))
		}
	}
	if text, ok := l.cached[req.Name+req.Arguments]; ok {
		return hooks.Message{Role: "tool", ToolCallID: req.ID, Content: text}, nil
	}
	if l.bug == "bypasses the hooks for the second tool" && i == 1 || l.bug == "bypasses the hooks for tools" ||
		l.bug == "bypasses the hooks from the fourth call of a turn on" && i >= 3 || l.bug == "bypasses the hooks from the third turn on" && turn >= 2 {
		return l.direct(ctx, c, tool), nil
	}
	original := c.Input
	before, key := fmt.Sprint(c.Input["value"]), c.Input["key"]
	toolCtx, end, err := hooks.BeginTool(ctx, c)
	if err != nil {
		return l.notBegun(ctx, c, tool, err)
	}
	switch l.bug {
	case "runs tools without their ctx":
		toolCtx = context.Background()
	case "runs tools without cancellation":
		toolCtx = context.WithoutCancel(toolCtx)
	case "ignores edited input":
		if c.ShouldRun() {
			c.Input = original
			c.Input["value"] = before
		}
	case "ignores replaced input":
		c.Input = original
	case "takes an empty input for none":
		if len(c.Input) == 0 && argErr == nil {
			c.Input = map[string]any{"key": key, "value": before}
		}
	case "fires the post point before the tool":
		err = end(nil)
	}
	raw = ""
	run := c.ShouldRun()
	prepared := c.Result // of a call that was blocked or answered
	switch l.bug {
	case "ignores Blocked":
		run = run || c.Blocked != nil
	case "ignores answers":
		run = run || c.Answered()
	case "ignores the cancellation of a hook":
		run = run || ctx.Err() != nil && c.Blocked == nil && argErr == nil
	case "fires the post point before the tool":
		run = argErr == nil && c.Blocked == nil && !c.Answered()
	}
	var toolErr error
	if run {
		raw, toolErr = l.runTool(toolCtx, c, tool)
		if l.bug == "runs tools twice" {
			raw, toolErr = l.runTool(toolCtx, c, tool)
		}
	}
	blocked := c.Blocked
	ended := toolErr
	switch {
	case l.bug == "drops the error of a tool that returned a text" && raw != "":
		ended = nil
	case l.bug == "takes an interrupt for a failure" && toolErr != nil:
		ended = errors.Unwrap(toolErr)
		if ended == nil {
			ended = toolErr
		}
	case l.bug == "shows a result before its post hooks":
		l.Show(raw)
	}
	switch l.bug {
	case "fires no post point of tools":
	case "fires no post point of blocked tools":
		if c.Blocked == nil {
			err = end(toolErr)
		}
	case "fires the post point with another context":
		again := &hooks.ToolCall{ID: c.ID, Name: c.Name, Input: c.Input, Result: c.Result, Blocked: c.Blocked, Err: toolErr}
		err = hooks.Dispatch(context.WithoutCancel(ctx), hooks.PostToolCall, again)
		if toolErr != nil && again.Result == "" {
			again.Result = toolErr.Error()
		}
		c.Result, c.Blocked, c.Err = again.Result, again.Blocked, again.Err
	case "fires the post point twice":
		err = end(toolErr)
		_ = hooks.Dispatch(context.WithoutCancel(ctx), hooks.PostToolCall, c)
	case "fires a post point alone":
		err = end(toolErr)
		_ = hooks.Dispatch(context.WithoutCancel(ctx), hooks.PostToolCall, &hooks.ToolCall{Name: c.Name, Input: c.Input, Result: c.Result, Err: c.Err, Blocked: c.Blocked})
	case "swallows tool errors":
		err = end(nil)
	default:
		err = end(ended)
	}
	l.remember(req, raw, c)
	if l.bug == "ends the run at a blocked tool" && blocked != nil {
		return hooks.Message{}, blocked
	}
	if l.bug == "lets a tool's panic end the loop" && errors.As(toolErr, new(*hooks.PanicError)) {
		panic("a tool panicked")
	}
	if l.bug == "ends the run at a failed tool" && toolErr != nil {
		return hooks.Message{}, toolErr
	}
	if l.bug == "ignores StopRun" && errors.As(err, new(*hooks.HookAborted)) && c.Blocked != nil {
		err = nil
	}
	if l.bug == "ignores StopRun of inner runs" && errors.As(err, new(*hooks.HookAborted)) && c.Blocked == nil {
		err = nil
	}
	if l.bug == "ends the run at an abort of an inner run" && errors.As(toolErr, new(*hooks.HookAborted)) {
		err = toolErr
	}
	return l.message(c, req.ID, raw, prepared, toolErr, blocked, turn, i), err
}

// notBegun is what becomes of a call that BeginTool returned err for.
func (l *flawed) notBegun(ctx context.Context, c *hooks.ToolCall, tool *hookstest.Tool, err error) (hooks.Message, error) {
	result := hooks.Message{Role: "tool", ToolCallID: c.ID, Content: "Error: " + c.Result}
	if !isSuspended(err) {
		return result, err
	}
	switch l.bug {
	case "runs what waits":
		_, _ = l.runTool(ctx, c, tool)
	case "fires the post point of what waits":
		_ = hooks.Dispatch(ctx, hooks.PostToolCall, c)
	case "tells the model that a call waits":
		result.Content = "Error: somebody has to decide first"
		return result, nil
	}
	return result, err
}

// remember is the cache of a bug.
func (l *flawed) remember(req hooks.ToolRequest, raw string, c *hooks.ToolCall) {
	switch call := req.Name + req.Arguments; {
	case l.bug == "answers the same call from a cache":
		l.cached[call] = raw
	case l.bug == "answers a call that has failed from a cache" && c.Err != nil,
		l.bug == "answers a call that was blocked from a cache" && c.Blocked != nil && !c.Ran():
		l.cached[call] = "Error: " + c.Result
	case l.bug == "keeps raw results for the next run":
		l.cached[req.ID] = raw
	}
}

// runTool runs the tool's function; a panic of it is an error.
func (l *flawed) runTool(ctx context.Context, c *hooks.ToolCall, tool *hookstest.Tool) (raw string, err error) {
	if tool == nil || tool.Name != c.Name && !slices.Contains([]bug{
		"runs the tool of the old name", "runs the tool that the model named", "runs tools that are spelt otherwise",
	}, l.bug) {
		return "", fmt.Errorf("there is no tool %s", c.Name)
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		err = &hooks.PanicError{Value: v}
		if l.bug == "tells the model what a tool panics with" {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	raw, err = tool.Run(ctx, c.Input)
	c.Result = raw
	returned = true
	return raw, err
}

// direct runs a tool as if there were no hooks.
func (l *flawed) direct(ctx context.Context, c *hooks.ToolCall, tool *hookstest.Tool) hooks.Message {
	raw, err := l.runTool(ctx, c, tool)
	if err != nil {
		raw = "Error: " + err.Error()
	}
	return hooks.Message{Role: "tool", ToolCallID: c.ID, Content: raw}
}

func (l *flawed) message(c *hooks.ToolCall, id, raw, prepared string, toolErr error, blocked *hooks.HookAborted, turn, i int) hooks.Message {
	text := c.Result
	switch {
	case l.bug == "sends the raw result" && raw != "",
		l.bug == "takes an empty result for none" && text == "",
		l.bug == "sends raw results from the fifth call on" && i >= 4 && raw != "",
		l.bug == "sends raw results from the fourth turn on" && turn >= 3 && raw != "":
		text = raw
	case l.bug == "sends withheld results" && c.Blocked != nil && blocked == nil:
		text = raw + " " + text
	case l.bug == "tells the model which hook has blocked" && c.Blocked != nil:
		text += " (" + c.Blocked.Source + ")"
	case l.bug == "keeps the reason to itself" && c.Blocked != nil:
		text = "not allowed"
	case l.bug == "sends errors as they were before the post hooks" && toolErr != nil && c.Err != nil:
		text = toolErr.Error()
	case l.bug == "sends withheld errors" && toolErr != nil && c.Blocked != nil:
		text = toolErr.Error() + " " + text
	case l.bug == "sends answers as they were before the post hooks" && c.Answered(),
		l.bug == "sends refusals as they were before the post hooks" && c.Blocked != nil && !c.Ran():
		text = prepared
	}
	marked := c.IsError()
	switch l.bug {
	case "marks no errors":
		marked = false
	case "marks recovered calls":
		marked = marked || toolErr != nil
	case "marks no error that has a text":
		marked = marked && raw == ""
	}
	if marked {
		text = "Error: " + text
	}
	return hooks.Message{Role: "tool", ToolCallID: id, Content: text}
}
