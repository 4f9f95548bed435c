package netpolicy

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Bounds of what a run remembers of what the program does.
const (
	maxContacts  = 100
	maxNames     = 4096 // looked up
	maxPerAddr   = 64   // names of one address
	maxListening = 1024
)

// Options are what a run's network is made of besides the policy.
type Options struct {
	// LookupIP finds the addresses of a name; nil is the system's resolver.
	LookupIP func(ctx context.Context, host string) ([]netip.Addr, error)
	// Proxy returns the HTTP proxy for a URL, nil for none, as http.Transport's
	// field of this name. Names that go through one are not looked up here.
	Proxy func(*url.URL) (*url.URL, error)
	// Intercept serves the connections of the program that it wants; nil is none.
	Intercept Interceptor
	// Ask, if not nil, asks the user about hosts that no rule has: see [Run.Admit].
	// Their names are looked up only when they are dialled.
	Ask AskFunc
}

// Interceptor stands between programs and hosts: package intercept has it.
type Interceptor interface {
	// Begin returns the interceptor of one program. Was is the environment of an earlier
	// one whose variables it goes on with, nil for none.
	Begin(was map[string]string) Interceptor
	// Root is a certificate that programs must trust, Environment are variables
	// that they get.
	Root() []byte
	Environment() map[string]string
	// StandIns reports whether names are looked up only when they are dialled.
	StandIns() bool
	// Offline reports whether nothing is connected to.
	Offline() bool
	Wants(host string, port uint16) bool
	// Serve serves a connection of the program, and closes it.
	Serve(ctx context.Context, c net.Conn, host string, port uint16, dial func(context.Context) (net.Conn, error), refuse func(what string))
}

// Run is the network of one run: what it may reach and what it reached. It is
// safe for concurrent use.
type Run struct {
	policy *Policy
	Options

	mu       sync.Mutex // guards what follows
	names    map[string][]netip.Addr
	byAddr   map[netip.Addr][]string // the latest is the last
	own      []*listening            // what the run listens on
	contacts []*contact
	more     int // contacts left out
	answers  answers
}

// NewRun returns the network of a run under p.
func (p *Policy) NewRun(o Options) *Run {
	if o.LookupIP == nil {
		o.LookupIP = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	r := &Run{policy: p, Options: o, names: map[string][]netip.Addr{}, byAddr: map[netip.Addr][]string{}}
	if o.Ask != nil {
		r.answers = answers{turn: make(chan struct{}, 1), known: map[string]bool{}}
	}
	return r
}

// Lookup returns the addresses of a name, or the address that host is. The error
// is *Refused or *net.DNSError. A name that only a proxy looks up has an address
// that stands for it in this run.
func (r *Run) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	name := canonical(host)
	if !validName(name) {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if !r.asksAbout(name) {
		if err := r.CheckName(name); err != nil {
			return nil, err
		}
	}
	addrs, err := r.addresses(ctx, name)
	if err != nil {
		return nil, err
	}
	return addrs, r.remember(name, addrs)
}

// CheckName checks whether a name may be looked up.
func (r *Run) CheckName(name string) error {
	name = canonical(name)
	if verdict := r.policy.checkName(name, 0); verdict != allowed {
		refused := &Refused{Host: name, why: verdict}
		r.contact(name, 0, refused)
		return refused
	}
	return nil
}

// Avoided records a destination, HOST or HOST:PORT, that the program's runtime did
// not ask for because it knows the policy, and returns why it is refused. What the
// policy allows is not recorded.
func (r *Run) Avoided(to string) string {
	refused := &Refused{Host: canonical(to)}
	if host, number, err := net.SplitHostPort(to); err == nil {
		port, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return ""
		}
		refused.Host, refused.Port = canonical(host), uint16(port)
	}
	addr, err := netip.ParseAddr(refused.Host)
	switch {
	case err == nil:
		refused.Addr, refused.why = addr, r.policy.checkAddr(nil, addr, refused.Port)
	case validName(refused.Host):
		refused.why = r.policy.checkName(refused.Host, refused.Port)
	}
	if refused.why == allowed {
		return ""
	}
	r.contact(refused.Host, refused.Port, refused)
	return refused.Error()
}

// standsIn reports whether names are not looked up before they are dialled.
func (r *Run) standsIn() bool { return r.Intercept != nil && r.Intercept.StandIns() }

// asksAbout reports whether a name is one of those that the user is asked about when it
// is dialled. Until then nobody hears of it.
func (r *Run) asksAbout(name string) bool {
	return r.mayAsk() && name != "localhost" && r.policy.checkName(name, 0) == notListed
}

// Asks reports whether name servers may be asked about allowed names, besides for
// addresses.
func (r *Run) Asks() bool { return !r.standsIn() }

// addresses finds the addresses of an allowed name.
func (r *Run) addresses(ctx context.Context, name string) ([]netip.Addr, error) {
	switch {
	case name == "localhost": // never asked of a server (RFC 6761)
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	case r.proxyFor(name, 443) != nil, r.standsIn(), r.asksAbout(name):
		return r.standIn(name)
	}
	addrs, err := r.LookupIP(ctx, name)
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs[:min(len(addrs), maxPerAddr)], err
}

// remember keeps which addresses an allowed name has.
func (r *Run) remember(name string, addrs []netip.Addr) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.names[name]; !known && len(r.names) >= maxNames {
		return &net.DNSError{Err: "too many names in one run", Name: name}
	}
	r.names[name] = addrs
	for _, addr := range addrs {
		names := slices.DeleteFunc(r.byAddr[addr], func(n string) bool { return n == name })
		if names = append(names, name); len(names) > maxPerAddr {
			names = names[1:]
		}
		r.byAddr[addr] = names
	}
	return nil
}

// namesOf returns the names that an address was looked up for, the one that the
// program asked for last.
func (r *Run) namesOf(addr netip.Addr, wanted string) []string {
	r.mu.Lock()
	names := slices.Clone(r.byAddr[addr.Unmap().WithZone("")])
	r.mu.Unlock()
	wanted = canonical(wanted)
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(btoi(a == wanted), btoi(b == wanted))
	})
	return names
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Target is a checked destination.
type Target struct {
	Host string // the name by which it is allowed, or the address
	Addr netip.AddrPort
	// Relayed reports that a connection does not lead to Addr: [Run.Dial] makes it.
	Relayed bool
	Counter *Counter

	proxy     *url.URL
	intercept bool
}

// Check checks a destination. Network is tcp or udp, name what the program asked for,
// or "": it counts only if it was looked up. What was refused is recorded, too.
func (r *Run) Check(network, name string, addr netip.AddrPort) (Target, error) {
	t, verdict := r.verdict(network, name, addr)
	if verdict != allowed {
		refused := &Refused{Host: t.Host, Addr: addr.Addr(), Port: addr.Port(), why: verdict}
		r.contact(t.Host, addr.Port(), refused)
		return Target{}, refused
	}
	if t.proxy = r.proxyFor(t.Host, addr.Port()); t.proxy != nil {
		t.Relayed = true
	}
	if r.Intercept != nil && r.Intercept.Wants(t.Host, addr.Port()) && !r.listens(network, addr) {
		t.intercept, t.Relayed = true, true
	}
	t.Counter = r.contact(t.Host, addr.Port(), nil)
	return t, nil
}

// verdict returns the destination that Check checks, and whether it is allowed.
func (r *Run) verdict(network, name string, addr netip.AddrPort) (t Target, verdict why) {
	ip := addr.Addr()
	names := r.namesOf(ip, name)
	t = Target{Host: ip.Unmap().String(), Addr: addr}
	if isStandIn(ip) && len(names) > 0 {
		t.Host, t.Relayed = names[0], true
		return t, r.answered(r.policy.checkName(t.Host, addr.Port()), t.Host, addr.Port())
	}
	if verdict = r.policy.checkAddr(names, ip, addr.Port()); verdict == special && r.listens(network, addr) {
		verdict = allowed
	}
	for _, n := range slices.Backward(names) {
		if verdict != allowed || r.policy.AllowsName(n, addr.Port()) {
			t.Host = n
			break
		}
	}
	if verdict == allowed && len(names) == 0 && ip.IsLoopback() && !r.policy.namesAddr(ip, addr.Port()) && r.policy.AllowsName("localhost", addr.Port()) {
		t.Host = "localhost" // whose address programs know by themselves
	}
	return t, r.answered(verdict, t.Host, addr.Port())
}

// listening is an address that a run listens on.
type listening struct {
	network string
	at      netip.AddrPort
	still   func() bool
}

// has reports whether what is sent to an address of the loopback arrives.
func (l *listening) has(network string, to netip.AddrPort) bool {
	at, ip := l.at.Addr().Unmap(), to.Addr()
	both := at == netip.IPv6Unspecified() && !strings.HasSuffix(l.network, "6")
	return strings.HasPrefix(l.network, network) && l.at.Port() == to.Port() &&
		(at == ip || at.IsUnspecified() && (at.Is4() == ip.Is4() || both))
}

// Listening records an address that the run listens on until closed is called or
// still, if it is not nil, returns false. The run may reach it on the loopback,
// whatever the policy says of that. Network is tcp or udp, with a 6 at its end if
// nothing of IPv4 arrives.
func (r *Run) Listening(network string, at netip.AddrPort, still func() bool) (closed func()) {
	l := &listening{network, at, still}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.own) < maxListening {
		r.own = append(r.own, l)
	}
	return func() { r.forget(l) }
}

func (r *Run) forget(l *listening) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own = slices.DeleteFunc(r.own, func(o *listening) bool { return o == l })
}

// listens reports whether an address leads to what the run itself listens on.
func (r *Run) listens(network string, addr netip.AddrPort) bool {
	ip := addr.Addr().Unmap()
	switch {
	case ip == netip.IPv4Unspecified():
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case ip == netip.IPv6Unspecified():
		ip = netip.IPv6Loopback()
	case !ip.IsLoopback():
		return false
	}
	addr = netip.AddrPortFrom(ip, addr.Port())
	r.mu.Lock()
	own := slices.Clone(r.own)
	r.mu.Unlock()
	for _, l := range own {
		if !l.has(network, addr) {
			continue
		}
		if l.still == nil || l.still() {
			return true
		}
		r.forget(l)
	}
	return false
}

// Routable reports whether an address could be reached at any port.
func (r *Run) Routable(addr netip.Addr) bool {
	return r.policy.checkAddr(r.namesOf(addr, ""), addr, 0) == allowed
}

// MayListen reports whether the policy lets programs listen on an address.
func (r *Run) MayListen(addr netip.AddrPort) bool {
	return r.policy.checkListen(addr.Addr(), addr.Port()) == allowed
}

// CheckListen checks an address to listen on.
func (r *Run) CheckListen(addr netip.AddrPort) error {
	if verdict := r.policy.checkListen(addr.Addr(), addr.Port()); verdict != allowed {
		refused := &Refused{Host: addr.Addr().Unmap().String(), Port: addr.Port(), why: verdict}
		r.contact(refused.Host, refused.Port, refused)
		return refused
	}
	return nil
}

// validName reports whether a name can be asked for: what else a program writes
// there is a message.
func validName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}
