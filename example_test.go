package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loophooks/hooks"
)

// runTool stands for a framework that runs one tool call.
func runTool(ctx context.Context, name string) *hooks.ToolCall {
	call := &hooks.ToolCall{Name: name}
	err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = "done"
		return nil
	})
	if err != nil {
		fmt.Println("the run stops:", err)
	}
	return call
}

func ExampleOn() {
	r := hooks.NewRegistry()
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = strings.ToUpper(call.Result)
		return nil
	}, hooks.In(r), hooks.WithTools("web_search"))

	ctx := hooks.WithScope(context.Background(), r)
	fmt.Println(runTool(ctx, "Web Search").Result)
	fmt.Println(runTool(ctx, "read_file").Result)
	// Output:
	// DONE
	// done
}

func ExampleAbort() {
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return hooks.Abort("deleting is for people; move the file to the bin instead")
	}, hooks.In(r), hooks.WithTools("delete_*"))

	call := runTool(hooks.WithScope(context.Background(), r), "delete_file")
	fmt.Println(call.Result)
	fmt.Println(call.Ran(), call.IsError())
	// Output:
	// Tool execution blocked by hook. Tool: delete_file. Reason: deleting is for people; move the file to the bin instead
	// false true
}

// AbortRun stops more than one call.
func ExampleAbortRun() {
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return hooks.AbortRun("the budget is spent")
	}, hooks.In(r), hooks.WithName("budget"))

	runTool(hooks.WithScope(context.Background(), r), "web_search")
	// Output:
	// the run stops: hooks: pre_tool_call aborted by budget: the budget is spent
}

// The model reads the message in place of the standard text with the reason.
func ExampleHookAborted() {
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		return &hooks.HookAborted{Reason: "no approval", Message: "First class needs approval. Book tourist instead."}
	}, hooks.In(r), hooks.WithName("travel policy"))

	call := runTool(hooks.WithScope(context.Background(), r), "book_ticket")
	fmt.Println(call.Result)
	fmt.Println("for the log:", call.Blocked)
	// Output:
	// First class needs approval. Book tourist instead.
	// for the log: hooks: pre_tool_call aborted by travel policy: no approval
}

// An amount is read as a number however the model has written it, and what
// can't be read is refused.
func ExampleToolCall_NumberArg() {
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		amount, err := call.NumberArg("amount")
		if err != nil {
			return err
		}
		if amount > 100 {
			return hooks.Abort("at most 100")
		}
		return nil
	}, hooks.In(r), hooks.WithTools("pay"), hooks.WithName("limit"))

	ctx := hooks.WithScope(context.Background(), r)
	for _, arguments := range []string{`{"amount":80}`, `{"amount":5000.00000000000000001}`, `{"amount":"80"}`, ``} {
		call := &hooks.ToolCall{Name: "pay"}
		_ = call.SetArguments(arguments)
		_ = hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil })
		fmt.Printf("%t %q\n", call.Ran(), call.Blocked.PublicText())
	}
	// Output:
	// true ""
	// false "limit failed"
	// false "limit failed"
	// false "limit failed"
}

// A redaction that breaks must not let the secret pass.
func ExampleWithFailClosed() {
	r := hooks.NewRegistry()
	hooks.On(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error {
		panic("a bug")
	}, hooks.In(r), hooks.WithFailClosed(), hooks.WithName("redact"))

	fmt.Println(runTool(hooks.WithScope(context.Background(), r), "read_file").Result)
	// Output:
	// Tool result withheld by hook. Tool: read_file. Reason: redact failed
}

func ExampleWithTimeout() {
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		<-ctx.Done() // a policy server that doesn't answer
		return ctx.Err()
	}, hooks.In(r), hooks.WithTimeout(time.Millisecond), hooks.WithName("policy"))

	fmt.Println(runTool(hooks.WithScope(context.Background(), r), "web_search").Result)
	// Output:
	// Tool execution blocked by hook. Tool: web_search. Reason: policy failed
}

func ExampleWithOnce() {
	r := hooks.NewRegistry()
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
		fmt.Println("the first tool call")
		return nil
	}, hooks.In(r), hooks.WithOnce())

	ctx := hooks.WithScope(context.Background(), r)
	runTool(ctx, "a")
	runTool(ctx, "b")
	fmt.Println(len(r.Hooks(hooks.PreToolCall)), "left")
	// Output:
	// the first tool call
	// 0 left
}

func ExampleWithPriority() {
	r := hooks.NewRegistry()
	say := func(what string, opts ...hooks.Option) {
		hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
			fmt.Println(what)
			return nil
		}, append(opts, hooks.In(r))...)
	}
	say("guard", hooks.AsGuard(), hooks.WithPriority(100))
	say("first registered")
	say("second registered")
	say("urgent", hooks.WithPriority(10))
	runTool(hooks.WithScope(context.Background(), r), "web_search")
	// Output:
	// urgent
	// first registered
	// second registered
	// guard
}

// Scopes nest, and end with their ctx.
func ExampleWithScope() {
	greet := func(who string) *hooks.Registry {
		r := hooks.NewRegistry()
		hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
			fmt.Println(who, "sees", call.Name)
			return nil
		}, hooks.In(r))
		return r
	}
	crew := hooks.WithScope(context.Background(), greet("crew"))
	agent := hooks.WithScope(crew, greet("agent"))
	runTool(agent, "a")
	runTool(crew, "b")
	runTool(context.Background(), "c")
	// Output:
	// crew sees a
	// agent sees a
	// crew sees b
}

func ExampleRegistration_Remove() {
	r := hooks.NewRegistry()
	reg := hooks.On(hooks.PreStep, func(context.Context, *hooks.Step) error { return nil }, hooks.In(r))
	fmt.Println(reg.Remove(), reg.Remove())
	// Output:
	// true false
}

// A registry prints what a dispatch would run.
func ExampleRegistry_String() {
	r := hooks.NewRegistry()
	tool := func(context.Context, *hooks.ToolCall) error { return nil }
	hooks.Guard(hooks.PreToolCall, tool, hooks.In(r), hooks.WithName("no deletes"), hooks.WithTools("delete_*"))
	hooks.On(hooks.PreToolCall, tool, hooks.In(r), hooks.WithName("defaults"), hooks.WithAgents("Researcher"))
	fmt.Print(r)
	// Output:
	// pre_tool_call
	//   defaults agents=["Researcher"]
	//   no deletes tools=["delete_*"] guard
}

// Search is the context of a framework's own pair of points.
type Search struct {
	hooks.Caller
	Query string
	Hits  int
	Err   error
}

func (s *Search) SetHookError(err error) { s.Err = err }

var (
	preSearch  = hooks.Define[Search]("example.pre_search")
	postSearch = hooks.Define[Search]("example.post_search")
)

func ExampleDefine() {
	r := hooks.NewRegistry()
	hooks.On(preSearch, func(_ context.Context, s *Search) error {
		s.Query = strings.TrimSpace(s.Query)
		return nil
	}, hooks.In(r))

	ctx := hooks.WithScope(context.Background(), r)
	s := &Search{Query: "  trains "}
	if hooks.Enabled(ctx, preSearch) {
		if err := hooks.Dispatch(ctx, preSearch, s); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Printf("%q\n", s.Query)
	// Output:
	// "trains"
}

// Run gives a framework's own points the guarantees of the seams.
func ExampleRun() {
	r := hooks.NewRegistry()
	hooks.Watch(postSearch, func(_ context.Context, s *Search, _ error) {
		fmt.Println("searched for", s.Query, "and failed:", s.Err)
	}, hooks.In(r))

	ctx := hooks.WithScope(context.Background(), r)
	err := hooks.Run(ctx, preSearch, postSearch, &Search{Query: "trains"}, func(context.Context, *Search) error {
		return errors.New("index is down")
	})
	fmt.Println(err)
	// Output:
	// searched for trains and failed: index is down
	// index is down
}

// In middleware, which can't hand over its body. The end comes after a panic
// too.
func ExampleBeginTool() {
	handle := func(ctx context.Context, call *hooks.ToolCall, next func(context.Context) (string, error)) (err error) {
		ctx, end, err := hooks.BeginTool(ctx, call)
		if err != nil {
			return err
		}
		defer hooks.End(end, &err)
		if call.ShouldRun() {
			call.Result, err = next(ctx)
		}
		return err
	}
	call := &hooks.ToolCall{Name: "clock"}
	err := handle(context.Background(), call, func(context.Context) (string, error) { return "noon", nil })
	fmt.Println(call.Result, err)
	// Output:
	// noon <nil>
}

func ExampleRunTools() {
	calls := []*hooks.ToolCall{{Name: "find_trains"}, {Name: "find_hotels"}, {Name: "make_coffee"}}
	err := hooks.RunTools(context.Background(), calls, 4, func(_ context.Context, call *hooks.ToolCall) error {
		switch call.Name {
		case "find_trains":
			call.Result = "two trains"
			return nil
		case "find_hotels":
			return errors.New("no hotels in July")
		}
		return hooks.ErrNoTool
	})
	for _, call := range calls {
		fmt.Println(call.Name, call.IsError(), call.Result)
	}
	fmt.Println(err)
	// Output:
	// find_trains false two trains
	// find_hotels true no hotels in July
	// make_coffee true There is no tool make_coffee.
	// <nil>
}

func ExampleRunExecution() {
	r := hooks.NewRegistry()
	hooks.On(hooks.Output, func(_ context.Context, x *hooks.Execution) error {
		x.Output = fmt.Sprint(x.Output, "!")
		return nil
	}, hooks.In(r))
	hooks.Watch(hooks.ExecutionEnd, func(_ context.Context, x *hooks.Execution, _ error) {
		fmt.Println(x.RunID, x.Status)
	}, hooks.In(r))

	x := &hooks.Execution{Caller: hooks.Caller{RunID: "run 1", AgentRole: "Planner"}}
	err := hooks.RunExecution(hooks.WithScope(context.Background(), r), x, func(ctx context.Context, x *hooks.Execution) error {
		fmt.Println("as", hooks.CallerFrom(ctx).AgentRole) // every seam below knows who calls
		x.Output = "hello"
		return nil
	})
	fmt.Println(x.Output, err)
	// Output:
	// as Planner
	// run 1 completed
	// hello! <nil>
}

// An interrupt of the framework is no failure of the tool, and comes out of every
// seam around it.
func ExamplePassThrough() {
	errInterrupt := errors.New("wait for a person")
	call := &hooks.ToolCall{Name: "pay"}
	err := hooks.RunTool(context.Background(), call, func(context.Context, *hooks.ToolCall) error {
		return hooks.PassThrough(errInterrupt)
	})
	fmt.Println(errors.Is(err, errInterrupt), call.Suspended() != nil)
	// Output:
	// true true
}

func ExampleToolCall_SetArguments() {
	call := &hooks.ToolCall{Name: "pay"}
	fmt.Println(call.SetArguments(`{"to":"ana","to":"eve"}`))

	// The seam tells the model, and doesn't run the tool.
	err := hooks.RunTool(context.Background(), call, func(context.Context, *hooks.ToolCall) error { return nil })
	fmt.Println(call.Result, call.Ran(), err)
	// Output:
	// hooks: arguments must be one JSON object: duplicate key at byte 12
	// Tool was not run: arguments must be one JSON object: duplicate key at byte 12 false <nil>
}

// A host sends its own message unless a hook has changed the portable one.
func ExampleNewMessage() {
	type native struct{ raw string }
	m := hooks.NewMessage(native{"<original/>"}, hooks.Message{Role: "user", Content: "my PIN is 1234"})
	fmt.Println(m.Edited())
	m.EditText(func(s string) string { return strings.ReplaceAll(s, "1234", "****") })
	fmt.Println(m.Edited(), m.Content)
	// Output:
	// false
	// true my PIN is ****
}

func ExampleRegistry_Observe() {
	r := hooks.NewRegistry()
	r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
		fmt.Println(ev.Point, ev.ToolName, ev.Outcome)
		for _, h := range ev.Hooks {
			fmt.Println(" ", h.Name, h.Outcome)
		}
	})
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = "***"
		return nil
	}, hooks.In(r), hooks.WithName("redact"))
	hooks.Guard(hooks.PostToolCall, func(context.Context, *hooks.ToolCall) error { return nil },
		hooks.In(r), hooks.WithName("check"))

	runTool(hooks.WithScope(context.Background(), r), "read_file")
	// Output:
	// post_tool_call read_file modified
	//   redact modified
	//   check proceeded
}

func ExampleNewAsyncObserver() {
	slow := hooks.NewAsyncObserver(func(_ context.Context, ev hooks.HookDispatchedEvent) {
		fmt.Println("exported:", ev.Point)
	}, 16)
	r := hooks.NewRegistry()
	r.Observe(slow.Handle)
	hooks.On(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error { return nil }, hooks.In(r))

	runTool(hooks.WithScope(context.Background(), r), "clock")
	fmt.Println(slow.Close(context.Background()), slow.Dropped())
	// Output:
	// exported: pre_tool_call
	// <nil> 0
}

func ExampleSanitizeToolName() {
	for _, name := range []string{"Delete File", "HTTPServerTool", "Café Lookup"} {
		fmt.Println(hooks.SanitizeToolName(name))
	}
	// Output:
	// delete_file
	// http_server_tool
	// cafe_lookup
}

// A guard sees what hooks made of the call, wherever it was registered.
func ExampleGuard() {
	r := hooks.NewRegistry()
	hooks.Guard(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		class, err := call.StringArg("class")
		if err != nil {
			return err // a guard that fails refuses the call
		}
		if class != "tourist" {
			return hooks.Abort("only tourist class; ask a manager for more")
		}
		return nil
	}, hooks.WithTools("book_ticket"), hooks.WithName("class"), hooks.In(r))
	hooks.On(hooks.PreToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		if _, given := call.Input["class"]; !given {
			call.Input["class"] = "tourist"
		}
		return nil
	}, hooks.In(r))

	ctx := hooks.WithScope(context.Background(), r)
	for _, arguments := range []string{`{}`, `{"class":"first"}`, `{"class":1}`} {
		call := &hooks.ToolCall{Name: "book_ticket"}
		_ = call.SetArguments(arguments)
		_ = hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = "booked " + call.Input["class"].(string)
			return nil
		})
		fmt.Println(call.Result)
	}
	// Output:
	// booked tourist
	// Tool execution blocked by hook. Tool: book_ticket. Reason: only tourist class; ask a manager for more
	// Tool execution blocked by hook. Tool: book_ticket. Reason: class failed
}

// A watch sees what the model reads, also where a guard behind all hooks has
// withheld the result.
func ExampleWatch() {
	r := hooks.NewRegistry()
	hooks.Watch(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall, err error) {
		fmt.Println("audit:", call.Result)
		fmt.Println("because:", err)
	}, hooks.In(r))
	hooks.Guard(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		if call.Result == "password=hunter2" {
			return hooks.Abort("it holds a password")
		}
		return nil
	}, hooks.WithName("leak check"), hooks.In(r))

	call := &hooks.ToolCall{Name: "read_config"}
	_ = hooks.RunTool(hooks.WithScope(context.Background(), r), call, func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = "password=hunter2"
		return nil
	})
	// Output:
	// audit: Tool result withheld by hook. Tool: read_config. Reason: it holds a password
	// because: hooks: post_tool_call aborted by leak check: it holds a password
}

func ExampleJoin() {
	r := hooks.NewRegistry()
	policy := hooks.Join(
		hooks.Guard(hooks.PreToolCall, func(context.Context, *hooks.ToolCall) error {
			return hooks.Abort("not on Sundays")
		}, hooks.In(r)),
		r.Observe(func(_ context.Context, ev hooks.HookDispatchedEvent) {
			fmt.Println(ev.Point, ev.Outcome)
		}),
	)

	ctx := hooks.WithScope(context.Background(), r)
	fmt.Println(runTool(ctx, "send_mail").Ran())
	fmt.Println(policy.Remove(), policy.Remove())
	fmt.Println(runTool(ctx, "send_mail").Ran())
	// Output:
	// pre_tool_call aborted
	// false
	// true false
	// true
}

func ExampleMatchTool() {
	for _, entry := range []string{"delete_file", "delete_*", "github*"} {
		for _, name := range []string{"Delete File", "deleteFile", "DELETE-ALL", "GitHub/delete"} {
			if hooks.MatchTool(entry, name) {
				fmt.Printf("%s covers %s\n", entry, name)
			}
		}
	}
	// Output:
	// delete_file covers Delete File
	// delete_file covers deleteFile
	// delete_* covers Delete File
	// delete_* covers deleteFile
	// delete_* covers DELETE-ALL
	// github* covers GitHub/delete
}

// A sub-agent has a count of its own, and nothing has to be cleared.
func ExampleRunVar() {
	r := hooks.NewRegistry()
	var searches hooks.RunVar[atomic.Int32]
	hooks.Guard(hooks.PreToolCall, func(ctx context.Context, _ *hooks.ToolCall) error {
		if n, ok := searches.Of(ctx); ok && n.Add(1) > 2 {
			return hooks.Abort("two searches are enough")
		}
		return nil
	}, hooks.WithTools("search"), hooks.In(r))

	search := func(ctx context.Context, who string) {
		fmt.Println(who, runTool(ctx, "search").IsError())
	}
	ctx := hooks.WithScope(context.Background(), r)
	err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		search(ctx, "parent")
		search(ctx, "parent")
		err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			search(ctx, "sub-agent")
			return nil
		})
		search(ctx, "parent")
		return err
	})
	fmt.Println(err)
	// Output:
	// parent false
	// parent false
	// sub-agent false
	// parent true
	// <nil>
}

// Root is the value that an execution shares with its sub-agents.
func ExampleRunVar_Root() {
	spent := hooks.NewRunVar(func(_ context.Context, budget *atomic.Int64) { budget.Store(100) })
	spend := func(ctx context.Context, tokens int64) {
		if left, ok := spent.Root(ctx); ok {
			fmt.Println(left.Add(-tokens), "left")
		}
	}
	_ = hooks.RunExecution(context.Background(), &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		spend(ctx, 30)
		return hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
			spend(ctx, 50)
			return nil
		})
	})
	// Output:
	// 70 left
	// 20 left
}

// The deferred End tells the post hooks of a panic too, which then goes on.
func ExampleEnd() {
	r := hooks.NewRegistry()
	hooks.On(hooks.PostToolCall, func(_ context.Context, call *hooks.ToolCall) error {
		fmt.Println("after:", call.Name, call.Err)
		return nil
	}, hooks.In(r))

	call := func(ctx context.Context, t *hooks.ToolCall, tool func() (string, error)) (err error) {
		_, end, err := hooks.BeginTool(ctx, t)
		if err != nil {
			return err
		}
		defer hooks.End(end, &err)
		if t.ShouldRun() {
			t.Result, err = tool()
		}
		return err
	}

	ctx := hooks.WithScope(context.Background(), r)
	_ = call(ctx, &hooks.ToolCall{Name: "fails"}, func() (string, error) { return "", errors.New("sold out") })
	defer func() { fmt.Println("recovered:", recover()) }()
	_ = call(ctx, &hooks.ToolCall{Name: "panics"}, func() (string, error) { panic("no seats") })
	// Output:
	// after: fails sold out
	// after: panics hooks: panic with a value of type string
	// recovered: no seats
}
