package hookstest_test

// Loops that are right in another way than the others: in the order of their
// results, in where their model is, in how they keep a conversation, in what
// their executions are given.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

var noSteps = hookstest.Without(hooks.PreStep, hooks.PostStep)

// rightLoops build a loop with nothing wrong in it.
var rightLoops = []struct {
	name string
	loop func(*testing.T, hookstest.Setup) hookstest.Loop
	opts []hookstest.LoopOption
}{
	{"tools beside each other", func(_ *testing.T, s hookstest.Setup) hookstest.Loop {
		return (&flawed{Setup: s, parallel: true, steps: true}).run
	}, flawedOptions},
	{"no steps", func(_ *testing.T, s hookstest.Setup) hookstest.Loop {
		return (&flawed{Setup: s}).run
	}, append(flawedOptions[:3:3], noSteps)},
	{"results in the order in which the tools end", func(_ *testing.T, s hookstest.Setup) hookstest.Loop {
		return (&chat{Setup: s, unordered: true}).run
	}, []hookstest.LoopOption{noSteps}},
	{"a history of its own", func(_ *testing.T, s hookstest.Setup) hookstest.Loop {
		return (&chat{Setup: s}).run
	}, []hookstest.LoopOption{noSteps}},
	{"the prompt inside a request of its own", func(_ *testing.T, s hookstest.Setup) hookstest.Loop {
		return (&chat{Setup: s, wraps: true}).run
	}, []hookstest.LoopOption{noSteps}},
	{"inputs that can't be looked into", func(_ *testing.T, s hookstest.Setup) hookstest.Loop {
		return (&chat{Setup: s, hides: true}).run
	}, []hookstest.LoopOption{noSteps}},
	{"a model behind an HTTP server", func(t *testing.T, s hookstest.Setup) hookstest.Loop {
		return (&chat{Setup: overHTTP(t, s)}).run
	}, []hookstest.LoopOption{noSteps}},
	{"a model behind some other wire", func(_ *testing.T, s hookstest.Setup) hookstest.Loop {
		model := s.Model
		s.Model = func(ctx context.Context, req hookstest.Request) (hookstest.Reply, error) {
			far, cancel := context.WithCancel(context.Background())
			stop := context.AfterFunc(ctx, cancel)
			defer stop()
			reply, err := model(far, req)
			if err != nil {
				err = errors.Join(errors.New(err.Error()), ctx.Err())
			}
			return reply, err
		}
		return (&chat{Setup: s}).run
	}, []hookstest.LoopOption{noSteps, hookstest.RemoteModel()}},
	{"a tool that is cached behind its points", func(_ *testing.T, s hookstest.Setup) hookstest.Loop {
		return (&chat{Setup: s, caches: true}).run
	}, []hookstest.LoopOption{noSteps}},
	{"spellings corrected before the hooks", func(_ *testing.T, s hookstest.Setup) hookstest.Loop {
		return (&chat{Setup: s, corrects: true}).run
	}, []hookstest.LoopOption{noSteps}},
	{"the tool looked up before the hooks", func(_ *testing.T, s hookstest.Setup) hookstest.Loop {
		return (&chat{Setup: s, early: true}).run
	}, []hookstest.LoopOption{noSteps}},
}

func TestLoop_passesWhatIsRightInAnotherWay(t *testing.T) {
	t.Parallel()
	for _, tc := range rightLoops {
		t.Run(strings.ReplaceAll(tc.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			hookstest.TestLoop(t, func(s hookstest.Setup) hookstest.Loop { return tc.loop(t, s) }, append(tc.opts[:len(tc.opts):len(tc.opts)], hookstest.Renames())...)
		})
	}
}

// chat is a loop on the seams with a history of its own, over which it adds
// results as the tools end.
type chat struct {
	hookstest.Setup
	unordered bool // results stand in the history in the order in which the tools ended
	wraps     bool // the prompt is inside a request
	hides     bool // the prompt is where no hook can edit it
	caches    bool // a tool isn't run twice on the same input
	corrects  bool // a call of a tool in another spelling is made a call of that tool
	early     bool // tools are looked up before the hooks

	mu    sync.Mutex
	cache map[string]string
}

// entry is what was said once.
type entry struct {
	who, text, id string
	calls         []hooks.ToolRequest
}

type question struct {
	Texts []string
	Flags map[string]bool
}

type sealed struct{ text string }

func (l *chat) run(ctx context.Context, prompt string) (string, error) {
	l.cache = make(map[string]string)
	x := &hooks.Execution{Inputs: map[string]any{"prompt": prompt}}
	switch {
	case l.wraps:
		x.Inputs = map[string]any{"question": &question{Texts: []string{prompt}}}
	case l.hides:
		x.Inputs = map[string]any{"prompt": sealed{prompt}}
	}
	err := hooks.RunExecution(ctx, x, func(ctx context.Context, x *hooks.Execution) error {
		said := []entry{{who: "user", text: l.prompt(x.Inputs)}}
		for n := range l.MaxTurns {
			m := &hooks.ModelCall{Iterations: n, Messages: messagesOf(said)}
			for _, tool := range l.Tools {
				m.Tools = append(m.Tools, tool.Name)
			}
			err := hooks.RunModel(ctx, m, func(ctx context.Context, m *hooks.ModelCall) error {
				reply, err := l.Model(ctx, hookstest.Request{Messages: m.Messages, Tools: m.Tools, Model: m.Model})
				m.Response, m.ToolCalls = reply.Text, reply.ToolCalls
				return err
			})
			if err != nil {
				return err
			}
			said = append(said, entry{who: "assistant", text: m.Response, calls: m.ToolCalls})
			if len(m.ToolCalls) == 0 {
				x.Output = m.Response
				return nil
			}
			results, err := l.callAll(ctx, m.ToolCalls)
			if err != nil {
				return err
			}
			said = append(said, results...)
		}
		return errors.New("no answer")
	})
	text, _ := x.Output.(string)
	return text, err
}

func (l *chat) prompt(inputs map[string]any) string {
	if q, ok := inputs["question"].(*question); ok {
		return strings.Join(q.Texts, " ")
	}
	switch p := inputs["prompt"].(type) {
	case sealed:
		return p.text
	case string:
		return p
	}
	return ""
}

func messagesOf(said []entry) []hooks.Message {
	var messages []hooks.Message
	for _, e := range said {
		messages = append(messages, hooks.Message{Role: e.who, Content: e.text, ToolCallID: e.id, ToolCalls: e.calls})
	}
	return messages
}

func (l *chat) callAll(ctx context.Context, requests []hooks.ToolRequest) ([]entry, error) {
	results := make([]entry, len(requests))
	errs := make([]error, len(requests))
	var ended []entry
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, req := range requests {
		wg.Go(func() {
			results[i], errs[i] = l.call(ctx, req)
			mu.Lock()
			defer mu.Unlock()
			ended = append([]entry{results[i]}, ended...) // the last one first, so that the order differs for sure
		})
	}
	wg.Wait()
	if l.unordered {
		results = ended
	}
	return results, errors.Join(errs...)
}

func (l *chat) call(ctx context.Context, req hooks.ToolRequest) (entry, error) {
	c := &hooks.ToolCall{ID: req.ID, Name: req.Name}
	if l.corrects {
		name := strings.ToLower(req.Name[strings.LastIndexByte(req.Name, '.')+1:])
		if l.tool(name) != nil {
			c.Name = name
		}
	}
	before := l.tool(c.Name)
	if before != nil {
		c.Tool = before
	}
	_ = c.SetArguments(req.Arguments)
	err := hooks.RunTool(ctx, c, func(ctx context.Context, c *hooks.ToolCall) (err error) {
		tool := l.tool(c.Name)
		if l.early {
			tool = before
			if tool != nil && tool.Name != c.Name {
				return fmt.Errorf("this is a call of %s, and not of %s", tool.Name, c.Name)
			}
		}
		if tool == nil {
			return fmt.Errorf("there is no tool %s", c.Name)
		}
		c.Result, err = l.runTool(ctx, tool, c)
		return err
	})
	return entry{who: "tool", text: c.Result, id: c.ID}, err
}

func (l *chat) runTool(ctx context.Context, tool *hookstest.Tool, c *hooks.ToolCall) (string, error) {
	if !l.caches {
		return tool.Run(ctx, c.Input)
	}
	arguments, err := c.Arguments()
	if err != nil {
		return "", err
	}
	key := tool.Name + arguments
	l.mu.Lock()
	text, ok := l.cache[key]
	l.mu.Unlock()
	if ok {
		return text, nil
	}
	text, err = tool.Run(ctx, c.Input)
	if err == nil {
		l.mu.Lock()
		l.cache[key] = text
		l.mu.Unlock()
	}
	return text, err
}

func (l *chat) tool(name string) *hookstest.Tool {
	for i := range l.Tools {
		if l.Tools[i].Name == name {
			return &l.Tools[i]
		}
	}
	return nil
}

// overHTTP puts the model of the kit behind a server, and asks it there.
func overHTTP(t *testing.T, s hookstest.Setup) hookstest.Setup {
	t.Helper()
	model := s.Model
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req hookstest.Request
		err := json.NewDecoder(r.Body).Decode(&req)
		var reply hookstest.Reply
		if err == nil {
			reply, err = model(r.Context(), req)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(reply)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // one scenario has the model panic
	server.Start()
	t.Cleanup(server.Close)
	s.Model = func(ctx context.Context, req hookstest.Request) (reply hookstest.Reply, err error) {
		body, err := json.Marshal(req)
		if err != nil {
			return reply, err
		}
		post, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, bytes.NewReader(body))
		if err != nil {
			return reply, err
		}
		resp, err := server.Client().Do(post)
		if err != nil {
			return reply, err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return reply, fmt.Errorf("the server says %s", resp.Status)
		}
		return reply, json.NewDecoder(resp.Body).Decode(&reply)
	}
	return s
}

func TestCheckLoop_findsRemoteModelThatRunsOn(t *testing.T) {
	t.Parallel()
	failures := hookstest.CheckLoop(t.Context(), func(s hookstest.Setup) hookstest.Loop {
		s = overHTTP(t, s)
		model := s.Model
		s.Model = func(ctx context.Context, req hookstest.Request) (hookstest.Reply, error) {
			return model(context.WithoutCancel(ctx), req)
		}
		return (&chat{Setup: s}).run
	}, noSteps)
	assert.Equal(t, []string{"tools and models run under the ctx of the run, with its values, scopes and cancellation"}, brokenRules(failures))
}
