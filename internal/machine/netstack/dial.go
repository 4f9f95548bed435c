package netstack

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Dial connects a client that is not the guest's to what listens on the loopback
// for TCP. The error is ECONNREFUSED where nothing listens, which is so of all addresses
// outside.
func (s *Stack) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	k, err := s.Call(ctx, to)
	if err != nil {
		return nil, err
	}
	return &conn{k: k, from: k.Name().IP, to: netip.AddrPortFrom(to.Addr().Unmap().WithZone(""), to.Port())}, nil
}

// Call is Dial that returns the socket itself, a [memfs.Stream].
func (s *Stack) Call(ctx context.Context, to netip.AddrPort) (*Socket, error) {
	to = netip.AddrPortFrom(to.Addr().Unmap().WithZone(""), to.Port())
	if !inside(to.Addr()) {
		return nil, abi.ECONNREFUSED
	}
	domain := abi.AF_INET6
	if to.Addr().Is4() {
		domain = abi.AF_INET
	}
	k, e := s.Socket(domain, abi.SOCK_STREAM, 0)
	if e != abi.OK {
		return nil, e
	}
	s.mu.Lock()
	outside, e := k.connectLocked(Addr{Sockaddr: abi.Sockaddr{Family: domain, IP: to}})
	s.mu.Unlock()
	if outside.IsValid() {
		e = abi.ECONNREFUSED
	}
	if e == abi.EINPROGRESS { // the listener has no room
		if e = k.Wait(ctx, writable, 0); e == abi.OK {
			e = k.Connected()
		}
	}
	if e != abi.OK {
		k.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, e
	}
	return k, nil
}

// conn is a connection of Dial.
type conn struct {
	k             *Socket
	from, to      netip.AddrPort
	reads, writes deadline
}

func (c *conn) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(c.from) }
func (c *conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.to) }

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if c.reads.over() {
			return 0, c.error("read", os.ErrDeadlineExceeded)
		}
		switch n, e := c.k.Read(context.Background(), p, true); {
		case e == abi.EAGAIN:
			c.wait(readable, &c.reads)
		case e == abi.EBADF:
			return 0, c.error("read", net.ErrClosed)
		case e != abi.OK:
			return 0, c.error("read", e)
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (done int, err error) {
	for {
		if c.writes.over() {
			return done, c.error("write", os.ErrDeadlineExceeded)
		}
		n, e := c.k.Write(context.Background(), p[done:], true)
		done += n
		switch {
		case e == abi.EAGAIN || e == abi.OK && done < len(p):
			c.wait(writable, &c.writes)
		case e != abi.OK:
			return done, c.error("write", e)
		default:
			return done, nil
		}
	}
}

// Close implements net.Conn.
func (c *conn) Close() error { return c.k.Close().Err() }

func (c *conn) error(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// SetDeadline implements net.Conn, as the other two do.
func (c *conn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.reads.set(t, c.k.Wake)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.writes.set(t, c.k.Wake)
	return nil
}

// wait waits until the socket is ready or d is over, whose wake-up arrives as all
// others do.
func (c *conn) wait(events abi.Events, d *deadline) {
	memfs.Await(context.Background(), c.k, func() bool { return ready(c.k, events) || d.over() })
}

// deadline is one of a connection's. It may change while somebody waits for it.
type deadline struct {
	mu    sync.Mutex
	at    time.Time
	timer *time.Timer
}

func (d *deadline) set(t time.Time, wake func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	if d.at, d.timer = t, nil; !t.IsZero() {
		d.timer = time.AfterFunc(time.Until(t), wake)
	}
}

func (d *deadline) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.at.IsZero() && !time.Now().Before(d.at)
}
