package policy

// What makes two calls equal to a Cache.

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"sync/atomic"

	"github.com/loophooks/hooks"
)

type cacheKey [sha256.Size]byte

// cacheKeys makes the keys of one Cache.
type cacheKeys struct {
	extra   func(context.Context, any) (string, bool)
	part    atomic.Bool // it has been logged that a call had a part that isn't text
	request atomic.Bool // the same of a Request that no Extra covers
}

// ofModel returns the key of a model call; ok is false if it has none.
func (k *cacheKeys) ofModel(ctx context.Context, m *hooks.ModelCall) (key cacheKey, ok bool) {
	if m.Request != nil && k.extra == nil {
		logOnce(ctx, &k.request, "policy: Cache: model calls whose Request is set aren't cached; give Extra, which tells what of it the answer depends on")
		return key, false
	}
	w := keyWriter{}
	w.texts("model", m.Tenant, m.AgentRole, m.Model)
	w.count(len(m.Tools))
	w.texts(m.Tools...)
	w.count(len(m.Messages))
	for i := range m.Messages {
		msg := &m.Messages[i]
		w.texts(msg.Role, msg.Content, msg.Name, msg.ToolCallID)
		w.count(len(msg.Parts))
		for _, part := range msg.Parts {
			if part.Kind != "text" && part.Kind != "" {
				logOnce(ctx, &k.part, "policy: Cache: model calls with parts that aren't text aren't cached, since two images can't be told apart")
				return key, false
			}
			w.texts(part.Kind, part.Text)
		}
		w.count(len(msg.ToolCalls))
		for _, call := range msg.ToolCalls {
			w.texts(call.ID, call.Name, call.Arguments)
		}
	}
	return k.sum(ctx, m, w)
}

// ofTool returns the key of a tool's call; ok is false if it has none, as one whose
// arguments JSON can't hold.
func (k *cacheKeys) ofTool(ctx context.Context, t *hooks.ToolCall) (key cacheKey, ok bool) {
	arguments, err := argumentsText(t)
	if err != nil {
		return key, false
	}
	w := keyWriter{}
	w.texts("tool", t.Tenant, t.AgentRole, hooks.FoldToolName(t.Name), arguments)
	return k.sum(ctx, t, w)
}

// sum adds what Extra says, and returns the key.
func (k *cacheKeys) sum(ctx context.Context, c any, w keyWriter) (key cacheKey, ok bool) {
	if k.extra != nil {
		extra, ok := k.extra(ctx, c)
		if !ok {
			return key, false
		}
		w.texts(extra)
	}
	return sha256.Sum256(w.all), true
}

// keyWriter collects texts with their lengths, so that "ab" and "c" aren't "a" and
// "bc".
type keyWriter struct{ all []byte }

func (w *keyWriter) count(n int) { w.all = binary.AppendUvarint(w.all, uint64(n)) }

func (w *keyWriter) texts(texts ...string) {
	for _, text := range texts {
		w.count(len(text))
		w.all = append(w.all, text...)
	}
}

// logOnce warns, unless it has done so before.
func logOnce(ctx context.Context, told *atomic.Bool, text string) {
	if told.CompareAndSwap(false, true) {
		slog.WarnContext(ctx, text)
	}
}
