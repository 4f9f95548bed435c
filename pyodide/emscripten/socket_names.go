package emscripten

import (
	"context"
	"encoding/binary"
	"strconv"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/netstack"
	"coderunner/pyodide/emscripten/layout"
)

// Results of getaddrinfo and getnameinfo.
const (
	eaiNoName   = -2
	eaiFail     = -4
	eaiFamily   = -6
	eaiMemory   = -10
	eaiSystem   = -11
	eaiOverflow = -12
)

// Names are at most this long, in bytes.
const (
	hostMax    = 255
	serviceMax = 32
)

// doGetaddrinfo is getaddrinfo(node, service, hints, *result). The result is the
// first address only: the guest's freeaddrinfo frees no list. Python programs
// get all of them by another way.
func doGetaddrinfo(c call) uint64 {
	node, ok1 := c.optional(0, hostMax)
	service, ok2 := c.optional(1, serviceMax)
	hint := netstack.Hint{}
	if at := c.u32(2); at != 0 {
		b, ok := c.mem.Bytes(at, 16)
		if !ok {
			return eai(eaiFail)
		}
		hint = netstack.Hint{Flags: le.Uint32(b), Family: le.Uint32(b[4:]), Type: le.Uint32(b[8:]), Protocol: le.Uint32(b[12:])}
	}
	if !ok1 || !ok2 || node == "" && service == "" {
		return eai(eaiNoName)
	}
	infos, failed := c.resolve(node, service, hint)
	switch {
	case failed != nil && failed.Refused:
		c.p.Guest.SetErrno(c.ctx, int32(abi.EACCES))
		return eai(eaiSystem)
	case failed != nil:
		return eai(failed.Code)
	}
	return eai(c.putInfo(infos[0]))
}

// resolve is netstack's, and waits.
func (c call) resolve(node, service string, hint netstack.Hint) (infos []netstack.Info, failed *netstack.NameError) {
	net := c.p.Sockets()
	_, errno := c.waiting(func(ctx context.Context) (int, abi.Errno) {
		if infos, failed = net.Resolve(ctx, node, service, hint); ctx.Err() != nil {
			return 0, abi.EINTR
		}
		return 0, abi.OK
	})
	if errno != abi.OK && failed == nil {
		failed = &netstack.NameError{Code: eaiFail}
	}
	return infos, failed
}

// putInfo makes a struct addrinfo and stores its address where argument 3 says:
//
//	0       4        8      12         16        20     24          28
//	| flags | family | type | protocol | addrlen | addr | canonname | next |
func (c call) putInfo(i netstack.Info) int32 {
	addr := layout.EncodeSockaddr(i.Addr)
	at := c.p.Guest.Malloc(c.ctx, layout.AddrinfoSize)
	addrAt := c.p.Guest.Malloc(c.ctx, uint32(len(addr)))
	b := make([]byte, layout.AddrinfoSize)
	for j, v := range []uint32{0, i.Addr.Family, i.Type, i.Protocol, uint32(len(addr)), addrAt} {
		le.PutUint32(b[4*j:], v)
	}
	if at == 0 || addrAt == 0 || !c.mem.Put(at, b) || !c.mem.Put(addrAt, addr) || !c.mem.PutUint32(c.u32(3), at) {
		return eaiMemory
	}
	return 0
}

// optional reads the string at argument i; "" for address 0.
func (c call) optional(i int, most uint32) (string, bool) {
	if c.u32(i) == 0 {
		return "", true
	}
	s, long, ok := c.mem.CString(c.u32(i), most)
	return s, ok && !long
}

// The flags of getnameinfo(3).
const (
	niNumericHost = 0x1
	niNumericServ = 0x2
	niNameReqd    = 0x8
	niDgram       = 0x10
)

// doGetnameinfo is getnameinfo(addr, len, host, hostlen, service, servicelen,
// flags).
func doGetnameinfo(c call) uint64 {
	b, ok := c.mem.Bytes(c.u32(0), min(c.u32(1), layout.SockaddrMax))
	if !ok {
		return eai(eaiFail)
	}
	a, errno := layout.DecodeSockaddr(b)
	if errno != abi.OK || a.Family == abi.AF_UNIX || a.Family == abi.AF_UNSPEC {
		return eai(eaiFamily)
	}
	host, service, code := NameInfo(a, c.u32(6))
	if code != 0 {
		return eai(code)
	}
	for i, text := range map[int]string{2: host, 4: service} {
		at, room := c.u32(i), c.u32(i+1)
		if at == 0 || room == 0 {
			continue
		}
		if uint32(len(text)) >= room {
			return eai(eaiOverflow)
		}
		if _, ok := c.mem.PutCString(at, room, text); !ok {
			return eai(eaiFail)
		}
	}
	return 0
}

// NameInfo is getnameinfo(3): the names of an address of IP and its port, or one
// of the EAI numbers.
func NameInfo(a abi.Sockaddr, flags uint32) (host, service string, code int32) {
	if flags&niNumericHost == 0 {
		host = netstack.Reverse(a.IP.Addr())
	}
	if host == "" {
		if flags&niNameReqd != 0 {
			return "", "", eaiNoName
		}
		host = a.IP.Addr().String()
	}
	if flags&niNumericServ == 0 {
		protocol := "tcp"
		if flags&niDgram != 0 {
			protocol = "udp"
		}
		service = netstack.ServiceName(a.IP.Port(), protocol)
	}
	if service == "" {
		service = strconv.Itoa(int(a.IP.Port()))
	}
	return host, service, 0
}

func eai(code int32) uint64 { return uint64(uint32(code)) }

// doLookupName is _emscripten_lookup_name(name) of gethostbyname: the address
// in network order. As there is no way to say no, an unknown name is 0.0.0.0.
func doLookupName(c call) uint64 {
	name, _, ok := c.mem.CString(c.u32(0), hostMax)
	if !ok {
		return 0
	}
	infos, failed := c.resolve(name, "", netstack.Hint{Family: abi.AF_INET, Type: abi.SOCK_STREAM})
	if failed != nil {
		return 0
	}
	b := infos[0].Addr.IP.Addr().As4()
	return uint64(binary.LittleEndian.Uint32(b[:]))
}
