package netstack

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"coderunner/internal/machine/abi"
)

// PacketConn is a socket of UDP on the host's interfaces. Errors of Check and WriteTo
// are those of an Outside.
type PacketConn interface {
	// Check checks a destination before it is written to.
	Check(to netip.AddrPort) error
	WriteTo(b []byte, to netip.AddrPort) (int, error)
	ReadFrom(b []byte) (int, netip.AddrPort, error)
	Close() error
}

// Bounds of a socket of UDP: how many destinations in the outside it has connections
// to, and how many senders it remembers.
const (
	maxFlows  = 64
	maxHeard  = 256
	portTries = 100 // of ports that the host may use
)

// hostNetworkLocked returns where k, which is bound, is on the host's interfaces.
func (k *Socket) hostNetworkLocked(network string) (string, netip.AddrPort) {
	at := netip.AddrPortFrom(k.local.ip(), k.local.IP.Port())
	switch {
	case at.Addr().Is4():
		network += "4"
	case k.opts.v6only:
		network += "6"
	}
	return network, at
}

// unseen reports whether an error of listening on the host means that k is seen
// inside only: it was refused, or the host has no such address.
func unseen(err error) bool {
	return refused(err) || errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL)
}

// datagrams are what a socket of UDP exchanges with the outside: by a socket on the
// host's interfaces if it is bound there, else by a connection to each destination.
type datagrams struct {
	k *Socket

	// Stack.mu guards what follows.
	packets PacketConn                  // on the host's interfaces; nil: none
	heard   map[netip.AddrPort]bool     // who sent to packets
	flows   map[netip.AddrPort]net.Conn // by destination
}

// closeLocked closes what is open on the host.
func (d *datagrams) closeLocked() {
	if d.packets != nil {
		d.packets.Close()
	}
	for _, c := range d.flows {
		c.Close()
	}
	d.packets, d.heard, d.flows = nil, nil, nil
}

// bindHost binds the socket on the host's interfaces, too, if the Outside allows
// it. A port that the program did not ask for is changed while the host uses it.
func (d *datagrams) bindHost(asked netip.AddrPort) abi.Errno {
	k, s := d.k, d.k.stack
	for try := 0; ; try++ {
		s.mu.Lock()
		network, at := k.hostNetworkLocked("udp")
		s.mu.Unlock()
		if asked.Port() == 0 && !s.options.Outside.MayListen(at) {
			return abi.OK
		}
		conn, err := s.options.Outside.ListenPacket(s.ctx, network, at)
		if unseen(err) {
			return abi.OK
		}
		s.mu.Lock()
		e := abi.OK
		switch {
		case err != nil:
			e = errnoOf(err)
		case k.state == closed:
			e = abi.EBADF
		case !s.options.Reserve(linkCost):
			e = abi.ENOBUFS
		default:
			d.packets = conn
			s.pumps.Go(func() { d.hearAll(conn) })
			s.mu.Unlock()
			return abi.OK
		}
		if err == nil {
			conn.Close()
		}
		k.unbindLocked()
		k.local = k.none()
		if e == abi.EADDRINUSE && asked.Port() == 0 && try < portTries && k.state != closed {
			e = k.bindPortLocked(asked)
		}
		s.mu.Unlock()
		if e != abi.OK {
			return e
		}
	}
}

// hearAll receives what comes to the host's interfaces.
func (d *datagrams) hearAll(conn PacketConn) {
	k, s := d.k, d.k.stack
	defer s.options.Unreserve(linkCost)
	buf := make([]byte, maxDatagram)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		s.mu.Lock()
		if k.state != connected || from == netip.AddrPortFrom(k.remote.ip(), k.remote.IP.Port()) {
			d.heardLocked(from)
			if _, e := k.addLocked([][]byte{buf[:n]}, k.show(from.Addr(), from.Port()), nil); e == abi.OK {
				k.Wake()
			}
		}
		s.mu.Unlock()
	}
}

// heardLocked remembers who sent something from the outside.
func (d *datagrams) heardLocked(from netip.AddrPort) {
	if d.heard == nil || len(d.heard) >= maxHeard {
		d.heard = map[netip.AddrPort]bool{}
	}
	d.heard[from] = true
}

// noGroups is why datagrams to many receivers are refused.
const noGroups = "multicast and broadcast are not part of this network: send to each receiver's address"

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// refusesLocked reports whether no datagram to an address in the outside leaves.
func (k *Socket) refusesLocked(ip netip.Addr) bool {
	k.refusal = ""
	if ip.IsMulticast() || ip == broadcast {
		k.refusal = noGroups
	}
	if k.refusal == "" && k.stack.options.Outside == nil {
		k.refusal = k.stack.options.Refused(ip.String())
		return true
	}
	return k.refusal != ""
}

// connect connects the socket to a destination in the outside.
func (d *datagrams) connect(ctx context.Context, dest netip.AddrPort, to Addr) abi.Errno {
	k, s := d.k, d.k.stack
	s.mu.Lock()
	packets := d.packets
	s.mu.Unlock()
	var from netip.Addr
	if packets != nil {
		if err := packets.Check(dest); err != nil {
			_, e := d.sent(0, err, dest, Message{})
			return e
		}
	} else {
		conn, e := d.flow(ctx, dest)
		if e != abi.OK {
			return e
		}
		if at, ok := addrOf(conn.LocalAddr()); ok {
			from = at.Addr().Unmap()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k.state, k.remote = connected, to
	if from.IsValid() && k.local.ip().IsUnspecified() {
		k.local = k.show(from, k.local.IP.Port())
	}
	return abi.OK
}

// flow returns the connection to a destination.
func (d *datagrams) flow(ctx context.Context, dest netip.AddrPort) (net.Conn, abi.Errno) {
	k, s := d.k, d.k.stack
	s.mu.Lock()
	conn, outside := d.flows[dest], s.options.Outside
	s.mu.Unlock()
	if conn != nil {
		return conn, abi.OK
	}
	if outside == nil {
		return nil, abi.EACCES
	}
	conn, err := outside.Dial(ctx, "udp", "", dest)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if k.refusal = err.Error(); inside(dest.Addr()) && refused(err) {
			return nil, abi.ECONNREFUSED
		}
		return nil, errnoOf(err)
	}
	if k.state == closed || !s.options.Reserve(linkCost) {
		conn.Close()
		return nil, abi.ENOBUFS
	}
	if d.flows == nil {
		d.flows = map[netip.AddrPort]net.Conn{}
	}
	for old, c := range d.flows {
		if len(d.flows) < maxFlows {
			break
		}
		c.Close()
		delete(d.flows, old)
	}
	d.flows[dest] = conn
	s.pumps.Go(func() { d.hear(dest, conn) })
	return conn, abi.OK
}

// hear receives the datagrams of a flow.
func (d *datagrams) hear(dest netip.AddrPort, conn net.Conn) {
	k, s := d.k, d.k.stack
	defer s.options.Unreserve(linkCost)
	stop := context.AfterFunc(s.ctx, func() { conn.Close() })
	defer stop()
	buf := make([]byte, maxDatagram)
	for {
		n, err := conn.Read(buf)
		s.mu.Lock()
		if k.state == closed || d.flows[dest] != conn {
			s.mu.Unlock()
			return
		}
		if err != nil {
			delete(d.flows, dest)
			if k.state == connected {
				k.err = errnoOf(err)
			}
		} else {
			k.addLocked([][]byte{buf[:n]}, k.show(dest.Addr(), dest.Port()), nil)
		}
		k.Wake()
		s.mu.Unlock()
		if err != nil {
			conn.Close()
			return
		}
	}
}

// send sends a datagram from the socket on the host's interfaces, if there is
// one: its receiver expects it from that port.
func (d *datagrams) send(ctx context.Context, dest netip.AddrPort, m Message) (int, abi.Errno) {
	k := d.k
	k.stack.mu.Lock()
	packets := d.packets
	k.stack.mu.Unlock()
	if packets != nil {
		n, err := packets.WriteTo(bytes.Join(m.Data, nil), dest)
		return d.sent(n, err, dest, m)
	}
	conn, e := d.flow(ctx, dest)
	if e == abi.ECONNREFUSED && m.To != nil {
		return m.size(), abi.OK // lost, as on a loopback where nobody listens
	}
	if e != abi.OK {
		return 0, e
	}
	n, err := conn.Write(bytes.Join(m.Data, nil))
	if err != nil {
		return 0, errnoOf(err)
	}
	return n, abi.OK
}

// sent is the end of a send from the host's interfaces. What is refused on the
// loopback is lost, unless it is an answer.
func (d *datagrams) sent(n int, err error, dest netip.AddrPort, m Message) (int, abi.Errno) {
	k := d.k
	if err == nil {
		return n, abi.OK
	}
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	k.refusal = err.Error()
	switch lost := refused(err) && inside(dest.Addr()) && !d.heard[dest]; {
	case lost && m.To != nil:
		return m.size(), abi.OK
	case lost:
		return 0, abi.ECONNREFUSED
	}
	return 0, errnoOf(err)
}
