package hooks

// How a stream is opened: for which body, with which filters, observed by whom.

import (
	"context"
	"fmt"
	"slices"
)

func errNoBody(flow *point) error {
	return fmt.Errorf("hooks: OpenStream(%s): no body of this context runs that streams there; open the stream inside the body of the seam, for the context that the body got", flow.name)
}

func errForeignCtx(flow *point) error {
	return fmt.Errorf("hooks: OpenStream(%s): the ctx doesn't descend from the body's, whose scopes would be lost; give the body's own or one derived from it", flow.name)
}

func errOtherOpen(flow *point) error {
	return fmt.Errorf("hooks: OpenStream(%s): the body has a stream open; end it first, or push to it with another Index", flow.name)
}

// openStream is OpenStream without its type parameter.
func openStream(ctx context.Context, flow *point, c any, show func(Chunk) error, open func(context.Context, *hook, ChunkKind) Filter) *Stream {
	l := linkIn(ctx, c)
	if l == nil || !l.runs || l.flow != flow {
		return noStream(errNoBody(flow))
	}
	f := frameOf(ctx)
	if !f.within(l.frame) {
		return noStream(errForeignCtx(flow))
	}
	if l.opened == nil {
		_, tool := c.(identified)
		l.opened = &streamed{tool: tool}
	}
	of := l.opened
	if err := of.verdict(); err != nil {
		return noStream(err)
	}
	if of.open() != nil {
		return noStream(errOtherOpen(flow))
	}
	of.forgetFailed()
	s := &Stream{of: of, flow: flow, c: c, ctx: ctx, show: show, open: open}
	if own, ok := c.(valued); ok {
		s.values = own.hookValues()
	}
	of.streams = append(of.streams, s)
	s.waits = waitsFor(ctx, f, flow.post, c, l)
	s.begin(f, l)
	return s
}

// within says whether what is active under around is active under f.
func (f *frame) within(around *frame) bool {
	outer, inner := around.holds().scopes, f.holds().scopes
	return len(outer) <= len(inner) && slices.Equal(outer, inner[:len(outer)])
}

// begin finds the filters of the stream and who observes it.
func (s *Stream) begin(f *frame, l *streamLink) {
	var r round
	found := !s.flow.unused() && r.open(s.ctx, f, s.flow)
	watchers := r.watchers
	if !found && observed.Load() > 0 {
		watchers = watchersOf(f.holds().scopes)
	}
	if !found && len(watchers) == 0 {
		return
	}
	s.nest = newNest(s.ctx, f, f.openNest())
	s.ctx, r.ctx = &s.nest.frame, &s.nest.frame
	id, failure := identify(s.flow, s.c)
	s.log = newStreamLog(watchers, id)
	if !found {
		return
	}
	if failure != nil && r.filtered {
		if abort := unidentified(&r, failure); abort != nil {
			s.log.refused(abort)
			s.refuse(abort)
			return
		}
	}
	if r.filtered {
		r.subject.also(id)
	}
	for i := range r.n {
		s.take(&r, &r.chain(i).main)
	}
	if r.filtered && l.hooked {
		r.subject.also(l.began)
	}
	for i := range r.n {
		s.take(&r, &r.chain(i).guards)
	}
	s.log.filters(s.filters)
}

// take adds the filters of a lane that concern the call.
func (s *Stream) take(r *round, l *lane) {
	k := newPick(l, &r.subject)
	for k.next(&r.subject) {
		s.filters = append(s.filters, l.hooks[k.at])
	}
}
