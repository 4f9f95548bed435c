package netstack

import (
	"fmt"
	"net/netip"
	"slices"

	"coderunner/internal/machine/abi"
)

// The ports that are given to sockets that ask for none, as Linux's default.
const (
	ephemeralFirst = 32768
	ephemeralLast  = 60999
)

// none is the address of a socket that has none.
func (k *Socket) none() Addr {
	a := Addr{Sockaddr: abi.Sockaddr{Family: k.Domain}}
	switch k.Domain {
	case abi.AF_INET:
		a.IP = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	case abi.AF_INET6:
		a.IP = netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
	}
	return a
}

// show is an address as k's family has it.
func (k *Socket) show(ip netip.Addr, port uint16) Addr {
	if k.Domain == abi.AF_INET6 && ip.Is4() {
		ip = netip.AddrFrom16(ip.As16())
	}
	return Addr{Sockaddr: abi.Sockaddr{Family: k.Domain, IP: netip.AddrPortFrom(ip, port)}}
}

// loopbackOf turns the unspecified address into the loopback's, which it means
// as a destination.
func loopbackOf(ip netip.Addr) netip.Addr {
	switch ip {
	case netip.IPv4Unspecified():
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case netip.IPv6Unspecified():
		return netip.IPv6Loopback()
	}
	return ip
}

// sourceLocked is the address that a destination sees k at.
func (k *Socket) sourceLocked(dest netip.Addr) netip.Addr {
	if ip := k.local.ip(); !ip.IsUnspecified() {
		return ip
	}
	if dest.Is4() {
		return loopbackOf(netip.IPv4Unspecified())
	}
	return netip.IPv6Loopback()
}

// Name and Peer are the addresses of getsockname and getpeername.
func (k *Socket) Name() Addr {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	return k.local
}

// Peer is ENOTCONN without one.
func (k *Socket) Peer() (Addr, abi.Errno) {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	if k.state != connected || k.reset && k.Domain != abi.AF_UNIX {
		return Addr{}, abi.ENOTCONN
	}
	if k.Domain == abi.AF_UNIX && k.peer != nil {
		return k.peer.local, abi.OK
	}
	return k.remote, abi.OK
}

// Bind is bind(2). The file of a path is the caller's to make.
//
// Where the Outside allows it, a socket of UDP is bound on the host's interfaces, too.
func (k *Socket) Bind(a Addr) abi.Errno {
	s := k.stack
	s.mu.Lock()
	e := k.bindLocked(a)
	s.mu.Unlock()
	if e != abi.OK || k.Type != abi.SOCK_DGRAM || k.Domain == abi.AF_UNIX || s.options.Outside == nil {
		return e
	}
	return k.udp.bindHost(a.IP)
}

func (k *Socket) bindLocked(a Addr) abi.Errno {
	switch {
	case a.Family != k.Domain:
		return abi.EAFNOSUPPORT
	case k.Domain != abi.AF_UNIX && !inside(a.ip()):
		return abi.EADDRNOTAVAIL
	case k.bound:
		return abi.EINVAL
	case k.Domain == abi.AF_UNIX:
		return k.bindNameLocked(a)
	case k.opts.v6only && a.IP.Addr().Is4In6():
		return abi.EINVAL
	}
	return k.bindPortLocked(a.IP)
}

func (k *Socket) bindNameLocked(a Addr) abi.Errno {
	s := k.stack
	if a.Path == "" { // the system chooses an abstract name
		for {
			s.next++
			a.Path = fmt.Sprintf("\x00%05x", s.next)
			if s.names[a.Path] == nil {
				break
			}
		}
	}
	if s.names[a.name()] != nil {
		return abi.EADDRINUSE
	}
	s.names[a.name()] = k
	k.local, k.bound = a, true
	return abi.OK
}

func (k *Socket) bindPortLocked(at netip.AddrPort) abi.Errno {
	if at.Port() != 0 {
		if k.conflictLocked(at) {
			return abi.EADDRINUSE
		}
		k.placeLocked(at)
		return abi.OK
	}
	s := k.stack
	for range ephemeralLast - ephemeralFirst + 1 {
		if s.next++; s.next > ephemeralLast || s.next < ephemeralFirst {
			s.next = ephemeralFirst
		}
		at = netip.AddrPortFrom(at.Addr(), s.next)
		if len(s.ports[port{k.Type, s.next}]) == 0 {
			k.placeLocked(at)
			return abi.OK
		}
	}
	return abi.EADDRINUSE
}

func (k *Socket) placeLocked(at netip.AddrPort) {
	p := port{k.Type, at.Port()}
	k.stack.ports[p] = append(k.stack.ports[p], k)
	k.local, k.bound = k.show(at.Addr(), at.Port()), true
}

// conflictLocked reports whether another socket has the address.
func (k *Socket) conflictLocked(at netip.AddrPort) bool {
	for _, b := range k.stack.ports[port{k.Type, at.Port()}] {
		switch {
		case b.state == connected && k.Type == abi.SOCK_STREAM: // its listener decides
		case !overlap(k, at.Addr(), b, b.local.IP.Addr()):
		case k.opts.reusePort && b.opts.reusePort:
		case k.opts.reuseAddr && b.opts.reuseAddr && b.state != listening:
		default:
			return true
		}
	}
	return false
}

// overlap reports whether two sockets bound to a and b could be meant by one
// address.
func overlap(k *Socket, a netip.Addr, l *Socket, b netip.Addr) bool {
	a, b = a.Unmap(), b.Unmap()
	if a == b {
		return true
	}
	if a.Is6() && a.IsUnspecified() && !k.opts.v6only || b.Is6() && b.IsUnspecified() && !l.opts.v6only {
		return true
	}
	return a.Is4() == b.Is4() && (a.IsUnspecified() || b.IsUnspecified())
}

// autobindLocked binds k to a free port unless it is bound.
func (k *Socket) autobindLocked() abi.Errno {
	if k.bound || k.Domain == abi.AF_UNIX {
		return abi.OK
	}
	return k.bindPortLocked(k.none().IP)
}

func (k *Socket) unbindLocked() {
	if !k.bound {
		return
	}
	s := k.stack
	if k.Domain == abi.AF_UNIX {
		delete(s.names, k.local.name())
	} else {
		p := port{k.Type, k.local.IP.Port()}
		if s.ports[p] = remove(s.ports[p], k); len(s.ports[p]) == 0 {
			delete(s.ports, p)
		}
	}
	k.bound = false
}

// boundLocked finds the bound socket that is meant by an address: one bound to
// it rather than one bound to all, the last bound of equals.
func (s *Stack) boundLocked(typ uint32, ip netip.Addr, number uint16, fit func(*Socket) bool) *Socket {
	var found *Socket
	for _, b := range slices.Backward(s.ports[port{typ, number}]) {
		at := b.local.ip()
		exact := at == ip
		switch {
		case !fit(b):
		case exact && (found == nil || found.local.ip() != ip):
			found = b
		case found == nil && at.IsUnspecified() && (at.Is4() == ip.Is4() || at.Is6() && !b.opts.v6only):
			found = b
		}
	}
	return found
}
