package netstack

import (
	"net"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// listener is what a listening socket has beyond others. Stack.mu guards it.
type listener struct {
	backlog int
	accepts []*Socket    // connected, waiting for accept
	callers []*Socket    // connecting, while accepts is full
	host    net.Listener // on the host's interfaces
}

// full reports whether who calls must wait.
func (l *listener) full() bool { return len(l.accepts) >= l.backlog }

// closeLocked hangs up on those who called, and returns the files that they sent.
func (l *listener) closeLocked() (files []*memfs.File) {
	for _, a := range l.accepts {
		p := a.peer
		files = append(files, a.closeLocked()...)
		if p != nil {
			p.hangUpLocked(true)
		}
	}
	for _, c := range l.callers {
		c.failLocked(abi.ECONNREFUSED)
	}
	if l.host != nil {
		l.host.Close()
	}
	*l = listener{}
	return files
}

// maxBacklog is SOMAXCONN.
const maxBacklog = 4096

// Listen is listen(2). Where the Outside allows it, the socket listens on the
// host's interface, too.
func (k *Socket) Listen(backlog int32) abi.Errno {
	s := k.stack
	s.mu.Lock()
	explicit := k.bound
	e := k.listenLocked(backlog)
	outside := s.options.Outside
	network, at := k.hostNetworkLocked("tcp")
	needed := e == abi.OK && explicit && k.listener.host == nil && k.Domain != abi.AF_UNIX && outside != nil
	s.serves = s.serves || e == abi.OK && k.Domain != abi.AF_UNIX
	s.mu.Unlock()
	if !needed {
		return e
	}
	l, err := outside.Listen(s.ctx, network, at)
	switch {
	case unseen(err):
		return abi.OK // inside it listens
	case err != nil:
		return errnoOf(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.state != listening || k.listener.host != nil {
		l.Close()
		return abi.OK
	}
	k.listener.host, s.called = l, true // it may be, from now on
	s.pumps.Go(func() { k.welcome(l) })
	return abi.OK
}

func (k *Socket) listenLocked(backlog int32) abi.Errno {
	switch {
	case k.Type == abi.SOCK_DGRAM:
		return abi.EOPNOTSUPP
	case k.state != fresh && k.state != listening, !k.bound && k.Domain == abi.AF_UNIX:
		return abi.EINVAL
	}
	if k.state == fresh && k.bound && k.Domain != abi.AF_UNIX {
		for _, b := range k.stack.ports[port{k.Type, k.local.IP.Port()}] {
			if b != k && b.state == listening && overlap(k, k.local.ip(), b, b.local.ip()) && !(k.opts.reusePort && b.opts.reusePort) {
				return abi.EADDRINUSE
			}
		}
	}
	if e := k.autobindLocked(); e != abi.OK {
		return e
	}
	if backlog < 0 || backlog > maxBacklog {
		backlog = maxBacklog
	}
	k.state, k.listener.backlog = listening, int(backlog)+1
	return abi.OK
}

// callLocked connects k to a listening socket, or lets it wait until there is
// room among those that it has to accept.
func (k *Socket) callLocked(l *Socket) abi.Errno {
	if l.listener.full() {
		k.state = connecting
		l.listener.callers = append(l.listener.callers, k)
		return abi.EINPROGRESS
	}
	return k.meetLocked(l)
}

func (k *Socket) meetLocked(l *Socket) abi.Errno {
	far, e := l.stack.newLocked(l.Domain, l.Type, l.Protocol)
	if e != abi.OK {
		return abi.ECONNREFUSED
	}
	far.state, far.peer, k.state, k.peer = connected, k, connected, far
	far.opts.limit, far.opts.v6only = l.opts.limit, l.opts.v6only
	far.local = l.local
	if k.Domain == abi.AF_UNIX {
		far.remote = k.local
	} else {
		k.stack.called = true
		ip := k.remote.ip()
		k.local = k.show(k.sourceLocked(ip), k.local.IP.Port())
		far.local = far.show(ip, k.remote.IP.Port())
		far.remote = far.show(k.local.ip(), k.local.IP.Port())
	}
	l.listener.accepts = append(l.listener.accepts, far)
	l.Wake()
	k.Wake()
	return abi.OK
}

// Accept is accept(2): EAGAIN if nobody is there.
func (k *Socket) Accept() (*Socket, Addr, abi.Errno) {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	switch {
	case k.Type == abi.SOCK_DGRAM:
		return nil, Addr{}, abi.EOPNOTSUPP
	case k.state != listening:
		return nil, Addr{}, abi.EINVAL
	case len(k.listener.accepts) == 0:
		return nil, Addr{}, abi.EAGAIN
	}
	l := &k.listener
	a := l.accepts[0]
	l.accepts = l.accepts[1:]
	for len(l.callers) > 0 && !l.full() {
		c := l.callers[0]
		l.callers = l.callers[1:]
		if c.state == connecting && c.meetLocked(k) != abi.OK {
			c.failLocked(abi.ECONNREFUSED)
		}
	}
	return a, a.remote, abi.OK
}

// welcome accepts connections from the host's interfaces.
func (k *Socket) welcome(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if far := k.arrived(conn); far != nil {
			k.stack.pumps.Go(func() {
				defer k.stack.options.Unreserve(linkCost)
				k.stack.copy(far, conn)
			})
		}
	}
}

// arrived puts a connection from the outside among those to accept and returns
// its other end, or closes it.
func (k *Socket) arrived(conn net.Conn) *Socket {
	s := k.stack
	s.mu.Lock()
	defer s.mu.Unlock()
	from, _ := addrOf(conn.RemoteAddr())
	if k.state == listening && !k.listener.full() && s.options.Reserve(linkCost) {
		if a, e := s.newLocked(k.Domain, k.Type, k.Protocol); e == abi.OK {
			far := a.joinLocked()
			a.local, a.remote = k.local, a.show(from.Addr().Unmap(), from.Port())
			k.listener.accepts = append(k.listener.accepts, a)
			k.Wake()
			return far
		}
		s.options.Unreserve(linkCost)
	}
	conn.Close()
	return nil
}
