// What the model says in the wire format: piece by piece.

package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// pieceSize is how many characters come at once. Real models say about a word
// at a time; pieces that are shorter than words and numbers show whether those
// who look for something in a text find it across pieces.
const pieceSize = 3

// stream writes what the model says as server-sent events, each flushed. It
// stops when the client is gone.
func stream(w http.ResponseWriter, req request, s said) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	for _, chunk := range s.chunks(req) {
		data, _ := json.Marshal(chunk) // strings and numbers only
		if send(w, string(data)) != nil {
			return
		}
	}
	_ = send(w, "[DONE]") // a client that is gone needs none
}

// send writes one event.
func send(w http.ResponseWriter, data string) error {
	if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// chunks are the data of the events: who speaks, the text, the calls one after
// the other, why the model ended, and, if it is asked for, the usage.
func (s said) chunks(req request) []map[string]any {
	counted := req.StreamOptions != nil && req.StreamOptions.IncludeUsage
	var chunks []map[string]any
	add := func(choices []any, usage any) {
		chunk := map[string]any{
			"id":      id,
			"object":  "chat.completion.chunk",
			"created": s.created,
			"model":   req.Model,
			"choices": choices,
		}
		if counted {
			chunk["usage"] = usage
		}
		chunks = append(chunks, chunk)
	}
	delta := func(d map[string]any, finish any) {
		add([]any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}, nil)
	}
	delta(map[string]any{"role": "assistant", "content": ""}, nil)
	for _, text := range pieces(s.text) {
		delta(map[string]any{"content": text}, nil)
	}
	for i, c := range s.calls {
		delta(ofCall(map[string]any{
			"index": i, "id": c.id, "type": "function",
			"function": map[string]any{"name": c.name, "arguments": ""},
		}), nil)
		for _, args := range pieces(c.args) {
			delta(ofCall(map[string]any{"index": i, "function": map[string]any{"arguments": args}}), nil)
		}
	}
	delta(map[string]any{}, s.finish)
	if counted {
		add([]any{}, s.usage)
	}
	return chunks
}

func ofCall(call map[string]any) map[string]any {
	return map[string]any{"tool_calls": []any{call}}
}

// pieces cuts text into pieces of whole characters, since JSON can hold no
// others.
func pieces(text string) []string {
	var list []string
	for piece := range slices.Chunk([]rune(text), pieceSize) {
		list = append(list, string(piece))
	}
	return list
}
