package policy

// What the Register methods of all policies share.

import "github.com/loophooks/hooks"

// registrar collects the registrations of one policy.
type registrar struct {
	opts  []hooks.Option
	parts []interface{ Remove() bool }
}

// add keeps a registration that the policy has made.
func (r *registrar) add(part interface{ Remove() bool }) { r.parts = append(r.parts, part) }

// with returns the policy's own options of one registration, and behind them those
// that the user gave, which override them.
func (r *registrar) with(name string, priority int, own ...hooks.Option) []hooks.Option {
	all := append([]hooks.Option{hooks.WithName(name), hooks.WithPriority(priority)}, own...)
	return append(all, r.opts...)
}

// register runs a policy's registrations, all or nothing: where one panics, those
// before it are removed, and the panic goes on.
func register(opts []hooks.Option, all func(r *registrar)) *hooks.Group {
	r := &registrar{opts: opts}
	done := false
	defer func() {
		if !done {
			hooks.Join(r.parts...).Remove()
		}
	}()
	all(r)
	done = true
	return hooks.Join(r.parts...)
}
