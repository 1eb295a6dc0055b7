package hooks

// Who acts, and the contexts of executions and steps. The one ctx node of the
// package stands here too, since it carries the Caller.

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/loophooks/hooks/internal/shallow"
)

// InterceptionPoint is the name of a place in a loop where hooks run, and the
// key of a registry: "pre_tool_call".
type InterceptionPoint string

// Name returns p itself, so that a bare name can be given wherever an
// [AnyPoint] is taken.
func (p InterceptionPoint) Name() InterceptionPoint { return p }

// nonNil returns ctx, or context.Background if ctx is nil.
func nonNil(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// frame is the ctx node of this package. It holds everything that the nodes of
// this package around it hold, so that a dispatch and a seam look once.
type frame struct {
	context.Context
	carried *carried
	nest    *nest // the hooks that ctx comes from, nil for none
}

// carried is what a frame holds for those below it. It is never written, and so
// shared by the frames that add nothing to it.
type carried struct {
	scopes []*Registry // the active registries but the default one, from the outermost in
	desk   *deskNode   // where questions go, nil for none
	human  *human      // who answers them where there is no desk, nil for none
	caller *Caller     // nil if nobody said who calls
	run    *run        // the execution around, nil outside of one
	inner  bool        // of a seam that was opened with the ctx of a hook
}

var nothing carried

// holds returns what f carries; f may be nil.
func (f *frame) holds() *carried {
	if f == nil {
		return &nothing
	}
	return f.carried
}

// framed is set, for good, when a ctx first carries a frame.
var framed atomic.Bool

type ctxKey struct{ name string }

// frameKey is a pointer, since pointers compare faster than values behind an
// interface do.
var frameKey = &ctxKey{"frame"}

func (f *frame) Value(key any) any {
	if k, ok := key.(*ctxKey); ok && k == frameKey {
		return f
	}
	return f.Context.Value(key)
}

// frameOf returns the innermost frame of ctx, nil for none.
func frameOf(ctx context.Context) *frame {
	if f, ok := ctx.(*frame); ok {
		return f
	}
	if ctx == nil || !framed.Load() {
		return nil
	}
	f, _ := ctx.Value(frameKey).(*frame)
	return f
}

// newFrame returns a frame over ctx that carries what outer, the innermost frame
// of ctx, does.
func newFrame(ctx context.Context, outer *frame) frame {
	if !framed.Load() {
		framed.Store(true)
	}
	f := frame{Context: ctx, carried: outer.holds()}
	if outer != nil {
		f.nest = outer.nest
	}
	return f
}

// Caller says on whose behalf something is done. It is embedded in every
// context, is plain data and may be copied; all of it may be unset. The `any`
// fields are the framework's own objects, for hooks that know them.
//
// The seams fill what is unset from ctx. Inside an execution the three run IDs
// tell where in a tree of agents a call belongs: RunID is the execution's own,
// ParentRunID that of the execution around it, and RootRunID that of the
// outermost one. ParentRunID and RootRunID are always the execution's,
// whatever a Caller in ctx says; see [RunExecution] for how they come about.
type Caller struct {
	RunID       string
	ParentRunID string
	RootRunID   string
	Tenant      string
	AgentRole   string
	Agent       any
	Task        any
	Crew        any
	Flow        any
}

// AgentRoleName returns AgentRole. It is what [WithAgents] looks at.
func (c Caller) AgentRoleName() string { return c.AgentRole }

func (c *Caller) hookCaller() *Caller { return c }

// sameAs reports whether c and other say the same of everything.
func (c *Caller) sameAs(other *Caller) bool {
	return c.RunID == other.RunID && c.ParentRunID == other.ParentRunID && c.RootRunID == other.RootRunID &&
		c.Tenant == other.Tenant && c.AgentRole == other.AgentRole &&
		shallow.Identical(c.Agent, other.Agent) && shallow.Identical(c.Task, other.Task) &&
		shallow.Identical(c.Crew, other.Crew) && shallow.Identical(c.Flow, other.Flow)
}

// texts returns the fields that are strings, in an order that filled relies on.
func (c *Caller) texts() [5]*string {
	return [5]*string{&c.RunID, &c.ParentRunID, &c.RootRunID, &c.Tenant, &c.AgentRole}
}

// objects returns the other fields, likewise.
func (c *Caller) objects() [4]*any { return [4]*any{&c.Agent, &c.Task, &c.Crew, &c.Flow} }

const (
	parentField = 1 << 1 // the places in texts
	rootField   = 1 << 2
)

// filled is what a seam put into the Caller of a context: the next use may be
// on behalf of another caller. Bits count through texts, then through objects.
type filled struct {
	from   *Caller
	fields uint16
	root   string // RootRunID, where it was set to RunID
}

func (f *filled) set() bool { return f.fields != 0 || f.root != "" }

// fill sets what is unset in c from outer, and the fields of must in any case.
func (c *Caller) fill(outer *Caller, must uint16) filled {
	f := filled{from: outer}
	bit := uint16(1)
	own, theirs := c.texts(), outer.texts()
	for i, s := range own {
		if *theirs[i] != "" && *s == "" || must&bit != 0 && *s != *theirs[i] {
			*s = *theirs[i]
			f.fields |= bit
		}
		bit <<= 1
	}
	mine, other := c.objects(), outer.objects()
	for i, a := range mine {
		if *a == nil && *other[i] != nil {
			*a = *other[i]
			f.fields |= bit
		}
		bit <<= 1
	}
	return f
}

// takeBack unsets what fill set, as far as nobody has changed it since.
func (c *Caller) takeBack(f filled) {
	if f.root != "" && c.RootRunID == f.root {
		c.RootRunID = ""
	}
	if f.fields == 0 {
		return
	}
	bit := uint16(1)
	own, theirs := c.texts(), f.from.texts()
	for i, s := range own {
		if f.fields&bit != 0 && *s == *theirs[i] {
			*s = ""
		}
		bit <<= 1
	}
	mine, other := c.objects(), f.from.objects()
	for i, a := range mine {
		if f.fields&bit != 0 && shallow.Identical(*a, *other[i]) {
			*a = nil
		}
		bit <<= 1
	}
}

// fillFrom fills what is unset in c from the ctx that outer is the frame of, and
// takes back first what an earlier use of the context, whose Values are given,
// was filled with. Inside an execution the fields of must are filled in any
// case.
func (c *Caller) fillFrom(outer *frame, values *Values, must uint16) {
	if values != nil && values.filled.set() {
		c.takeBack(values.filled)
		values.filled = filled{}
	}
	var f filled
	if carried := outer.holds(); carried.caller != nil {
		if carried.run == nil {
			must = 0
		}
		f = c.fill(carried.caller, must)
	}
	if c.RootRunID == "" && c.RunID != "" {
		c.RootRunID, f.root = c.RunID, c.RunID
	}
	if values != nil && f.set() {
		values.filled = f
	}
}

// WithCaller returns a ctx that carries c: the seams opened under it fill with
// it what is unset in their own Caller. [RunExecution] and [RunStep] do so for
// their bodies. Where c leaves Tenant or RootRunID unset, those of ctx stay;
// inside an execution its ParentRunID and RootRunID stay whatever c says, and
// its RunID where c has none.
func WithCaller(ctx context.Context, c Caller) context.Context {
	ctx = nonNil(ctx)
	return withCaller(ctx, frameOf(ctx), c)
}

// withCaller keeps the Caller apart from the node: contexts remember whose
// Caller they were filled from, and must not keep a ctx by that.
func withCaller(ctx context.Context, outer *frame, c Caller) *frame {
	node := &struct {
		frame
		carried carried
	}{newFrame(ctx, outer), *outer.holds()}
	if around := node.carried.caller; around != nil {
		fillString(&c.Tenant, around.Tenant)
		fillString(&c.RootRunID, around.RootRunID)
	}
	if run := node.carried.run; run != nil {
		fillString(&c.RunID, run.id)
		c.ParentRunID, c.RootRunID = run.parent, run.root
	}
	node.carried.caller = &c
	node.frame.carried = &node.carried
	return &node.frame
}

func fillString(s *string, outer string) {
	if *s == "" {
		*s = outer
	}
}

// CallerFrom returns the Caller that ctx carries, the zero one if none.
func CallerFrom(ctx context.Context) Caller {
	if caller := frameOf(ctx).holds().caller; caller != nil {
		return *caller
	}
	return Caller{}
}

// Values lets a pre hook leave something for the post hook of the same call,
// such as a start time, without putting it into what the tool or model gets.
// Every context embeds one; it belongs to that one call. What a hook puts is
// gone when the next use of the context begins; what the loop puts between two
// uses is there in the next. The zero Values is ready to use, and its methods
// are safe for concurrent use. What is to last for a run is kept in a [RunVar].
type Values struct {
	mu      sync.Mutex
	touched atomic.Bool  // something was put since the Values was last empty
	level   atomic.Int32 // points that fire for the context, one inside a hook of another
	kept    map[any]any  // put while no point fired; protected by mu
	used    map[any]any  // put by hooks of this use; protected by mu
	past    map[any]any  // of a use that has ended, until the next begins; protected by mu

	// What follows belongs to the seam that the context is in.
	filled  filled
	open    bool // a use has begun and not ended
	running int  // bodies of Run forms that run: a use that begins now is inside another
}

// Put sets the value of key, which must be comparable. Use a key of a type of
// your own, as for [context.WithValue].
func (v *Values) Put(key, value any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.touched.Store(true)
	m := &v.kept
	if v.level.Load() > 0 {
		m = &v.used
		delete(v.kept, key)
	}
	if *m == nil {
		*m = make(map[any]any)
	}
	(*m)[key] = value
}

// Get returns the value of key and whether it was put.
func (v *Values) Get(key any) (any, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, m := range [...]map[any]any{v.kept, v.used, v.past} {
		if value, ok := m[key]; ok {
			return value, true
		}
	}
	return nil, false
}

func (v *Values) hookValues() *Values { return v }

// beginUse forgets what an earlier use left, but not what was put since. A use
// that never ended is over, unless this one is inside its body.
func (v *Values) beginUse() {
	abandoned := v.open && v.running == 0 && v.level.Load() == 0
	v.open = true
	if !v.touched.Load() {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.past = nil
	if abandoned {
		v.used = nil
	}
}

// endUse leaves the values readable until the next use begins.
func (v *Values) endUse() {
	v.open = v.running > 0 || v.level.Load() > 0 // in a body, or a hook, of the use around
	if !v.touched.Load() || v.open {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.past == nil {
		v.past = v.kept
	} else {
		maps.Copy(v.past, v.kept)
	}
	if v.past == nil {
		v.past = v.used
	} else {
		maps.Copy(v.past, v.used)
	}
	v.kept, v.used = nil, nil
}

// copyOf returns the values as they are, in a map of its own.
func (v *Values) copyOf() map[any]any {
	if !v.touched.Load() {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	all := maps.Clone(v.past)
	for _, m := range [...]map[any]any{v.used, v.kept} {
		if all == nil {
			all = maps.Clone(m)
		} else {
			maps.Copy(all, m)
		}
	}
	return all
}

// show makes v hold the values that copyOf returned.
func (v *Values) show(values map[any]any) {
	if values != nil {
		v.kept = values
		v.touched.Store(true)
	}
}

// Status is how far an [Execution] has come. More may be added.
type Status string

// The states of an execution.
const (
	StatusRunning   Status = "running"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusSuspended Status = "suspended" // it waits, and is run again when it can go on; see Suspended
)

// Execution is the context of [ExecutionStart], [Input], [Output] and
// [ExecutionEnd]: one run of an agent, a crew or a flow.
type Execution struct {
	Caller
	Values
	Inputs map[string]any // never nil for a hook, and not the map that the framework gave
	Output any            // the final result; nil when the execution failed
	Status Status
	Err    error // why it failed, or what it waits for

	// Resumed is set by a loop that goes on with a saved run.
	Resumed bool

	inputs ownMap
	ids    givenIDs
}

func (x *Execution) ready(side) inputMap { return &x.Inputs }

// detach gives hooks a map that isn't the framework's.
func (x *Execution) detach(at side) { x.inputs.detach(&x.Inputs, at) }

// letGoInputs ends a passage: the body may have kept the map.
func (x *Execution) letGoInputs() {
	if x.level.Load() == 0 {
		x.inputs.handOver()
	}
}

func (x *Execution) payload(at side, s *snapshot) {
	if at != after {
		s.input = x.Inputs
	}
	if at != before {
		s.output = x.Output
	}
}

// StepKind says what a [Step] is. A framework may have kinds of its own.
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

func (t *Turn) copied() *Turn {
	return &Turn{Number: t.Number, Messages: cloneMessages(t.Messages), Reply: cloneMessages([]Message{t.Reply})[0]}
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

func (s *Step) payload(at side, snap *snapshot) {
	if at != after {
		snap.intake = s.Input
	}
	if at != before {
		snap.output = s.Output
	}
}

// clearRun takes out all that a run of the body left.
func (x *Execution) clearRun() { x.Status, x.Output, x.Err = StatusRunning, nil, nil }

func (x *Execution) clearValue() { x.Output = nil }

// clearRun takes out all that a run of the body left.
func (s *Step) clearRun() { s.Output, s.Err = nil, nil }

func (s *Step) clearValue() { s.Output = nil }

// hookCopy returns a copy that a watch may keep.
func (x *Execution) hookCopy() *Execution {
	c := &Execution{Caller: x.Caller, Inputs: maps.Clone(x.Inputs), Output: shallow.Clone(x.Output), Status: x.Status, Err: x.Err, Resumed: x.Resumed}
	c.show(x.Values.copyOf())
	return c
}

// hookCopy returns a copy that a watch may keep.
func (s *Step) hookCopy() *Step {
	c := &Step{Caller: s.Caller, Kind: s.Kind, Name: s.Name, Input: shallow.Clone(s.Input), Output: shallow.Clone(s.Output), Err: s.Err}
	if turn, ok := s.Input.(*Turn); ok && turn != nil { // which the loop goes on to write
		c.Input = turn.copied()
	}
	c.show(s.Values.copyOf())
	return c
}
