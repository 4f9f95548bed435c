//go:build amd64 || arm64

package guard

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"coderunner/internal/netpolicy"

	"golang.org/x/sys/unix"
)

// relay connects a socket of the process to us, and us to where it goes. If that
// cannot be reached, the connection is reset.
func (g *Guard) relay(run *netpolicy.Run, s socket, t netpolicy.Target) error {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return unix.ENETUNREACH
	}
	if !g.keep(l) {
		l.Close()
		return unix.ENETUNREACH
	}
	at := l.Addr().(*net.TCPAddr).AddrPort()
	err = unix.Connect(s.fd, address{family: unix.AF_INET, at: at}.sockaddr(s))
	if err != nil && err != unix.EINPROGRESS {
		g.drop(l)
		return err
	}
	theirs, lerr := localAddress(s.fd)
	g.work.Go(func() {
		defer g.drop(l)
		if lerr != nil {
			return
		}
		in := g.accept(l, theirs)
		if in == nil {
			return
		}
		g.drop(l)
		if !g.keep(in) {
			in.Close()
			return
		}
		defer g.drop(in)
		out, err := run.DialTarget(g.ctx, "tcp", t)
		if err == nil && !g.keep(out) {
			out.Close()
			err = net.ErrClosed
		}
		if err != nil {
			_ = in.SetLinger(0)
			return
		}
		defer g.drop(out)
		join(in, out)
	})
	return err
}

// accept waits for the connection of one socket of the process.
func (g *Guard) accept(l *net.TCPListener, theirs netip.AddrPort) *net.TCPConn {
	_ = l.SetDeadline(time.Now().Add(lookupTimeout))
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			return nil
		}
		if from := c.RemoteAddr().(*net.TCPAddr).AddrPort(); from.Port() == theirs.Port() {
			return c
		}
		c.Close() // somebody else's
	}
}

// join copies both ways until both have ended.
func join(a *net.TCPConn, b net.Conn) {
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(b, a)
		if half, ok := b.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
			b.Close()
		}
	})
	both.Go(func() {
		_, _ = io.Copy(a, b)
		_ = a.CloseWrite()
	})
	both.Wait()
}

// keep records what Close must close. It reports false after that.
func (g *Guard) keep(c io.Closer) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || len(g.relays) > 4*maxWaiting {
		return false
	}
	g.relays[c] = true
	return true
}

// drop closes it.
func (g *Guard) drop(c io.Closer) {
	g.mu.Lock()
	delete(g.relays, c)
	g.mu.Unlock()
	c.Close()
}
