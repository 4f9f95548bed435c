package netpolicy

import (
	"context"
	"net"
	"net/netip"
)

// ListenPacket opens a socket of UDP on the host's interfaces; network is udp, udp4 or
// udp6. The destination of each datagram is checked as by [Run.Check], whoever wrote
// before. What comes from where --deny-net forbids is dropped.
func (r *Run) ListenPacket(ctx context.Context, network string, addr netip.AddrPort) (*PacketConn, error) {
	if err := r.CheckListen(addr); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	c, err := lc.ListenPacket(ctx, network, addr.String())
	if err != nil {
		return nil, err
	}
	at := c.LocalAddr().(*net.UDPAddr).AddrPort()
	return &PacketConn{c.(*net.UDPConn), r, r.contact("listening on "+at.Addr().String(), at.Port(), nil), r.Listening(network, at, nil)}, nil
}

// PacketConn is a socket of UDP on the host's interfaces. It is safe for concurrent use.
type PacketConn struct {
	conn    *net.UDPConn
	run     *Run
	counter *Counter // of what comes from hosts that were not written to
	closed  func()
}

// ReadFrom receives a datagram, with an IPv4 address as such.
func (c *PacketConn) ReadFrom(b []byte) (int, netip.AddrPort, error) {
	for {
		n, from, err := c.conn.ReadFromUDPAddrPort(b)
		if err != nil {
			return 0, from, err
		}
		from = netip.AddrPortFrom(from.Addr().Unmap().WithZone(""), from.Port())
		t, verdict := c.run.verdict("udp", "", from)
		if verdict == denied {
			c.run.contact(t.Host, from.Port(), &Refused{Host: t.Host, Addr: from.Addr(), Port: from.Port(), why: denied})
			continue
		}
		c.run.counterOf(t.Host, from.Port(), c.counter).Add(0, int64(n))
		return n, from, nil
	}
}

// Check checks a destination. The error is *Refused or *net.OpError.
func (c *PacketConn) Check(to netip.AddrPort) error {
	_, err := c.target(to)
	return err
}

func (c *PacketConn) target(to netip.AddrPort) (Target, error) {
	t, err := c.run.Check("udp", "", to)
	if err == nil && t.Relayed {
		err = errOnlyTCP("udp")
	}
	return t, err
}

// WriteTo sends a datagram. The error is *Refused or *net.OpError.
func (c *PacketConn) WriteTo(b []byte, to netip.AddrPort) (int, error) {
	t, err := c.target(to)
	if err != nil {
		return 0, err
	}
	n, err := c.conn.WriteToUDPAddrPort(b, to)
	t.Counter.Add(int64(n), 0)
	return n, err
}

// Close closes the socket.
func (c *PacketConn) Close() error {
	c.closed()
	return c.conn.Close()
}
