package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"

	"coderunner/internal/machine/netstack"
	"coderunner/internal/worker/wire"
)

// maxPorts bounds the sockets that a run listens on.
const maxPorts = 64

// begin prepares for connections. A program's end with it, those of a session with the
// worker, since its interpreter may use them in a later call.
func (s *served) begin() {
	s.relaying, s.hangUps = s.w.ctx, func() {}
	if s.req.Session == nil {
		s.relaying, s.hangUps = context.WithCancel(s.w.ctx)
	}
}

// end closes what the run has open, and gives its line back. Whatever waits for a socket
// that listens ends first, since the line is kept once nothing is served on it.
func (s *served) end(l *line) {
	s.w.p.mu.Lock()
	s.over = true
	s.w.p.mu.Unlock()
	s.mu.Lock()
	ports := s.ports
	s.ports = nil
	s.mu.Unlock()
	for _, x := range ports {
		x.(io.Closer).Close()
	}
	s.hangUps()
	s.w.keep(l)
	if s.req.Session == nil {
		s.relays.Wait()
	}
}

// intercept has the program's connections intercepted from now on. Was is what stands for
// secrets in the variables of its session; the result is what does so now.
func (s *served) intercept(_ context.Context, was map[string]string) (map[string]string, error) {
	i := s.w.p.o.Network.Intercept
	if i == nil {
		return nil, errors.New("nobody intercepts connections")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.network.Intercept == nil {
		s.network.Intercept = i.Begin(was)
	}
	return s.network.Intercept.Environment(), nil
}

func (s *served) admit(ctx context.Context, addr netip.AddrPort) (any, error) {
	s.network.Admit(ctx, "", addr)
	return nil, nil
}

// ask asks the user. The program's time limit stands still, here and in the worker.
func (s *served) ask(ctx context.Context, host string, port uint16) (bool, error) {
	defer s.clock.Hold()()
	held, release := context.WithCancel(ctx)
	var holding sync.WaitGroup
	holding.Go(func() { _, _ = s.conn.Call(held, callHold, nil, nil) })
	defer holding.Wait()
	defer release()
	return s.req.Ask(ctx, host, port)
}

func (s *served) dial(ctx context.Context, d dial) (ends, *os.File, error) {
	c, err := s.network.Dial(ctx, d.Network, d.Name, d.Addr)
	if err != nil {
		return ends{}, nil, err
	}
	return s.relay(c)
}

// relay gives the worker a connection: a socket whose other end is copied here.
func (s *served) relay(c net.Conn) (ends, *os.File, error) {
	ours, theirs, err := wire.Pair()
	if err != nil {
		c.Close()
		return ends{}, nil, err
	}
	both := func() { ours.Close(); c.Close() }
	stop := context.AfterFunc(s.relaying, both)
	copied := make(chan struct{}, 2)
	one := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); !ok || err != nil || half.CloseWrite() != nil {
			both()
		}
		copied <- struct{}{}
	}
	go one(c, ours)
	go one(ours, c)
	s.relays.Go(func() {
		<-copied
		<-copied
		stop()
		both()
	})
	local, _ := netip.ParseAddrPort(c.LocalAddr().String())
	remote, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	return ends{local, remote}, theirs, nil
}

// open keeps what listens, by a number.
func (s *served) open(x io.Closer, at net.Addr) (port, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ports) >= maxPorts || s.ports == nil {
		x.Close()
		return port{}, fmt.Errorf("a run listens on %d sockets at most", maxPorts)
	}
	s.lastPort++
	s.ports[s.lastPort] = x
	p := port{ID: s.lastPort}
	if at != nil {
		p.At, _ = netip.ParseAddrPort(at.String())
	}
	return p, nil
}

// opened returns what was kept.
func opened[T any](s *served, id int) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.ports[id].(T)
	if !ok {
		return x, net.ErrClosed
	}
	return x, nil
}

func (s *served) listen(ctx context.Context, d dial) (port, error) {
	l, err := s.network.Listen(ctx, d.Network, d.Addr)
	if err != nil {
		return port{}, err
	}
	return s.open(l, l.Addr())
}

func (s *served) accept(_ context.Context, id int) (ends, *os.File, error) {
	l, err := opened[net.Listener](s, id)
	if err != nil {
		return ends{}, nil, err
	}
	c, err := l.Accept()
	if err != nil {
		return ends{}, nil, err
	}
	return s.relay(c)
}

func (s *served) listenPacket(ctx context.Context, d dial) (port, error) {
	c, err := s.network.ListenPacket(ctx, d.Network, d.Addr)
	if err != nil {
		return port{}, err
	}
	return s.open(c, nil)
}

// onPort makes a handler of a function on a socket of UDP.
func onPort[R any](f func(c netstack.PacketConn, d datagram) (R, error)) handler {
	return data(func(s *served, _ context.Context, d datagram) (result R, err error) {
		c, err := opened[netstack.PacketConn](s, d.ID)
		if err != nil {
			return result, err
		}
		return f(c, d)
	})
}

// maxDatagram is the longest datagram, in bytes.
const maxDatagram = 64 << 10

func receive(c netstack.PacketConn, d datagram) (datagram, error) {
	b := make([]byte, maxDatagram)
	n, from, err := c.ReadFrom(b)
	return datagram{d.ID, from, b[:n]}, err
}

func (s *served) hangUp(_ context.Context, id int) (any, error) {
	x, err := opened[io.Closer](s, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	delete(s.ports, id)
	s.mu.Unlock()
	return nil, x.Close()
}
