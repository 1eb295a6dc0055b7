package hooks

// The typed points, their names, and which of them there are. What a context
// has to offer a point is asked once, when the point is defined.

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
)

// Func is a hook: a function that a loop calls at a [Point] with the context
// of what is about to happen or has just happened.
//
// It returns nil to go on, [Abort] or a [*HookAborted] to stop, a [*Suspended] to
// say that the run waits, and any other error to say that it failed. A failure lets the call go on, unless the hook
// is a guard ([Guard]) or was registered with [WithFailClosed]: a hook that
// must be able to refuse returns an abort, or is a guard. What it changes in c is
// what later hooks and the loop see. One Func may run in several goroutines at
// once; c belongs to one dispatch.
type Func[C any] = func(ctx context.Context, c *C) error

// AnyPoint is a [Point] of any context type, or a bare [InterceptionPoint]:
// what the functions that list and clear hooks take.
type AnyPoint interface{ Name() InterceptionPoint }

// Point is the typed handle of an [InterceptionPoint] whose hooks get a *C.
// It is comparable and may be copied freely. The zero Point names nothing:
// dispatching on it is an error and registering on it panics.
type Point[C any] struct{ p *point }

// Name returns the point's name, "" for the zero Point.
func (p Point[C]) Name() InterceptionPoint {
	if p.p == nil {
		return ""
	}
	return p.p.name
}

// The points of an agent loop, in the order in which they fire.
var (
	// ExecutionStart fires when an execution is about to begin. An abort
	// prevents it, and there is no ExecutionEnd.
	ExecutionStart = define[Execution]("execution_start", before)
	// Input fires when the inputs of an execution are resolved.
	Input = define[Execution]("input", before)
	// PreStep fires before a task, a flow method or a turn.
	PreStep = define[Step]("pre_step", before)
	// PreModelCall fires before a model is called.
	PreModelCall = define[ModelCall]("pre_model_call", before)
	// PostModelCall fires after every model call, failed ones included.
	PostModelCall = define[ModelCall]("post_model_call", after)
	// PreToolCall fires before a tool runs.
	PreToolCall = define[ToolCall]("pre_tool_call", before)
	// PostToolCall fires after every tool call, blocked ones included.
	PostToolCall = define[ToolCall]("post_tool_call", after)
	// PostStep fires after every step, failed ones included.
	PostStep = define[Step]("post_step", after)
	// Output fires when the final result of an execution is ready.
	Output = define[Execution]("output", after)
	// ExecutionEnd fires once when an execution has finished, failed ones
	// included.
	ExecutionEnd = define[Execution](executionEnd, after)
)

const executionEnd InterceptionPoint = "execution_end"

// side says on which side of an operation a point stands, and so which of the
// values of its context are the point's payload.
type side uint8

const (
	own    side = iota // a framework's own point: all of them
	before             // what goes in
	after              // what came out
)

// point is a Point[C] without its type parameter: the
// registries and the dispatcher work on it alone.
type point struct {
	name    InterceptionPoint
	id      int // index into a registry's chains
	side    side
	hasTool bool // its context has a ToolName
	hasRole bool // its context has an AgentRoleName
	readied bool // its context is one of this package, or embeds one

	// std is the default registry's chain. It lives here, not in the registry, so
	// that finding it costs one load.
	std atomic.Pointer[chain]
	// live counts the registries that have hooks at this point, or behind it: an
	// unused point costs one load.
	live atomic.Int32
	// scoped counts those but the default one: only where there are any must a
	// dispatch look for scopes in its ctx.
	scoped atomic.Int32
	// compile makes the []Func[C] of hooks that were registered with their
	// functions as any.
	compile func([]*hook) any

	// A pre point knows the body behind it and the stream of that body, which
	// are points that hold around hooks and filters; they know the pre points.
	// What is registered at either counts in the scoped of those.
	body, flow *point
	pres       []*point
	post       *point      // of a body and a flow: what follows
	told       atomic.Bool // of a body: it was logged that its around hooks don't run
	wraps      sync.Pool   // of a body: *wrap[C] that no passage uses
}

// points holds every point of the process by its name.
var points struct {
	sync.RWMutex
	byName map[InterceptionPoint]*point
	all    []*point
}

// Define makes a framework's own point, whose hooks get a *C. Its name must
// hold a dot or a slash ("acme.retrieve"): names without are the library's
// own, so that it can add points without breaking anybody.
//
// What C can do more is found in its methods, on the value or on the pointer:
//
//   - ToolName() string lets [WithTools] filter hooks;
//   - AgentRoleName() string lets [WithAgents] filter them, as [Caller] does;
//   - HookPayload(InterceptionPoint) any tells events whether a hook modified
//     something;
//   - HookCopy() *C gives a [Watch] a copy of its own;
//   - SetHookError(error) is told by [Run] of a failure;
//   - Answered() bool lets Run leave the body out.
//
// Define panics on an empty, taken or undotted name and on a C that is a
// pointer or an interface, whose hooks would get a pointer to it. Call it
// once, for a package variable.
func Define[C any](name InterceptionPoint) Point[C] {
	checkDefined[C]("Define", name)
	return define[C](name, own)
}

// checkDefined panics on a name or a C that the function named can't take.
func checkDefined[C any](caller string, name InterceptionPoint) {
	switch {
	case name == "":
		panic("hooks: " + caller + ": the name of a point is empty")
	case !strings.ContainsAny(string(name), "./"):
		panic(fmt.Sprintf("hooks: %s(%q): names without a dot or a slash are the library's own; prefix yours, as in %q", caller, name, "acme."+string(name)))
	}
	if k := reflect.TypeFor[C]().Kind(); k == reflect.Pointer || k == reflect.Interface {
		panic(fmt.Sprintf("hooks: %s(%q): the context type %v is a %v; give the struct type, hooks get a pointer to it", caller, name, reflect.TypeFor[C](), k))
	}
}

func define[C any](name InterceptionPoint, at side) Point[C] {
	c := any((*C)(nil))
	p := &point{name: name, side: at, compile: compile[C]}
	_, p.hasTool = c.(toolNamer)
	_, p.hasRole = c.(roleNamer)
	_, p.readied = c.(readier)

	points.Lock()
	defer points.Unlock()
	if points.byName[name] != nil {
		panic(fmt.Sprintf("hooks: Define(%q): the name is taken; a point is defined once", name))
	}
	if points.byName == nil {
		points.byName = make(map[InterceptionPoint]*point)
	}
	p.id = len(points.all)
	points.byName[name] = p
	points.all = append(points.all, p)
	return Point[C]{p}
}

// defineBody makes the point that holds the around hooks of what runs between the
// last of pres and post.
func defineBody[C any](name InterceptionPoint, post Point[C], pres ...Point[C]) Body[C] {
	p := definePart[C](name, post, pres)
	for _, pre := range pres {
		pre.p.body = p
	}
	return Body[C]{p}
}

// defineFlow makes the point that holds the filters of what a body streams.
func defineFlow[C any](name InterceptionPoint, post, pre Point[C]) Flow[C] {
	p := definePart[C](name, post, []Point[C]{pre})
	pre.p.flow = p
	return Flow[C]{p}
}

func definePart[C any](name InterceptionPoint, post Point[C], pres []Point[C]) *point {
	p := define[C](name, own).p
	p.compile = func([]*hook) any { return nil } // not Funcs
	p.post = post.p
	for _, pre := range pres {
		p.pres = append(p.pres, pre.p)
	}
	return p
}

// count counts one registry more or less that has something at p. Behind a pre
// point, that counts there as well, so that a loop doesn't pass it by.
func (p *point) count(by int32) {
	p.live.Add(by)
	for _, pre := range p.pres {
		pre.live.Add(by)
		pre.scoped.Add(by)
	}
}

// follows says whether the point may come after a body: those that are known to
// come before one don't, nor do bodies and flows themselves.
func (p *point) follows() bool {
	return p.side == after || p.side == own && p.body == nil && p.flow == nil && p.post == nil
}

func compile[C any](hooks []*hook) any {
	fns := make([]Func[C], len(hooks))
	for i, h := range hooks {
		fns[i] = h.fn.(Func[C])
	}
	return fns
}

// lookup returns the point that p names, nil if there is none.
func lookup(p AnyPoint) *point {
	if p == nil {
		return nil
	}
	name := p.Name() // foreign code: not under the lock
	points.RLock()
	defer points.RUnlock()
	return points.byName[name]
}

// definedPoints returns the points of the process in the order of their ids.
func definedPoints() []*point {
	points.RLock()
	defer points.RUnlock()
	return points.all[:len(points.all):len(points.all)]
}
