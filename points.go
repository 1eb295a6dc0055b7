package hooks

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
)

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
	ExecutionStart = define[Execution]("execution_start")
	// Input fires when the inputs of an execution are resolved.
	Input = define[Execution]("input")
	// PreStep fires before a task, a flow method or a turn.
	PreStep = define[Step]("pre_step")
	// PreModelCall fires before a model is called.
	PreModelCall = define[ModelCall]("pre_model_call")
	// PostModelCall fires after a model was called, well or not.
	PostModelCall = define[ModelCall]("post_model_call")
	// PreToolCall fires before a tool runs.
	PreToolCall = define[ToolCall]("pre_tool_call")
	// PostToolCall fires after a tool ran, and for blocked calls too.
	PostToolCall = define[ToolCall]("post_tool_call")
	// PostStep fires after a step, well or not.
	PostStep = define[Step]("post_step")
	// Output fires when the final result of an execution is ready.
	Output = define[Execution]("output")
	// ExecutionEnd fires once when an execution has finished, well or not.
	ExecutionEnd = define[Execution]("execution_end")
)

// point is what a Point[C] stands for, without its type parameter: the
// registries and the dispatcher work on it alone.
type point struct {
	name    InterceptionPoint
	id      int  // index into a registry's chains
	hasTool bool // its context has a ToolName
	hasRole bool // its context has an AgentRoleName
	readied bool // its context wants to be readied before hooks see it

	// std is the default registry's chain. It lives here, not in the
	// registry, so that an unused point costs one load.
	std atomic.Pointer[chain]
	// scoped is set, for good, when another registry first gets a hook at
	// this point: only then must a dispatch look for scopes in its ctx.
	scoped atomic.Bool
	// compile makes the []Func[C] of hooks that were registered with their
	// functions as any.
	compile func([]*hook) any
}

// points holds every point of the process by its name.
var points struct {
	sync.RWMutex
	byName map[InterceptionPoint]*point
	all    []*point
}

// Define makes a framework's own point, whose hooks get a *C. Its name must
// hold a dot or a slash ("acme.retrieve"): names without are the library's
// own, so that it can add points without breaking anybody. A C with
// ToolName() string can be filtered by [WithTools], one with
// AgentRoleName() string (as [Caller] has) by [WithAgents], and of one with
// HookPayload(InterceptionPoint) any events tell whether hooks modified it.
//
// Define panics on an empty, taken or undotted name and on a C that is a
// pointer or an interface, whose hooks would get a pointer to it. Call it
// once, for a package variable.
func Define[C any](name InterceptionPoint) Point[C] {
	switch {
	case name == "":
		panic("hooks: Define: the name of a point is empty")
	case !strings.ContainsAny(string(name), "./"):
		panic(fmt.Sprintf("hooks: Define(%q): names without a dot or a slash are the library's own; prefix yours, as in %q", name, "acme."+string(name)))
	}
	if k := reflect.TypeFor[C]().Kind(); k == reflect.Pointer || k == reflect.Interface {
		panic(fmt.Sprintf("hooks: Define(%q): the context type %v is a %v; give the struct type, hooks get a pointer to it", name, reflect.TypeFor[C](), k))
	}
	return define[C](name)
}

func define[C any](name InterceptionPoint) Point[C] {
	c := any((*C)(nil))
	p := &point{name: name, compile: compile[C]}
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

// Func is a hook: a function that a loop calls at a [Point] with the context
// of what is about to happen or has just happened.
//
// It returns nil to go on, [Abort] or a [*HookAborted] to stop, and any other
// error to say that it failed, which is contained unless the hook was
// registered with [WithFailClosed] or [AsGuard]. What it changes in c is what
// later hooks and the loop see. One Func may run in several goroutines at
// once; c belongs to one dispatch.
type Func[C any] = func(ctx context.Context, c *C) error
