package hookstest

// What the kit sees of a run, by hooks at every point: which points fire, with
// which contexts, and what the hooks leave there.

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/loophooks/hooks"
)

// probe watches one trial: the hooks that it registers at every point, and the
// scripted models and tools, tell it what happens. It notes each rule that is
// broken whatever the scenario is about.
type probe struct {
	*kit
	registry *hooks.Registry
	early    bool // no stream waits for the guards of the probe

	mu     sync.Mutex
	events []event
	calls  []*call // by the order in which their pre points fired
	broken []Failure
	// outside is the first pre point that fired outside of an execution.
	outside string
	wired   bool   // the model was called over a wire
	nests   bool   // a tool runs the loop again
	overlap func() // is told when two tool calls are open at once
}

// event is one line of the trace.
type event struct {
	line   string
	starts bool                    // something of the run begins here
	point  hooks.InterceptionPoint // "" for a body
}

// call is what the probe knows of a pre point that has fired, and of what
// followed it.
type call struct {
	pre, post hooks.InterceptionPoint
	tool, key string
	id        string // of a tool call
	nth       int    // how many calls of this tool and key there were before
	shared    bool   // another call of this tool and key was open at the same time
	named     string // the tool, as the pre hooks left it
	inputs    int    // of an execution: how often input fired
	outputs   int    // of an execution: how often output fired
	passed    bool   // no pre hook aborted
	answered  bool
	runs      int  // how often the body began
	running   bool // a body has begun and not ended
	failed    bool // the last body returned an error
	late      bool // the run was cancelled before the post point could fire
	posts     int
	held      bool // a pre hook has suspended it
	waits     bool // it has no result yet: it is held, or its tool is suspended

	run     string // the RunID
	resumed bool   // of an execution

	// What execution_end was told.
	ended  bool
	status hooks.Status
	output any

	// What the post hooks left, once they have passed.
	settled   bool
	result    string
	parts     bool // the result isn't text
	isError   bool
	err       error
	blocked   bool
	toolCalls []hooks.ToolRequest
}

func (c *call) String() string {
	switch {
	case c.tool == "":
		return string(c.pre)
	case c.key == "":
		return fmt.Sprintf("%s %s", c.pre, c.tool)
	}
	return fmt.Sprintf("%s %s (%s)", c.pre, c.tool, c.key)
}

// over says whether the call has ended or will not go on.
func (c *call) over() bool {
	return c.posts > 0 || c.held || !c.passed && c.pre != hooks.PreToolCall.Name()
}

// runsTool says whether the call may be the one for which this tool runs. What the
// tool is called is what the pre hooks left.
func (c *call) runsTool(tool, key string) bool {
	return cmp.Or(c.named, c.tool) == tool && (c.key == key || c.key == "" || key == "")
}

// toRun says whether the call is the one of a tool with this key, and its body
// has still to run.
func (c *call) toRun(key string) bool {
	return c.tool != "" && key != "" && c.key == key && c.passed && !c.answered && c.runs == 0 && c.posts == 0
}

// callKey is where the probe finds its call in the Values of a context.
type callKey struct{}

type keeper interface {
	Put(key, value any)
	Get(key any) (any, bool)
}

func newProbe(k *kit, early bool) *probe {
	p := &probe{kit: k, early: early, registry: hooks.NewRegistry(), overlap: func() {}}
	first(p, hooks.ExecutionStart, func(c *hooks.Execution) {
		p.opens(c, &call{pre: hooks.ExecutionStart.Name(), post: hooks.ExecutionEnd.Name(), run: c.RunID, resumed: c.Resumed})
	})
	last(p, hooks.ExecutionStart, func(c *hooks.Execution, k *call) { k.passed = true })
	first(p, hooks.Input, func(c *hooks.Execution) { p.within(c, hooks.Input) })
	first(p, hooks.Output, func(c *hooks.Execution) { p.within(c, hooks.Output) })
	watchPost(p, hooks.ExecutionStart, hooks.ExecutionEnd, nil, func(*hooks.Execution, *call) {})
	first(p, hooks.ExecutionEnd, func(c *hooks.Execution) { p.told(c) })

	first(p, hooks.PreStep, func(c *hooks.Step) {
		switch c.Input.(type) {
		case *hooks.Turn, hooks.Turn: // the second by mistake
			p.turns.Store(true)
		}
		p.opens(c, &call{pre: hooks.PreStep.Name(), post: hooks.PostStep.Name()})
	})
	last(p, hooks.PreStep, func(c *hooks.Step, k *call) { k.passed = true })
	watchPost(p, hooks.PreStep, hooks.PostStep, nil, func(*hooks.Step, *call) {})

	first(p, hooks.PreModelCall, func(c *hooks.ModelCall) {
		if c.Iterations != 0 {
			p.turns.Store(true)
		}
		p.opens(c, &call{pre: hooks.PreModelCall.Name(), post: hooks.PostModelCall.Name(), run: c.RunID})
	})
	last(p, hooks.PreModelCall, func(c *hooks.ModelCall, k *call) { k.passed, k.answered = true, c.Answered() })
	watchPost(p, hooks.PreModelCall, hooks.PostModelCall, nil, func(c *hooks.ModelCall, k *call) {
		k.err, k.toolCalls = c.Err, slices.Clone(c.ToolCalls)
	})

	identify := func(c *hooks.ToolCall) (string, string) { return c.Name, keyOf(c.Input) }
	first(p, hooks.PreToolCall, func(c *hooks.ToolCall) {
		p.opens(c, &call{
			pre: hooks.PreToolCall.Name(), post: hooks.PostToolCall.Name(), tool: c.Name, key: keyOf(c.Input), id: c.ID, run: c.RunID,
		})
	})
	last(p, hooks.PreToolCall, func(c *hooks.ToolCall, k *call) { k.passed, k.answered, k.named = true, c.Answered(), c.Name })
	watchPost(p, hooks.PreToolCall, hooks.PostToolCall, identify, func(c *hooks.ToolCall, k *call) {
		k.err, k.blocked, k.result, k.parts, k.isError = c.Err, c.Blocked != nil, c.Result, len(c.Parts) > 0, c.IsError()
		k.waits = isSuspended(c.Err)
	})
	return p
}

// keyOf returns what tells the calls of a trial apart. It is in their input
// since not every loop hands on a call's id.
func keyOf(input map[string]any) string {
	key, _ := input["key"].(string)
	return key
}

// first registers a hook that runs before all others at its point.
func first[C any](p *probe, at hooks.Point[C], see func(*C)) {
	hooks.On(at, func(_ context.Context, c *C) error {
		see(c)
		return nil
	}, hooks.In(p.registry), hooks.WithName("hookstest"), hooks.WithPriority(math.MaxInt))
}

// last registers a hook that runs after all others at its point, if none
// aborted.
func last[C any](p *probe, at hooks.Point[C], see func(*C, *call), opts ...hooks.Option) {
	hooks.On(at, func(ctx context.Context, c *C) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if k := callIn(any(c).(keeper)); k != nil {
			k.late = k.late || k.posts == 0 && ctx.Err() != nil
			see(c, k)
		}
		return nil
	}, append(opts, hooks.In(p.registry), hooks.WithName("hookstest"), hooks.AsGuard(), hooks.WithPriority(math.MinInt))...)
}

// watchPost registers both kinds of hooks at a post point. Of a tool call,
// identify tells the tool and the key.
func watchPost[C any](p *probe, pre, post hooks.Point[C], identify func(*C) (string, string), see func(*C, *call)) {
	hooks.On(post, func(ctx context.Context, c *C) error {
		var tool, key string
		if identify != nil {
			tool, key = identify(c)
		}
		p.closes(ctx, any(c).(keeper), pre, post, tool, key)
		return nil
	}, hooks.In(p.registry), hooks.WithName("hookstest"), hooks.WithPriority(math.MaxInt))
	var opts []hooks.Option
	if p.early {
		opts = append(opts, hooks.AfterShown())
	}
	last(p, post, func(c *C, k *call) {
		k.settled = true
		see(c, k)
	}, opts...)
}

func callIn(c keeper) *call {
	v, _ := c.Get(callKey{})
	k, _ := v.(*call)
	return k
}

// breaks notes a broken rule, once. The caller holds mu.
func (p *probe) breaks(rule, want, got string) {
	if slices.ContainsFunc(p.broken, func(f Failure) bool { return f.Rule == rule }) {
		return
	}
	p.broken = append(p.broken, Failure{Rule: rule, Want: want, Got: got})
}

func (p *probe) note(e event) { p.events = append(p.events, e) }

// opens tells of a pre point.
func (p *probe) opens(c keeper, k *call) {
	p.mu.Lock()
	p.note(event{line: k.String(), starts: true, point: k.pre})
	if k.pre != hooks.ExecutionStart.Name() && p.outside == "" && !p.inExecution() {
		p.outside = k.String()
	}
	if k.tool != "" {
		p.opensTool(k)
	}
	p.calls = append(p.calls, k)
	p.mu.Unlock()
	c.Put(callKey{}, k)
}

// opensTool compares a tool call with those before it. The caller holds mu.
func (p *probe) opensTool(k *call) {
	for _, other := range p.calls {
		if other.waits {
			continue
		}
		switch {
		case other.pre != k.pre:
		case other.tool == k.tool && other.key == k.key:
			k.nth++
			if other.posts == 0 {
				k.shared, other.shared = true, true
			}
		}
		if other.pre == k.pre && other.posts == 0 && !p.nests {
			p.parallel.Store(true)
			p.overlap()
		}
	}
}

// waiting returns a tool call of a run that waits and hasn't been made again, nil
// if there is none. The caller holds mu.
func (p *probe) waiting(run string) *call {
	var again []*call
	for _, k := range slices.Backward(p.calls) {
		if k.pre != hooks.PreToolCall.Name() || k.run != run {
			continue
		}
		if k.waits && !slices.ContainsFunc(again, func(later *call) bool { return later.is(k.tool, k.key) }) {
			return k
		}
		again = append(again, k)
	}
	return nil
}

// inExecution says whether an execution is open, between its input and its
// output.
func (p *probe) inExecution() bool {
	return slices.ContainsFunc(p.calls, func(k *call) bool {
		return k.pre == hooks.ExecutionStart.Name() && k.passed && k.posts == 0 && k.outputs == 0 &&
			(k.inputs > 0 || !p.has(hooks.Input))
	})
}

// told keeps what the first hook at execution_end is told.
func (p *probe) told(c *hooks.Execution) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := callIn(c); k != nil && k.posts == 1 {
		k.ended, k.status, k.err, k.output = true, c.Status, c.Err, c.Output
	}
}

// within tells of the input and output of an execution.
func (p *probe) within(c keeper, point hooks.AnyPoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(event{line: string(point.Name()), starts: true, point: point.Name()})
	k := callIn(c)
	if k == nil {
		if k = p.openCall(hooks.ExecutionStart.Name(), "", ""); k != nil {
			p.breaks(ruleSame, fmt.Sprintf("%s with the context of execution_start", point.Name()), "another context")
		}
	}
	if k == nil {
		return
	}
	if point.Name() == hooks.Input.Name() {
		k.inputs++
	} else {
		k.outputs++
	}
}

// closes tells of a post point.
func (p *probe) closes(ctx context.Context, c keeper, pre, post hooks.AnyPoint, tool, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := callIn(c)
	if k == nil {
		if k = p.openCall(pre.Name(), tool, key); k != nil {
			p.breaks(ruleSame, fmt.Sprintf("%s with the context of %s, and what was put into its Values", post.Name(), k), "another context")
			defer c.Put(callKey{}, k)
		}
	}
	line := string(post.Name())
	if tool != "" {
		line += " " + tool
	}
	if key != "" {
		line += " (" + key + ")"
	}
	p.note(event{line: line, point: post.Name()})
	if k == nil {
		if p.has(pre) {
			p.breaks(rulePostLone, fmt.Sprintf("%s before %s", pre.Name(), line), "no pre point, or one whose post point has fired already")
		}
		return
	}
	// A tool call beside the one that cancels may have its post point open by then.
	if ctx.Err() != nil && (k.late || k.tool == "") {
		p.breaks(ruleLive, "a live ctx for "+line, ctx.Err().Error())
	}
	if k.running && !k.shared {
		p.breaks(rulePostAfter, line+" after what it follows", "it was still running")
	}
	k.posts++
	switch {
	case k.posts > 1 && k.pre == hooks.ExecutionStart.Name():
		p.breaks(ruleEnd, "execution_end once", fmt.Sprintf("it fired %d times", k.posts))
	case k.posts > 1:
		p.breaks(rulePostOnce, fmt.Sprintf("%s once for its %s", line, pre.Name()), fmt.Sprintf("it fired %d times", k.posts))
	}
}

// openCall returns the latest call of this kind that isn't over.
func (p *probe) openCall(pre hooks.InterceptionPoint, tool, key string) *call {
	for _, k := range slices.Backward(p.calls) {
		if k.pre == pre && k.is(tool, key) && !k.over() {
			return k
		}
	}
	return nil
}

// is says whether the call may be the one of this tool and key.
func (c *call) is(tool, key string) bool {
	return c.tool == tool && (c.key == key || c.key == "" || key == "")
}
