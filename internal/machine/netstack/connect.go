package netstack

import (
	"context"
	"net/netip"

	"coderunner/internal/machine/abi"
)

// Connect is connect(2). EINPROGRESS when the connection is under way: then
// [Socket.Wait] for POLLOUT, and [Socket.Connected] tells the end.
func (k *Socket) Connect(ctx context.Context, to Addr) abi.Errno {
	s := k.stack
	s.mu.Lock()
	dest, e := k.connectLocked(to)
	s.mu.Unlock()
	if e != abi.OK || !dest.IsValid() {
		return e
	}
	if k.Type == abi.SOCK_DGRAM {
		return k.udp.connect(ctx, dest, to)
	}
	return k.dialOutside(dest, to)
}

// Admitter returns what must be asked before the socket connects to an address, nil if
// there is nothing to ask.
func (k *Socket) Admitter(to Addr) func(ctx context.Context) {
	asker, ok := k.stack.options.Outside.(Admitter)
	if !ok || k.Type != abi.SOCK_STREAM || k.Domain == abi.AF_UNIX || to.Family != k.Domain || inside(loopbackOf(to.ip())) {
		return nil
	}
	return func(ctx context.Context) {
		asker.Admit(ctx, netip.AddrPortFrom(to.ip(), to.IP.Port()))
	}
}

// Connected is the end of an attempt to connect that Connect began.
func (k *Socket) Connected() abi.Errno {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	switch {
	case k.err != abi.OK:
		return k.takeErrorLocked()
	case k.state == connecting:
		return abi.EINPROGRESS
	case k.state != connected:
		return abi.ECONNABORTED
	}
	return abi.OK
}

// connectLocked connects on the loopback, or returns the destination in the
// outside.
func (k *Socket) connectLocked(to Addr) (outside netip.AddrPort, e abi.Errno) {
	switch {
	case to.Family == abi.AF_UNSPEC && k.Type == abi.SOCK_DGRAM:
		k.state, k.remote, k.peer = fresh, k.none(), nil
		return outside, abi.OK
	case to.Family != k.Domain:
		return outside, abi.EAFNOSUPPORT
	case k.Type == abi.SOCK_DGRAM:
		return k.connectDatagramLocked(to)
	case k.state == connecting:
		return outside, abi.EALREADY
	case k.state != fresh:
		return outside, abi.EISCONN
	case k.err != abi.OK:
		return outside, k.takeErrorLocked()
	}
	if k.Domain == abi.AF_UNIX {
		l := k.stack.names[to.name()]
		switch {
		case l == nil || l.state == closed:
			return outside, abi.ECONNREFUSED
		case l.Type != k.Type:
			return outside, abi.EPROTOTYPE
		case l.state != listening:
			return outside, abi.ECONNREFUSED
		}
		k.remote = to
		return outside, k.callLocked(l)
	}
	if to.IP.Port() == 0 {
		return outside, abi.ECONNREFUSED
	}
	if e := k.autobindLocked(); e != abi.OK {
		return outside, e
	}
	ip := loopbackOf(to.ip())
	l := k.stack.boundLocked(abi.SOCK_STREAM, ip, to.IP.Port(), func(b *Socket) bool { return b.state == listening })
	switch {
	case inside(ip) && l != nil:
		k.remote = k.show(ip, to.IP.Port())
		return outside, k.callLocked(l)
	case k.stack.options.Outside != nil:
		return netip.AddrPortFrom(ip, to.IP.Port()), abi.OK
	case inside(ip):
		k.err = abi.ECONNREFUSED // as Linux: a socket that does not block learns it by poll
		k.Wake()
		return outside, abi.EINPROGRESS
	}
	k.refusal = k.stack.options.Refused(netip.AddrPortFrom(ip, to.IP.Port()).String())
	return outside, abi.EACCES
}

func (k *Socket) connectDatagramLocked(to Addr) (outside netip.AddrPort, e abi.Errno) {
	if k.Domain == abi.AF_UNIX {
		p := k.stack.names[to.name()]
		switch {
		case p == nil:
			return outside, abi.ECONNREFUSED
		case p.Type != abi.SOCK_DGRAM:
			return outside, abi.EPROTOTYPE
		}
		k.state, k.peer, k.remote = connected, p, to
		return outside, abi.OK
	}
	if e := k.autobindLocked(); e != abi.OK {
		return outside, e
	}
	ip := loopbackOf(to.ip())
	if !inside(ip) {
		if k.refusesLocked(ip) {
			return outside, abi.EACCES
		}
		return netip.AddrPortFrom(ip, to.IP.Port()), abi.OK
	}
	k.state, k.remote = connected, k.show(ip, to.IP.Port())
	k.local = k.show(k.sourceLocked(ip), k.local.IP.Port())
	return outside, abi.OK
}
