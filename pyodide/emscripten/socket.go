package emscripten

import (
	"context"
	"encoding/binary"
	"net/netip"

	"coderunner/pyodide/abi"
	"coderunner/pyodide/memfs"
)

// Numbers of socket(2) and getsockopt(2).
const (
	afUnix, afInet, afInet6 = 1, 2, 10
	sockStream, sockDgram   = 1, 2
	sockTypes               = 0xf
	sockNonblock            = 0o4000
	sockCloexec             = 0o2000000

	solSocket                          = 1
	soType, soError, soProto, soDomain = 3, 4, 38, 39
)

// socket is a socket that was made and can be asked what it is. It never has
// another end: there is no network. So programs that make one and do not use
// it work, and the others learn why they do not.
type socket struct{ domain, typ, protocol uint32 }

func (*socket) Read(context.Context, []byte, bool) (int, abi.Errno)  { return 0, abi.ENOTCONN }
func (*socket) Write(context.Context, []byte, bool) (int, abi.Errno) { return 0, abi.ENOTCONN }
func (*socket) Close() abi.Errno                                     { return abi.OK }

// Ready is what Linux says of a socket without another end.
func (*socket) Ready() abi.Events                   { return abi.POLLOUT | abi.POLLWRNORM | abi.POLLHUP }
func (*socket) Watch(chan<- struct{}) (stop func()) { return func() {} }

// doSocket is socket(domain, type, protocol, …).
func doSocket(c call) (int32, abi.Errno) {
	s := &socket{domain: c.u32(0), typ: c.u32(1) & sockTypes, protocol: c.u32(2)}
	switch {
	case s.domain != afUnix && s.domain != afInet && s.domain != afInet6:
		return 0, abi.EAFNOSUPPORT
	case s.typ != sockStream && s.typ != sockDgram:
		return 0, abi.ESOCKTNOSUPPORT
	case c.u32(1)&^(sockTypes|sockNonblock|sockCloexec) != 0:
		return 0, abi.EINVAL
	}
	flags := abi.O_RDWR
	if c.u32(1)&sockNonblock != 0 {
		flags |= abi.O_NONBLOCK
	}
	return c.p.fds.add(c.p.fs.NewFile(s, flags, abi.S_IFSOCK|0o777), 0, c.u32(1)&sockCloexec != 0)
}

// onSocket is for functions whose argument 0 is a socket's descriptor; ENOTSOCK
// for others.
func onSocket(f func(call, *socket) abi.Errno) func(call) abi.Errno {
	return onFile(func(c call, file *memfs.File) abi.Errno {
		if s, ok := file.Stream().(*socket); ok {
			return f(c, s)
		}
		return abi.ENOTSOCK
	})
}

// refused is for functions that would reach the network. EACCES becomes
// Python's PermissionError, which is what it is: the program may not.
func refused(call, *socket) abi.Errno { return abi.EACCES }

// unconnected is for functions that need another end.
func unconnected(call, *socket) abi.Errno { return abi.ENOTCONN }

// doGetsockname is getsockname(fd, *addr, *len): the address that an unbound
// socket has. As much as there is room for is written, len is what it wants.
func doGetsockname(c call, s *socket) abi.Errno {
	addr := make([]byte, map[uint32]int{afUnix: 2, afInet: 16, afInet6: 28}[s.domain])
	binary.LittleEndian.PutUint16(addr, uint16(s.domain))
	return c.putSized(c.u32(1), c.u32(2), addr)
}

// doGetsockopt is getsockopt(fd, level, option, *value, *len).
func doGetsockopt(c call, s *socket) abi.Errno {
	if c.u32(1) != solSocket {
		return abi.ENOPROTOOPT
	}
	var v uint32
	switch c.u32(2) {
	case soType:
		v = s.typ
	case soDomain:
		v = s.domain
	case soProto:
		v = s.protocol
	case soError:
	default:
		return abi.ENOPROTOOPT
	}
	return c.putSized(c.u32(3), c.u32(4), binary.LittleEndian.AppendUint32(nil, v))
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

// Results of getaddrinfo and getnameinfo.
const (
	eaiFail   = -4
	eaiSystem = -11
)

// doGetaddrinfo is getaddrinfo(node, service, hints, *result), which answers
// as socket does.
func doGetaddrinfo(c call) uint64 {
	c.p.Guest.SetErrno(c.ctx, int32(abi.EACCES))
	return eai(eaiSystem)
}

// doGetnameinfo is getnameinfo(…).
func doGetnameinfo(call) uint64 { return eai(eaiFail) }

func eai(code int32) uint64 { return uint64(uint32(code)) }

// doLookupName is _emscripten_lookup_name(name) of gethostbyname: the address
// in network order. Only a name that is an address has one; for others the
// answer is 0.0.0.0, as there is no way to say no.
func doLookupName(c call) uint64 {
	name, _, ok := c.mem.CString(c.u32(0), 255)
	if !ok {
		return 0
	}
	addr, err := netip.ParseAddr(name)
	if err != nil || !addr.Is4() {
		return 0
	}
	b := addr.As4()
	return uint64(binary.LittleEndian.Uint32(b[:]))
}
