package emscripten

import (
	"context"
	"encoding/binary"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/machine/netstack"
	"coderunner/pyodide/emscripten/layout"
)

// Sockets returns the network of the program. Most programs have no socket: it
// is made at the first, unless it was given. It may be called from any goroutine.
func (p *Process) Sockets() *netstack.Stack {
	p.netMu.Lock()
	defer p.netMu.Unlock()
	if p.net == nil {
		p.net = netstack.New(netstack.Options{Outside: p.outside, Refused: p.refused, Reserve: p.fs.Reserve, Unreserve: p.fs.Unreserve})
		p.ownNet = true
	}
	return p.net
}

// Socket is socket(domain, type, protocol), and returns the descriptor.
func (p *Process) Socket(domain, typ, protocol uint32) (int32, abi.Errno) {
	const flags = abi.SOCK_NONBLOCK | abi.SOCK_CLOEXEC
	if typ&^(flags|0xf) != 0 {
		return 0, abi.EINVAL
	}
	s, errno := p.Sockets().Socket(domain, typ&^flags, protocol)
	if errno != abi.OK {
		return 0, errno
	}
	return p.addSocket(s, typ)
}

// SocketPair is socketpair(AF_UNIX, type, 0).
func (p *Process) SocketPair(typ uint32) (fds [2]int32, errno abi.Errno) {
	a, b, errno := p.Sockets().Pair(typ &^ (abi.SOCK_NONBLOCK | abi.SOCK_CLOEXEC))
	if errno != abi.OK {
		return fds, errno
	}
	if fds[0], errno = p.addSocket(a, typ); errno != abi.OK {
		b.Close()
		return fds, errno
	}
	if fds[1], errno = p.addSocket(b, typ); errno != abi.OK {
		p.fds.close(fds[0])
	}
	return fds, errno
}

// addSocket returns a descriptor for s; flags are those of SOCK_NONBLOCK and
// SOCK_CLOEXEC.
func (p *Process) addSocket(s *netstack.Socket, flags uint32) (int32, abi.Errno) {
	f := p.fs.NewFile(s, abi.O_RDWR|flags&abi.SOCK_NONBLOCK, abi.S_IFSOCK|0o777)
	return p.fds.add(f, 0, flags&abi.SOCK_CLOEXEC != 0)
}

// SocketOf returns the socket of a descriptor: EBADF, or ENOTSOCK for others.
func (p *Process) SocketOf(fd int32) (*netstack.Socket, abi.Errno) {
	f, errno := p.fds.get(fd)
	if errno != abi.OK {
		return nil, errno
	}
	if s, ok := f.Stream().(*netstack.Socket); ok {
		return s, abi.OK
	}
	return nil, abi.ENOTSOCK
}

// doSocket is socket(domain, type, protocol, …).
func doSocket(c call) (int32, abi.Errno) { return c.p.Socket(c.u32(0), c.u32(1), c.u32(2)) }

// sock is a socket in a call.
type sock struct {
	*netstack.Socket
	file *memfs.File
}

// onSocket is for functions whose argument 0 is a socket's descriptor.
func onSocket(f func(call, sock) (int32, abi.Errno)) func(call) (int32, abi.Errno) {
	return func(c call) (int32, abi.Errno) {
		s, errno := c.p.SocketOf(c.i32(0))
		if errno != abi.OK {
			return 0, errno
		}
		file, _ := c.p.fds.get(c.i32(0))
		return f(c, sock{s, file})
	}
}

// retry calls try until it has an answer other than EAGAIN, after each time that
// the socket is ready; with nonblock only once. try does not wait. limit is
// SO_RCVTIMEO or SO_SNDTIMEO.
func (c call) retry(s sock, events abi.Events, limit time.Duration, nonblock bool, try func() (int, abi.Errno)) (int32, abi.Errno) {
	for {
		n, errno := try()
		if errno != abi.EAGAIN || nonblock || s.file.Flags()&abi.O_NONBLOCK != 0 {
			return int32(n), errno
		}
		if _, errno := c.waiting(func(ctx context.Context) (int, abi.Errno) { return 0, s.Wait(ctx, events, limit) }); errno != abi.OK {
			return 0, errno
		}
	}
}

// doBind is bind(fd, *addr, len).
func doBind(c call, s sock) (int32, abi.Errno) {
	a, errno := c.address(s, 1, 2)
	if errno != abi.OK {
		return 0, errno
	}
	if s.Domain != abi.AF_UNIX || a.Path == "" || a.Path[0] == 0 {
		return 0, s.Bind(a)
	}
	switch errno := c.p.fs.Mknod(c.p.cwd, a.Path, abi.S_IFSOCK|0o777&^c.p.umask); errno {
	case abi.OK:
	case abi.EEXIST:
		return 0, abi.EADDRINUSE
	default:
		return 0, errno
	}
	if a.Node, errno = c.p.fs.Lookup(c.p.cwd, a.Path, false); errno == abi.OK {
		errno = s.Bind(a)
	}
	if errno != abi.OK {
		c.p.fs.Unlink(c.p.cwd, a.Path)
	}
	return 0, errno
}

// doListen is listen(fd, backlog).
func doListen(c call, s sock) (int32, abi.Errno) { return 0, s.Listen(c.i32(1)) }

// doConnect is connect(fd, *addr, len).
func doConnect(c call, s sock) (int32, abi.Errno) {
	a, errno := c.destination(s, 1, 2)
	if errno != abi.OK {
		return 0, errno
	}
	if admit := s.Admitter(a); admit != nil {
		// The program stands still meanwhile, so that its own time limits do.
		if _, errno := c.waiting(func(ctx context.Context) (int, abi.Errno) { admit(ctx); return 0, abi.OK }); errno != abi.OK {
			return 0, errno
		}
	}
	if errno = s.Connect(c.ctx, a); errno != abi.EINPROGRESS {
		return 0, errno
	}
	if s.file.Flags()&abi.O_NONBLOCK != 0 {
		if s.Domain == abi.AF_UNIX {
			errno = abi.EAGAIN // as Linux, where the backlog is full
		}
		return 0, errno
	}
	_, errno = c.waiting(func(ctx context.Context) (int, abi.Errno) {
		return 0, s.Wait(ctx, abi.POLLOUT, s.SendLimit())
	})
	switch errno {
	case abi.OK:
		errno = s.Connected()
	case abi.EAGAIN:
		errno = abi.EINPROGRESS
	}
	return 0, errno
}

// doAccept4 is accept4(fd, *addr, *len, flags).
func doAccept4(c call, s sock) (int32, abi.Errno) {
	var peer *netstack.Socket
	var from netstack.Addr
	if _, errno := c.retry(s, abi.POLLIN, s.ReceiveLimit(), false, func() (n int, errno abi.Errno) {
		peer, from, errno = s.Accept()
		return 0, errno
	}); errno != abi.OK {
		return 0, errno
	}
	if errno := c.putAddress(1, 2, from); errno != abi.OK {
		peer.Close()
		return 0, errno
	}
	return c.p.addSocket(peer, c.u32(3))
}

// doGetsockname is getsockname(fd, *addr, *len).
func doGetsockname(c call, s sock) (int32, abi.Errno) { return 0, c.putAddress(1, 2, s.Name()) }

// doGetpeername is getpeername(fd, *addr, *len).
func doGetpeername(c call, s sock) (int32, abi.Errno) {
	a, errno := s.Peer()
	if errno != abi.OK {
		return 0, errno
	}
	return 0, c.putAddress(1, 2, a)
}

// doGetsockopt is getsockopt(fd, level, option, *value, *len).
func doGetsockopt(c call, s sock) (int32, abi.Errno) {
	room, ok := c.mem.Uint32(c.u32(4))
	if !ok {
		return 0, abi.EFAULT
	}
	if int32(room) < 0 {
		return 0, abi.EINVAL
	}
	v, errno := s.Option(c.u32(1), c.u32(2))
	if errno != abi.OK {
		return 0, errno
	}
	return 0, c.putSized(c.u32(3), c.u32(4), v[:min(len(v), int(room))])
}

// doTryShutdown is _try_shutdown(fd, how, *result): Pyodide asks it first for its
// sockets on Node, and the system call behind it is a stub. It reports whether
// the descriptor is a socket.
func doTryShutdown(c call) uint64 {
	s, errno := c.p.SocketOf(c.i32(0))
	if errno == abi.OK {
		errno = s.Shutdown(c.u32(1))
	}
	if !c.mem.PutUint32(c.u32(2), uint32(-int32(errno))) {
		return 0
	}
	return 1
}

// putSized writes what fits of v into a buffer whose size is at sizeAt, and
// v's own size there.
func (c call) putSized(addr, sizeAt uint32, v []byte) abi.Errno {
	room, ok := c.mem.Uint32(sizeAt)
	if !ok {
		return abi.EFAULT
	}
	if int32(room) < 0 {
		return abi.EINVAL
	}
	if !c.mem.Put(addr, v[:min(len(v), int(room))]) {
		return abi.EFAULT
	}
	return fault(c.mem.PutUint32(sizeAt, uint32(len(v))))
}

// address decodes the address of which arguments at and size are the place and
// the length.
func (c call) address(s sock, at, size int) (netstack.Addr, abi.Errno) {
	if c.u32(size) > layout.SockaddrMax {
		return netstack.Addr{}, abi.EINVAL
	}
	b, ok := c.mem.Bytes(c.u32(at), c.u32(size))
	if !ok {
		return netstack.Addr{}, abi.EFAULT
	}
	a, errno := layout.DecodeSockaddr(b)
	if a.Family == abi.AF_INET && s.Domain != abi.AF_INET {
		var known bool
		if a, known = c.p.aliases.real(a); !known {
			return netstack.Addr{}, abi.EAFNOSUPPORT
		}
	}
	return netstack.Addr{Sockaddr: a}, errno
}

// destination is address, with the file that a path names.
func (c call) destination(s sock, at, size int) (netstack.Addr, abi.Errno) {
	a, errno := c.address(s, at, size)
	if errno != abi.OK || a.Family != abi.AF_UNIX || a.Path == "" || a.Path[0] == 0 {
		return a, errno
	}
	if a.Node, errno = c.p.fs.Lookup(c.p.cwd, a.Path, true); errno == abi.OK && a.Node.Type() != abi.S_IFSOCK {
		errno = abi.ECONNREFUSED
	}
	return a, errno
}

// putAddress writes an address, of which arguments at and size are the place and
// where its length is, unless the place is 0.
func (c call) putAddress(at, size int, a netstack.Addr) abi.Errno {
	if c.u32(at) == 0 {
		return abi.OK
	}
	room, ok := c.mem.Uint32(c.u32(size))
	if !ok {
		return abi.EFAULT
	}
	return c.putSized(c.u32(at), c.u32(size), c.p.encode(a, room))
}

// encode encodes an address for a buffer of that size; none has no bytes.
func (p *Process) encode(a netstack.Addr, room uint32) []byte {
	switch {
	case a.Family == 0:
		return nil
	case a.Family != abi.AF_INET && room == layout.SockaddrInSize:
		return layout.EncodeSockaddr(p.aliases.of(a.Sockaddr))
	}
	return layout.EncodeSockaddr(a.Sockaddr)
}

var le = binary.LittleEndian
