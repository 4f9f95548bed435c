// Package netpolicy is the network policy of programs and the dialer that enforces it, for
// all languages: what --allow-net and --deny-net mean, and for each run which hosts it may
// reach and which it reached.
//
// Names are checked when they are looked up, and only names that the policy
// allows are: a name is a message to whoever answers for it. Addresses are checked
// when they are dialled, so that neither a redirect nor a changed answer leads
// elsewhere. An address is allowed by itself, or because an allowed name has it.
// Addresses of this machine and of private networks must be named as addresses,
// whatever names have them. Where there is a user to ask ([Options].Ask), hosts that
// no rule has can be allowed for one run.
//
// # Sources
//
// Deno 2.9 reads the lists so (deno run --help=full, "Permission options"), IANA's
// registries of special-purpose addresses (RFC 6890), RFC 6052 (NAT64).
//
// # Locking
//
// Run.mu guards what a run remembers. It is not held while anything waits.
//
// # Limits
//
// Who shares an address with an allowed name (a CDN) can be reached by a program
// that speaks TLS itself. Under a proxy, the proxy finds the addresses of names,
// and the checks of addresses hold for addresses that programs write only.
package netpolicy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Policy is what programs may reach. The zero value allows nothing.
type Policy struct {
	all, denyAll bool
	allow, deny  []rule
}

// Parse reads the lists of --allow-net and --deny-net. All stands for a flag
// without a list.
func Parse(all bool, allow []string, denyAll bool, deny []string) (Policy, error) {
	p := Policy{all: all, denyAll: denyAll}
	var err error
	if p.allow, err = parseRules("--allow-net", allow); err == nil {
		p.deny, err = parseRules("--deny-net", deny)
	}
	return p, err
}

func parseRules(flag string, items []string) (rules []rule, err error) {
	for _, item := range items {
		r, err := parseRule(item)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", flag, item, err)
		}
		rules = append(rules, r...)
	}
	return rules, nil
}

// Any reports whether the policy allows anything.
func (p *Policy) Any() bool { return !p.denyAll && (p.all || len(p.allow) > 0) }

// AllowsName reports whether a name may be reached at a port, or at any if port is
// 0. Addresses are checked when they are dialled.
func (p *Policy) AllowsName(name string, port uint16) bool {
	return p.checkName(canonical(name), port) == allowed
}

// AllowsHost reports whether a name or an address may be reached at a port, as far as
// that is known before the name is looked up.
func (p *Policy) AllowsHost(host string, port uint16) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return p.checkAddr(nil, addr, port) == allowed
	}
	return p.AllowsName(host, port)
}

func (p *Policy) checkName(name string, port uint16) why {
	switch {
	case p.denyAll || slices.ContainsFunc(p.deny, func(r rule) bool { return r.hasName(name) && r.deniesPort(port) }):
		return denied
	case p.all || slices.ContainsFunc(p.allow, func(r rule) bool { return r.hasName(name) && r.hasPort(port) }):
		return allowed
	}
	return notListed
}

// why is the reason of a refusal.
type why int

const (
	allowed why = iota
	denied
	special   // must be named as an address
	notListed // no rule has it
	declined  // nor did the user allow it
)

// checkAddr checks an address that may have been looked up, under the names that
// have it.
func (p *Policy) checkAddr(names []string, addr netip.Addr, port uint16) why {
	forms := formsOf(addr)
	has := func(rules []rule, match func(rule) bool) bool { return slices.ContainsFunc(rules, match) }
	if p.denyAll || has(p.deny, func(r rule) bool {
		return r.deniesPort(port) && slices.ContainsFunc(forms, r.hasAddr)
	}) {
		return denied
	}
	if p.namesAddr(addr, port) {
		return allowed
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !p.AllowsName(name, port) })
	if isSpecial(addr) {
		// The name localhost names the loopback.
		if forms[0].IsLoopback() && has(p.allow, func(r rule) bool {
			return r.name == "localhost" && r.hasPort(port)
		}) {
			return allowed
		}
		return special
	}
	if p.all || len(names) > 0 {
		return allowed
	}
	return notListed
}

// namesAddr reports whether an address is named as such.
func (p *Policy) namesAddr(addr netip.Addr, port uint16) bool {
	addr = formsOf(addr)[0]
	return slices.ContainsFunc(p.allow, func(r rule) bool { return r.hasPort(port) && r.hasAddr(addr) })
}

// checkListen checks an address to listen on. As in Deno, a flag without a list
// allows all of them.
func (p *Policy) checkListen(addr netip.Addr, port uint16) why {
	local := addr.IsLoopback()
	match := func(r rule) bool {
		return r.hasAddr(formsOf(addr)[0]) || local && r.name == "localhost"
	}
	switch {
	case p.denyAll || slices.ContainsFunc(p.deny, func(r rule) bool { return r.deniesPort(port) && match(r) }):
		return denied
	case p.all || slices.ContainsFunc(p.allow, func(r rule) bool { return r.hasPort(port) && match(r) }):
		return allowed
	}
	return notListed
}

// Refused is the error of what the policy does not allow.
type Refused struct {
	Host string     // the name or address that was asked for
	Addr netip.Addr // what it leads to, if that is known
	Port uint16     // 0: none in particular
	why  why
}

// Flag returns the flag that would allow it, "" if --deny-net forbids it.
func (r *Refused) Flag() string {
	switch r.why {
	case denied:
		return ""
	case special:
		if r.Host != "localhost" {
			return "--allow-net=" + hostPort(r.Addr.Unmap().WithZone("").String(), r.Port)
		}
	}
	return "--allow-net=" + hostPort(r.Host, r.Port)
}

func (r *Refused) Error() string {
	text := "network access to " + hostPort(r.Host, r.Port) + " refused: "
	switch r.why {
	case denied:
		return text + "the server's --deny-net has it"
	case special:
		what := "it is an address of this machine or a private network"
		if r.Addr.IsValid() && r.Host != r.Addr.String() {
			what = "it leads to " + r.Addr.String() + ", an address of this machine or a private network"
		}
		return text + what + ", and such must be named (" + r.Flag() + " on the server)"
	}
	if r.why == declined {
		text += "the user was asked and did not allow it, and "
	}
	return text + "the server's permissions do not have it (" + r.Flag() + " on the server)"
}

// hostPort joins a host with a port that is not 0.
func hostPort(host string, port uint16) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == 0 {
		return host
	}
	return fmt.Sprintf("%s:%d", host, port)
}
