// Package gate decides about calls of tools: which are allowed, refused, or left to the
// user, and how many a run may make.
//
// It calls nothing. Every road to a tool goes through one gate, with the tool itself and not
// with a spelling of its name.
package gate

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"coderunner/internal/tools/config"
	"coderunner/runners"
)

// Decision is what is decided about a call.
type Decision string

// The decisions.
const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// Gate is a policy. It does not change.
type Gate struct{ config.Policy }

// New returns the gate of a policy, with the bounds that it does not have.
func New(p config.Policy) *Gate {
	p.Calls, p.Bytes = cmp.Or(p.Calls, 10_000), cmp.Or(p.Bytes, 256<<20)
	p.Parallel, p.Seconds = cmp.Or(p.Parallel, 8), cmp.Or(p.Seconds, 120)
	return &Gate{p}
}

// For returns the gate of a client.
func (g *Gate) For(client string) *Gate {
	if p, ok := g.Clients[client]; ok {
		return New(p)
	}
	return g
}

// Time returns how long a call may take.
func (g *Gate) Time() time.Duration { return time.Duration(g.Seconds * float64(time.Second)) }

// Decide decides about a tool that has these names, each "server.tool", and returns what made
// the decision: a pattern, or what the server says of the tool. A pattern that denies wins;
// else the one that is longest without its wildcards, and of two the one that asks.
func (g *Gate) Decide(names []string, readOnly bool) (d Decision, by string) {
	if by, _ := longest(g.Deny, names); by != "" {
		return Deny, by
	}
	allow, a := longest(g.Allow, names)
	ask, q := longest(g.Ask, names)
	switch {
	case ask != "" && q >= a:
		return Ask, ask
	case allow != "":
		return Allow, allow
	case readOnly:
		return Allow, "readOnlyHint"
	}
	return Ask, "no readOnlyHint"
}

// longest returns the pattern that matches one of the names and has most characters that are
// not wildcards, "" and -1 if none does.
func longest(patterns, names []string) (best string, length int) {
	length = -1
	for _, p := range patterns {
		if n := len(p) - strings.Count(p, "*") - strings.Count(p, "?"); n > length && matches(p, names) {
			best, length = p, n
		}
	}
	return best, length
}

// plain keeps path.Match from treating a slash and a backslash as more than other characters.
func plain(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "/", "\x00"), `\`, "\x01")
}

func matches(pattern string, names []string) bool {
	for _, name := range names {
		if ok, err := path.Match(plain(pattern), plain(name)); ok && err == nil {
			return true
		}
	}
	return false
}

// Run counts what one run does. Its methods are safe for concurrent use.
type Run struct {
	gate *Gate

	mu    sync.Mutex
	calls int
	bytes int64
}

// Run begins to count.
func (g *Gate) Run() *Run { return &Run{gate: g} }

// Call counts a call. The error is a *[runners.ToolError].
func (r *Run) Call() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls >= r.gate.Calls {
		return budget("has made %d calls, as many as a run may; \"coderunner\": {\"calls\": …} in the configuration allows more", r.calls)
	}
	r.calls++
	return nil
}

// Bytes counts what a call carries.
func (r *Run) Bytes(n int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes+int64(n) > r.gate.Bytes {
		return budget("has sent and got %d bytes; with %d more they would be over the %d that a run may; \"coderunner\": {\"bytes\": …} in the configuration allows more", r.bytes, n, r.gate.Bytes)
	}
	r.bytes += int64(n)
	return nil
}

// Calls returns how many calls there were.
func (r *Run) Calls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

func budget(format string, args ...any) error {
	return &runners.ToolError{Code: "budget", Message: "the program " + fmt.Sprintf(format, args...)}
}
