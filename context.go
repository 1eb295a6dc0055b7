package hooks

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/loophooks/hooks/internal/shallow"
)

// Caller says on whose behalf something is done. It is embedded in every
// context, is plain data and may be copied; all of it may be unset. The `any`
// fields are the framework's own objects, for hooks that know them.
//
// The seams fill what is unset from ctx. So an execution inside another one's
// body has the RunID of the outer one unless it brings its own: a hook that
// forgets what it kept for a run at [ExecutionEnd] must expect nested ones.
type Caller struct {
	RunID     string
	AgentRole string
	Agent     any
	Task      any
	Crew      any
	Flow      any
}

// AgentRoleName returns AgentRole. It is what [WithAgents] looks at.
func (c Caller) AgentRoleName() string { return c.AgentRole }

func (c *Caller) hookCaller() *Caller { return c }

// callers is set, for good, when a ctx first carries a Caller.
var callers atomic.Bool

// WithCaller returns a ctx that carries c: the seams opened under it fill with
// it what is unset in their own Caller. [RunExecution] and [RunStep] do so for
// their bodies.
func WithCaller(ctx context.Context, c Caller) context.Context {
	callers.Store(true)
	return context.WithValue(nonNil(ctx), callerKey, &c)
}

// CallerFrom returns the Caller that ctx carries, the zero one if none.
func CallerFrom(ctx context.Context) Caller {
	if ctx == nil || !callers.Load() {
		return Caller{}
	}
	if c, ok := ctx.Value(callerKey).(*Caller); ok {
		return *c
	}
	return Caller{}
}

// except returns what of c differs from other.
func (c Caller) except(other Caller) Caller {
	if c.RunID == other.RunID {
		c.RunID = ""
	}
	if c.AgentRole == other.AgentRole {
		c.AgentRole = ""
	}
	c.Agent = exceptAny(c.Agent, other.Agent)
	c.Task = exceptAny(c.Task, other.Task)
	c.Crew = exceptAny(c.Crew, other.Crew)
	c.Flow = exceptAny(c.Flow, other.Flow)
	return c
}

func exceptAny(a, other any) any {
	if shallow.Identical(a, other) {
		return nil
	}
	return a
}

// fill sets what is unset in c from outer.
func (c *Caller) fill(outer Caller) {
	fillString(&c.RunID, outer.RunID)
	fillString(&c.AgentRole, outer.AgentRole)
	fillAny(&c.Agent, outer.Agent)
	fillAny(&c.Task, outer.Task)
	fillAny(&c.Crew, outer.Crew)
	fillAny(&c.Flow, outer.Flow)
}

func fillString(s *string, outer string) {
	if *s == "" {
		*s = outer
	}
}

func fillAny(a *any, outer any) {
	if *a == nil {
		*a = outer
	}
}

func (c *Caller) unset() bool {
	return c.RunID == "" && c.AgentRole == "" && c.Agent == nil && c.Task == nil && c.Crew == nil && c.Flow == nil
}

// Values lets a pre hook leave something for the post hook of the same call,
// such as a start time, without putting it into what the tool or model gets.
// Every context embeds one; it belongs to that one call. The zero Values is
// ready to use, and its methods are safe for concurrent use.
type Values struct {
	mu   sync.Mutex
	now  map[any]any
	past map[any]any // left by a use that has ended; gone when the next begins

	// filled is what a seam filled into the Caller beside the Values: the next
	// use may be on behalf of somebody else. It belongs to the seam.
	filled Caller
}

// Put sets the value of key, which must be comparable. Use a key of a type of
// your own, as for [context.WithValue].
func (v *Values) Put(key, value any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now == nil {
		v.now = make(map[any]any)
	}
	v.now[key] = value
}

// Get returns the value of key and whether it was put.
func (v *Values) Get(key any) (any, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if value, ok := v.now[key]; ok {
		return value, true
	}
	value, ok := v.past[key]
	return value, ok
}

func (v *Values) hookValues() *Values { return v }

// beginUse forgets what an earlier use left, but not what was put since.
func (v *Values) beginUse() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.past = nil
}

// endUse leaves the values readable until the next use begins.
func (v *Values) endUse() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.past == nil {
		v.past = v.now
	} else {
		maps.Copy(v.past, v.now)
	}
	v.now = nil
}

// Status is how far an [Execution] has come.
type Status string

// The states of an execution.
const (
	StatusRunning   Status = "running" // also of one that was interrupted, see PassThrough
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
)

// Execution is the context of [ExecutionStart], [Input], [Output] and
// [ExecutionEnd]: one run of an agent, a crew or a flow.
type Execution struct {
	Caller
	Values
	Inputs map[string]any // never nil for a hook
	Output any            // the final result; nil when the execution failed
	Status Status
	Err    error // why it failed
}

func (x *Execution) ready(InterceptionPoint) inputs { return &x.Inputs }

func (x *Execution) payload(p InterceptionPoint, s *snapshot) {
	switch p {
	case ExecutionStart.p.name, Input.p.name:
		s.input = x.Inputs
	case Output.p.name, ExecutionEnd.p.name:
		s.output = x.Output
	default:
		s.input, s.output = x.Inputs, x.Output
	}
}

// StepKind says what a [Step] is.
type StepKind string

// The kinds of steps.
const (
	StepTask       StepKind = "task"
	StepFlowMethod StepKind = "flow_method"
	StepTurn       StepKind = "turn" // one round of model call and tool calls; its Input is a *Turn
)

// Turn is one round of a loop: a model call and the tool calls that it asks
// for. A loop puts a pointer to one into the Input of a [Step] of kind
// [StepTurn], which hooks read it from, and sets Reply before the post point.
type Turn struct {
	Number   int       // as the loop counts
	Messages []Message // the history when the turn begins; whether edits count is the loop's to say
	Reply    Message   // what the model answered
}

// Step is the context of [PreStep] and [PostStep].
type Step struct {
	Caller
	Values
	Kind   StepKind
	Name   string
	Input  any
	Output any
	Err    error // why it failed
}

func (s *Step) payload(p InterceptionPoint, snap *snapshot) {
	if p != PostStep.p.name {
		snap.intake = s.Input
	}
	if p != PreStep.p.name {
		snap.output = s.Output
	}
}

// InterceptionPoint is the name of a place in a loop where hooks run, and the
// key of a registry: "pre_tool_call".
type InterceptionPoint string

// Name returns p itself, so that a bare name can be given wherever an
// [AnyPoint] is taken.
func (p InterceptionPoint) Name() InterceptionPoint { return p }

// ctxKey is the type of this package's context keys. Pointers compare faster
// than values behind an interface do.
type ctxKey struct{ name string }

var (
	scopesKey = &ctxKey{"scopes"}
	nestKey   = &ctxKey{"nest"}
	callerKey = &ctxKey{"caller"}
)

// nonNil spares hooks a nil ctx, on which every method panics.
func nonNil(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
