//go:build amd64 || arm64

package guard

import (
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"coderunner/internal/netpolicy"
	"coderunner/internal/sandbox"

	"golang.org/x/sys/unix"
)

// Guard supervises the sockets of one process. The zero value refuses everything.
type Guard struct {
	run   atomic.Pointer[netpolicy.Run]
	calls *sandbox.Calls
	work  sync.WaitGroup
	slots chan struct{} // bounds the calls that wait
	ctx   context.Context
	end   context.CancelFunc

	mu      sync.Mutex // guards what follows
	tracked map[int]*connection
	dns     *resolver
	relays  map[io.Closer]bool
	closed  bool
}

// maxWaiting bounds the calls of a process that wait at a time, and its relays.
const maxWaiting = 256

// Attach takes the calls of a process that is about to begin.
func (g *Guard) Attach(calls *sandbox.Calls) {
	g.calls, g.tracked, g.relays, g.slots = calls, map[int]*connection{}, map[io.Closer]bool{}, make(chan struct{}, maxWaiting)
	g.ctx, g.end = context.WithCancel(context.Background())
	g.work.Go(func() {
		for {
			c, err := calls.Next()
			if err != nil {
				return
			}
			g.serve(c)
		}
	})
}

// SetRun sets the run whose program the process runs from now on; nil is none.
func (g *Guard) SetRun(r *netpolicy.Run) { g.run.Store(r) }

// Settle counts the bytes of open connections, while the process lives.
func (g *Guard) Settle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for fd := range g.tracked {
		g.count(fd)
	}
}

// Close ends the supervision of a process that has ended.
func (g *Guard) Close() {
	if g.calls == nil {
		return
	}
	g.calls.Close()
	g.end()
	g.mu.Lock()
	g.closed = true
	g.dns.close()
	for c := range g.relays {
		c.Close()
	}
	g.mu.Unlock()
	g.work.Wait()
}

// serve makes or refuses one call.
func (g *Guard) serve(c *sandbox.Call) {
	switch c.Number {
	case unix.SYS_CLOSE:
		g.closing(int(int32(c.Args[0])))
		c.Continue()
		return
	case unix.SYS_EXIT_GROUP:
		g.Settle()
		c.Continue()
		return
	}
	s, err := g.socket(int(int32(c.Args[0])))
	if err != nil {
		c.Fail(errnoOf(err))
		return
	}
	do := func() {
		defer unix.Close(s.fd)
		n, err := g.call(c, s)
		if err != nil {
			c.Fail(errnoOf(err))
			return
		}
		c.Return(n)
	}
	run := g.run.Load()
	mayWait := !s.nonblocking || c.Number == unix.SYS_CONNECT && run != nil && run.Ask != nil
	if !mayWait || c.Number == unix.SYS_BIND || c.Number == unix.SYS_LISTEN {
		do()
		return
	}
	select {
	case g.slots <- struct{}{}:
		g.work.Go(func() {
			defer func() { <-g.slots }()
			do()
		})
	default:
		unix.Close(s.fd)
		c.Fail(unix.EAGAIN)
	}
}

// call makes a call on a socket.
func (g *Guard) call(c *sandbox.Call, s socket) (int, error) {
	run := g.run.Load()
	if run == nil {
		return 0, unix.EACCES
	}
	switch c.Number {
	case unix.SYS_CONNECT:
		to, err := readAddress(c, c.Args[1], c.Args[2])
		if err != nil {
			return 0, err
		}
		if s.inside {
			return 0, g.callInside(run, c, s, to)
		}
		return 0, g.connect(run, s, to)
	case unix.SYS_BIND:
		at, err := readAddress(c, c.Args[1], c.Args[2])
		if err != nil {
			return 0, err
		}
		if s.inside && s.domain != unix.AF_NETLINK {
			return 0, g.callInside(run, c, s, at)
		}
		return 0, g.bind(run, s, at)
	case unix.SYS_LISTEN:
		if s.inside {
			return 0, g.callInside(run, c, s, address{})
		}
		return 0, g.listen(run, s, int(int32(c.Args[1])))
	case unix.SYS_SENDTO:
		m := message{flags: int(c.Args[3]), name: c.Args[4], nameLen: c.Args[5], pieces: []piece{{c.Args[1], c.Args[2]}}}
		return g.send(run, c, s, m)
	case unix.SYS_SENDMSG:
		m, err := readMessage(c, c.Args[1], int(c.Args[2]))
		if err != nil {
			return 0, err
		}
		return g.send(run, c, s, m)
	case unix.SYS_SENDMMSG:
		return g.sendSeveral(run, c, s)
	}
	return 0, unix.ENOSYS
}

// connect connects to a checked address.
func (g *Guard) connect(run *netpolicy.Run, s socket, to address) error {
	switch {
	case s.domain != unix.AF_INET && s.domain != unix.AF_INET6:
		return unix.EACCES
	case to.family == unix.AF_UNSPEC:
		return sandbox.Disconnect(s.fd)
	case !to.inet():
		return unix.EAFNOSUPPORT
	case to.at.Port() == 0:
		// The C library asks so which of its addresses it would use; nothing is sent.
		if s.kind == unix.SOCK_DGRAM && run.Routable(to.at.Addr()) {
			return unix.Connect(s.fd, to.sockaddr(s))
		}
		return unix.EACCES
	case to.at.Port() == 53 && isNameServer(to.at.Addr()):
		at, err := g.resolver()
		if err != nil {
			return unix.ENETUNREACH
		}
		return unix.Connect(s.fd, address{family: unix.AF_INET, at: at}.sockaddr(s))
	}
	if s.kind == unix.SOCK_STREAM {
		run.Admit(g.ctx, "", to.at)
	}
	t, err := run.Check(s.network(), "", to.at)
	if err != nil {
		return err
	}
	if t.Relayed {
		if s.kind != unix.SOCK_STREAM {
			return unix.ENETUNREACH
		}
		return g.relay(run, s, t)
	}
	err = unix.Connect(s.fd, to.sockaddr(s))
	if s.kind == unix.SOCK_STREAM && (err == nil || err == unix.EINPROGRESS) {
		g.mu.Lock()
		g.tracked[s.number] = &connection{counter: t.Counter}
		g.mu.Unlock()
	}
	return err
}

// bind binds to an address where the policy has it, and to a port of nobody's
// choice anywhere: who listens there is asked again.
func (g *Guard) bind(run *netpolicy.Run, s socket, at address) error {
	if s.domain == unix.AF_NETLINK {
		return unix.Bind(s.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	if s.domain == unix.AF_UNIX || !at.inet() {
		return unix.EACCES
	}
	if s.kind == unix.SOCK_DGRAM && at.at.Addr().IsUnspecified() && !run.MayListen(at.at) {
		// Who asks others takes a port by chance; the kernel's will do, too.
		at.at = netip.AddrPortFrom(at.at.Addr(), 0)
	}
	if at.at.Port() != 0 {
		if err := run.CheckListen(at.at); err != nil {
			return err
		}
		if at.at.Port() < 1024 {
			return unix.EACCES // the process has no right to it, whatever ours are
		}
	}
	unshared := func(fd int) bool { // else what is sent there may be another process's
		n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR)
		return err == nil && n == 0
	}
	alone := unshared(s.fd)
	if err := unix.Bind(s.fd, at.sockaddr(s)); err != nil {
		return err
	}
	if s.kind == unix.SOCK_DGRAM && alone {
		g.listening(run, s, unshared)
	}
	return nil
}

// listen listens where the policy lets programs.
func (g *Guard) listen(run *netpolicy.Run, s socket, backlog int) error {
	if s.domain != unix.AF_INET && s.domain != unix.AF_INET6 || s.kind != unix.SOCK_STREAM {
		return unix.EACCES
	}
	at, err := localAddress(s.fd)
	if err == nil {
		err = run.CheckListen(at)
	}
	if err == nil {
		err = unix.Listen(s.fd, backlog)
	}
	if err == nil {
		g.listening(run, s, func(fd int) bool {
			n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
			return err == nil && n == 1
		})
	}
	return err
}

// listening records the address of a socket as the run's own, while the process has
// that socket, alone, and it is ready.
func (g *Guard) listening(run *netpolicy.Run, s socket, ready func(fd int) bool) {
	at, err := localAddress(s.fd)
	var st unix.Stat_t
	if err != nil || unix.Fstat(s.fd, &st) != nil || sharesPort(s.fd) {
		return
	}
	network := s.network()
	if n, err := unix.GetsockoptInt(s.fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY); s.domain == unix.AF_INET6 && (err != nil || n != 0) {
		network += "6"
	}
	run.Listening(network, at, func() bool {
		fd, err := g.calls.Descriptor(s.number)
		if err != nil {
			return false
		}
		defer unix.Close(fd)
		var now unix.Stat_t
		same := unix.Fstat(fd, &now) == nil && now.Ino == st.Ino && now.Dev == st.Dev
		return same && !sharesPort(fd) && ready(fd)
	})
}

// sharesPort reports whether another process may have the port of a socket, too.
func sharesPort(fd int) bool {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT)
	return err != nil || n != 0
}

// closing counts a connection that is about to be closed.
func (g *Guard) closing(fd int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tracked[fd] != nil {
		g.count(fd)
		delete(g.tracked, fd)
	}
}

// count adds the bytes of a connection since the last time.
func (g *Guard) count(number int) {
	fd, err := g.calls.Descriptor(number)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return
	}
	sent, received := int64(info.Bytes_sent-info.Bytes_retrans), int64(info.Bytes_received)
	if slices.Contains(theyEnded, info.State) {
		received-- // their FIN counts as one
	}
	c := g.tracked[number]
	c.counter.Add(sent-c.sent, received-c.received)
	c.sent, c.received = sent, received
}

// theyEnded are the states of TCP in which the other side has ended
// (include/net/tcp_states.h): CLOSE_WAIT, LAST_ACK and CLOSING.
var theyEnded = []uint8{8, 9, 11}

// connection is one whose bytes are counted.
type connection struct {
	counter        *netpolicy.Counter
	sent, received int64 // counted so far
}

// resolver returns the address of the resolver, which is started when it is needed.
func (g *Guard) resolver() (netip.AddrPort, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return netip.AddrPort{}, net.ErrClosed
	}
	if g.dns == nil {
		dns, err := startResolver(g)
		if err != nil {
			return netip.AddrPort{}, err
		}
		g.dns = dns
	}
	return g.dns.at, nil
}
