package fake

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Writer writes the reply to one request: in pieces as they are given if the request
// asks for a stream, else as one.
type Writer struct {
	http   http.ResponseWriter
	stream bool
	model  string
	begun  bool
	over   bool

	text, refusal, reasoning string
	calls                    []Call
	finish                   string
	usage                    map[string]any
	cut                      bool
}

// Text adds text.
func (w *Writer) Text(text string) {
	w.text += text
	w.delta(map[string]any{"content": text})
}

// Refusal adds to a refusal.
func (w *Writer) Refusal(text string) {
	w.refusal += text
	w.delta(map[string]any{"refusal": text})
}

// Reasoning adds to the reasoning, as some compatible servers send it.
func (w *Writer) Reasoning(text string) {
	w.reasoning += text
	w.delta(map[string]any{"reasoning_content": text})
}

// Call adds to the tool call at the index: the first time its ID and name, and its
// arguments each time, which are streamed in two pieces.
func (w *Writer) Call(index int, c Call) {
	for len(w.calls) <= index {
		w.calls = append(w.calls, Call{})
	}
	if c.Type == "" {
		c.Type = "function"
		if c.Custom {
			c.Type = "custom"
		}
	}
	first := w.calls[index].Name == ""
	if first {
		w.calls[index] = c
	} else {
		w.calls[index].Arguments += c.Arguments
	}
	w.finish = "tool_calls"
	half := len(c.Arguments) / 2
	for i, text := range []string{c.Arguments[:half], c.Arguments[half:]} {
		piece := Call{Arguments: text, Custom: c.Custom}
		if first && i == 0 {
			piece.ID, piece.Name, piece.Type = c.ID, c.Name, c.Type
		}
		w.delta(map[string]any{"tool_calls": []wireCall{wire(piece, &index)}})
	}
}

func wire(c Call, index *int) wireCall {
	call := wireCall{Index: index, ID: c.ID, Type: c.Type}
	if c.Custom {
		call.Custom = &wireCustom{c.Name, c.Arguments}
	} else {
		call.Function = &wireFunction{c.Name, c.Arguments}
	}
	return call
}

// Finish says why the model stops.
func (w *Writer) Finish(reason string) { w.finish = reason }

// Usage says what it took.
func (w *Writer) Usage(in, cached, out, reasoning int) {
	w.usage = map[string]any{
		"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out,
		"prompt_tokens_details":     map[string]any{"cached_tokens": cached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": reasoning},
	}
}

// Cut ends the stream here, as where a proxy closes the connection.
func (w *Writer) Cut() { w.cut = true }

// Raw sends a choice as it is given, and nothing else: a message, or a delta of a
// stream.
func (w *Writer) Raw(choice string) {
	w.over = true
	if w.stream {
		w.event(json.RawMessage(`{"id":"c1","object":"chat.completion.chunk","choices":[` + choice + `]}`))
		_, _ = fmt.Fprint(w.http, "data: [DONE]\n\n")
		return
	}
	w.http.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w.http, `{"id":"c1","object":"chat.completion","choices":[`+choice+`]}`)
}

// Fail fails the request with an HTTP status, or within a stream that has begun.
func (w *Writer) Fail(status int, message string) {
	w.over = true
	body := map[string]any{"error": map[string]any{"message": message, "type": "fake"}}
	if w.begun {
		w.event(body)
		return
	}
	w.http.Header().Set("Content-Type", "application/json")
	w.http.Header().Set("Retry-After-Ms", "1")
	w.http.WriteHeader(status)
	_ = json.NewEncoder(w.http).Encode(body)
}

// delta streams a piece.
func (w *Writer) delta(d map[string]any) {
	if w.stream {
		w.event(w.completion("chat.completion.chunk", map[string]any{"index": 0, "delta": d, "finish_reason": nil}))
	}
}

func (w *Writer) completion(object string, choices ...map[string]any) map[string]any {
	return map[string]any{"id": "c1", "object": object, "created": 1, "model": w.model, "choices": choices}
}

func (w *Writer) event(v any) {
	if !w.begun {
		w.http.Header().Set("Content-Type", "text/event-stream")
		w.begun = true
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(w.http, "data: %s\n\n", raw)
	w.http.(http.Flusher).Flush()
}

// end ends the reply.
func (w *Writer) end() {
	switch {
	case w.over, w.cut && w.stream:
	case w.stream:
		w.event(w.completion("chat.completion.chunk", map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": w.finish}))
		if w.usage != nil {
			last := w.completion("chat.completion.chunk")
			last["choices"], last["usage"] = []any{}, w.usage
			w.event(last)
		}
		_, _ = fmt.Fprint(w.http, "data: [DONE]\n\n")
	default:
		w.whole()
	}
}

// whole writes the reply as one.
func (w *Writer) whole() {
	message := map[string]any{"role": "assistant", "content": nil, "refusal": nil}
	if w.text != "" || w.refusal == "" && len(w.calls) == 0 {
		message["content"] = w.text
	}
	if w.refusal != "" {
		message["refusal"] = w.refusal
	}
	if w.reasoning != "" {
		message["reasoning_content"] = w.reasoning
	}
	var calls []wireCall
	for _, c := range w.calls {
		calls = append(calls, wire(c, nil))
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	body := w.completion("chat.completion", map[string]any{"index": 0, "message": message, "finish_reason": w.finish})
	if w.usage != nil {
		body["usage"] = w.usage
	}
	w.http.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w.http).Encode(body)
}

// Piece streams a choice as it is given.
func (w *Writer) Piece(choice string) {
	w.event(json.RawMessage(`{"id":"c1","object":"chat.completion.chunk","choices":[` + choice + `]}`))
}
