package emscripten

import (
	"encoding/binary"
	"net/netip"

	"coderunner/pyodide/abi"
)

// doSocketCall is every socket function that takes a descriptor. As none is a
// socket, the answer is ENOTSOCK or EBADF.
func doSocketCall(c call) abi.Errno {
	if _, errno := c.file(0); errno != abi.OK {
		return errno
	}
	return abi.ENOTSOCK
}

// doSocket is socket(domain, type, protocol, …). EACCES becomes Python's
// PermissionError, which is what it is: the program may not use the network.
func doSocket(call) abi.Errno { return abi.EACCES }

// Results of getaddrinfo and getnameinfo.
const (
	eaiFail   = -4
	eaiSystem = -11
)

// doGetaddrinfo is getaddrinfo(node, service, hints, *result), which answers
// as socket does.
func doGetaddrinfo(c call) uint64 {
	if c.p.Guest.SetErrno == nil {
		return eai(eaiFail)
	}
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
