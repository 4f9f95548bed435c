package netpolicy

import (
	"context"
	"net/netip"
)

// AskFunc asks the user whether a program may connect to a host and a port for the
// rest of its run. An error means that nobody answers.
type AskFunc func(ctx context.Context, host string, port uint16) (bool, error)

// maxQuestions bounds the questions of a run.
const maxQuestions = 5

// answers are what the user said about hosts with ports.
type answers struct {
	turn  chan struct{} // has an element while a question is open
	known map[string]bool
	over  bool // nobody answers any more
}

// mayAsk reports whether the user can be asked about what no rule has.
func (r *Run) mayAsk() bool {
	return r.Ask != nil && (r.Intercept == nil || !r.Intercept.Offline())
}

// Admit asks the user about a destination that Check would refuse because no rule has
// it, and remembers the answer. What is denied, and addresses that must be named, are
// never asked about. It may wait for long; arguments are as for Check.
func (r *Run) Admit(ctx context.Context, name string, addr netip.AddrPort) {
	if !r.mayAsk() || addr.Port() == 0 {
		return
	}
	t, verdict := r.verdict("tcp", name, addr)
	if verdict != notListed {
		return
	}
	key := hostPort(t.Host, addr.Port())
	select {
	case r.answers.turn <- struct{}{}:
		defer func() { <-r.answers.turn }()
	case <-ctx.Done():
		return
	}
	r.mu.Lock()
	_, known := r.answers.known[key]
	known = known || r.answers.over || len(r.answers.known) >= maxQuestions
	r.mu.Unlock()
	if known {
		return
	}
	allow, err := r.Ask(ctx, t.Host, addr.Port())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers.over = err != nil
	r.answers.known[key] = allow && err == nil
}

// answered returns a verdict with what the user said.
func (r *Run) answered(verdict why, host string, port uint16) why {
	if verdict != notListed || r.Ask == nil {
		return verdict
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch allow, known := r.answers.known[hostPort(host, port)]; {
	case !known:
		return notListed
	case allow:
		return allowed
	}
	return declined
}
