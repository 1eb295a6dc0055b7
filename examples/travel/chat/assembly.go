// The reply, put together from its pieces.

package chat

import "strings"

// assembly is what the model has said so far.
type assembly struct {
	text   strings.Builder
	calls  []*callSoFar
	finish string
	usage  usage
	size   int // bytes, about
}

// callSoFar is a tool call, of which the arguments at least come in pieces.
type callSoFar struct {
	index int // as the server counts
	call  ToolCall
	args  strings.Builder
}

// callSize is what a tool call adds to the size of a reply beside its texts, so
// that calls without any can't be without number.
const callSize = 64

func (a *assembly) addText(text string) Piece {
	a.text.WriteString(text)
	a.size += len(text)
	return Piece{Text: text}
}

func (a *assembly) addCall(d callDelta) Piece {
	at := a.find(d)
	if at < 0 {
		at = len(a.calls)
		begun := &callSoFar{index: at}
		if d.Index != nil {
			begun.index = *d.Index
		}
		a.calls = append(a.calls, begun)
		a.size += callSize
	}
	so := a.calls[at]
	call, f := &so.call, d.Function
	// A name may come in pieces too. With the call's ID it comes again: some
	// servers send both with every piece.
	if call.ID == "" || d.ID != call.ID || f.Name != call.Function.Name {
		call.Function.Name += f.Name
		a.size += len(f.Name)
	}
	if call.ID == "" {
		call.ID = d.ID
		a.size += len(d.ID)
	}
	if call.Type == "" {
		call.Type = d.Type
		a.size += len(d.Type)
	}
	so.args.WriteString(f.Arguments)
	a.size += len(f.Arguments)
	return Piece{Tool: true, Index: at, ID: call.ID, Name: call.Function.Name, Text: f.Arguments}
}

// find returns which call d goes on with, or -1 if it begins one. That is the
// one of its index, or without an index the last. Servers that send whole calls
// give them all the index 0, or none: another ID beside a name is another call.
// An ID alone is none, since some servers make one up for every piece.
func (a *assembly) find(d callDelta) int {
	for at := len(a.calls) - 1; at >= 0; at-- {
		so := a.calls[at]
		if d.Index != nil && *d.Index != so.index {
			continue
		}
		if d.ID != "" && d.Function.Name != "" && d.ID != so.call.ID {
			return -1
		}
		return at
	}
	return -1
}

// reply is the reply as it is so far.
func (a *assembly) reply() Reply {
	r := Reply{
		Content:      a.text.String(),
		FinishReason: a.finish,
		TokensIn:     a.usage.PromptTokens,
		TokensOut:    a.usage.CompletionTokens,
	}
	for _, so := range a.calls {
		call := so.call
		call.Function.Arguments = so.args.String()
		r.ToolCalls = append(r.ToolCalls, call)
	}
	return r
}
