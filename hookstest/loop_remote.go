package hookstest

// A model that is called over a wire, such as a server in front of the kit's
// model: no value of a ctx reaches it, and no error as it was.

import (
	"context"
	"net/http"

	"github.com/loophooks/hooks"
)

// RemoteModel says that the model of the [Setup] is called on the other side of
// a wire, which carries no values of a ctx and no errors: only that the ctx is
// cancelled with the run is checked there, and that a failure comes out of the
// run. Of a model behind a server of net/http the kit finds that out itself.
func RemoteModel() LoopOption { return loopOption(func(k *kit) { k.remote = true }) }

// isRemote says whether ctx is one under which a model is called over a wire.
// The caller holds mu.
func (t *trial) isRemote(ctx context.Context, pre hooks.AnyPoint) bool {
	if pre.Name() != hooks.PreModelCall.Name() {
		return false
	}
	if t.remote || ctx.Value(http.ServerContextKey) != nil {
		t.wired = true
	}
	return t.wired
}

// wire says whether the model was called over a wire.
func (t *trial) wire() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wired
}
