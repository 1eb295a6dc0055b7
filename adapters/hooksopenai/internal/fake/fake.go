// Package fake is a server that speaks the chat completions format, server-sent
// events included, for tests and examples: no key and no network is needed.
package fake

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// Call is a tool call, of a custom tool if Custom is set.
type Call struct {
	ID, Name, Arguments string
	Custom              bool
	Type                string // "function" or "custom" if it is empty
}

// Message is a message of a request.
type Message struct {
	Role       string
	Content    string // the text, of parts joined
	ToolCallID string
	Refusal    string
	Calls      []Call
	Raw        json.RawMessage
}

// Request is what the server was sent.
type Request struct {
	Model    string
	Messages []Message
	Tools    []string // the names offered
	Stream   bool
	Raw      map[string]json.RawMessage
}

// Last returns the text of the last message.
func (r *Request) Last() string { return r.Messages[len(r.Messages)-1].Content }

// Model answers a request by what it writes.
type Model func(ctx context.Context, req *Request, w *Writer)

// Script is a Model that answers the nth request with the nth reply, and from then on
// with the last.
func Script(replies ...func(w *Writer)) Model {
	var mu sync.Mutex
	n := 0
	return func(_ context.Context, _ *Request, w *Writer) {
		mu.Lock()
		reply := replies[min(n, len(replies)-1)]
		n++
		mu.Unlock()
		reply(w)
	}
}

// Says is a reply in text.
func Says(pieces ...string) func(*Writer) {
	return func(w *Writer) {
		for _, p := range pieces {
			w.Text(p)
		}
	}
}

// Asks is a reply that asks for tools.
func Asks(calls ...Call) func(*Writer) {
	return func(w *Writer) {
		for i, c := range calls {
			w.Call(i, c)
		}
	}
}

// Server is a running server, which keeps what it was sent.
type Server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*Request
	ends     waits
}

// Start starts a server. Close it in the end.
func Start(model Model) *Server {
	s := new(Server)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.ends.end(r)
		raw, err := io.ReadAll(r.Body)
		req, bad := parse(raw)
		if err != nil || bad != nil || r.URL.Path != "/chat/completions" {
			http.Error(w, fmt.Sprintf(`{"error":{"message":"bad request: %v %v"}}`, err, bad), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.requests = append(s.requests, req)
		s.mu.Unlock()
		out := &Writer{http: w, stream: req.Stream, model: req.Model, finish: "stop"}
		model(r.Context(), req, out)
		out.end()
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // a model may panic
	s.Server.Start()
	return s
}

// Client is a client of the server, which doesn't retry unless told so. When it closes
// a response, the server has ended with the request too.
func (s *Server) Client(opts ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{
		option.WithHTTPClient(&http.Client{Transport: &s.ends}), option.WithBaseURL(s.URL), option.WithAPIKey("none"), option.WithMaxRetries(0),
	}, opts...)...)
}

// Requests returns what the server was sent so far.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// parse reads a request.
func parse(raw []byte) (*Request, error) {
	var wire struct {
		Model    string
		Stream   bool
		Messages []json.RawMessage
		Tools    []wireCall
	}
	req := new(Request)
	if err := json.Unmarshal(raw, &req.Raw); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return nil, err
	}
	req.Model, req.Stream = wire.Model, wire.Stream
	for _, t := range wire.Tools {
		req.Tools = append(req.Tools, t.Function.Name+t.Custom.Name)
	}
	for _, m := range wire.Messages {
		msg, err := parseMessage(m)
		if err != nil {
			return nil, err
		}
		req.Messages = append(req.Messages, msg)
	}
	return req, nil
}

type wireCall struct {
	Index    *int          `json:"index,omitempty"`
	ID       string        `json:"id,omitempty"`
	Type     string        `json:"type,omitempty"`
	Function *wireFunction `json:"function,omitempty"`
	Custom   *wireCustom   `json:"custom,omitempty"`
}

type wireFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type wireCustom struct {
	Name  string `json:"name,omitempty"`
	Input string `json:"input"`
}

// UnmarshalJSON leaves neither unset.
func (c *wireCall) UnmarshalJSON(raw []byte) error {
	type plain wireCall
	p := plain{Function: new(wireFunction), Custom: new(wireCustom)}
	err := json.Unmarshal(raw, &p)
	*c = wireCall(p)
	return err
}

func parseMessage(raw json.RawMessage) (m Message, err error) {
	var wire struct {
		Role, Refusal string
		Content       json.RawMessage
		ToolCallID    string     `json:"tool_call_id"`
		ToolCalls     []wireCall `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return m, err
	}
	m = Message{Role: wire.Role, Refusal: wire.Refusal, ToolCallID: wire.ToolCallID, Raw: raw}
	for _, c := range wire.ToolCalls {
		m.Calls = append(m.Calls, Call{ID: c.ID, Name: c.Function.Name + c.Custom.Name, Arguments: c.Function.Arguments + c.Custom.Input, Custom: c.Type == "custom", Type: c.Type})
	}
	if len(wire.Content) == 0 || json.Unmarshal(wire.Content, &m.Content) == nil {
		return m, nil
	}
	var parts []struct{ Text, Refusal string }
	if err := json.Unmarshal(wire.Content, &parts); err != nil {
		return m, err
	}
	for _, p := range parts {
		m.Content += p.Text + p.Refusal
	}
	return m, nil
}
