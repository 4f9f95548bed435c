package abi

import (
	"encoding/binary"
	"net/netip"
	"strings"
)

// Numbers of socket(2), of musl for Emscripten.
const (
	AF_UNSPEC uint32 = 0
	AF_UNIX   uint32 = 1
	AF_INET   uint32 = 2
	AF_INET6  uint32 = 10

	SOCK_STREAM    uint32 = 1
	SOCK_DGRAM     uint32 = 2
	SOCK_RAW       uint32 = 3
	SOCK_SEQPACKET uint32 = 5
	SOCK_NONBLOCK  uint32 = 0o4000
	SOCK_CLOEXEC   uint32 = 0o2000000

	IPPROTO_IP   uint32 = 0
	IPPROTO_TCP  uint32 = 6
	IPPROTO_UDP  uint32 = 17
	IPPROTO_IPV6 uint32 = 41

	MSG_OOB          uint32 = 0x1
	MSG_PEEK         uint32 = 0x2
	MSG_CTRUNC       uint32 = 0x8
	MSG_TRUNC        uint32 = 0x20
	MSG_DONTWAIT     uint32 = 0x40
	MSG_WAITALL      uint32 = 0x100
	MSG_CMSG_CLOEXEC uint32 = 0x40000000

	SHUT_RD   uint32 = 0
	SHUT_WR   uint32 = 1
	SHUT_RDWR uint32 = 2
)

// Options of getsockopt(2) and setsockopt(2), by level.
const (
	SOL_SOCKET uint32 = 1

	SO_REUSEADDR  uint32 = 2
	SO_TYPE       uint32 = 3
	SO_ERROR      uint32 = 4
	SO_BROADCAST  uint32 = 6
	SO_SNDBUF     uint32 = 7
	SO_RCVBUF     uint32 = 8
	SO_LINGER     uint32 = 13
	SO_REUSEPORT  uint32 = 15
	SO_PEERCRED   uint32 = 17
	SO_ACCEPTCONN uint32 = 30
	SO_PROTOCOL   uint32 = 38
	SO_DOMAIN     uint32 = 39
	SO_RCVTIMEO   uint32 = 66
	SO_SNDTIMEO   uint32 = 67

	TCP_MAXSEG     uint32 = 2
	IPV6_V6ONLY    uint32 = 26
	SCM_RIGHTS     uint32 = 1
	TimevalSize           = 16 // two i64
	LingerSize            = 8
	CmsghdrSize           = 12
	MsghdrSize            = 28
	AddrinfoSize          = 32
	SockaddrMax           = 128 // struct sockaddr_storage
	sunPathMax            = 108
	SockaddrInSize        = 16
	sockaddrIn6    uint32 = 28
)

// Sockaddr is the address of a socket.
type Sockaddr struct {
	Family uint32
	IP     netip.AddrPort // of AF_INET and AF_INET6; without a zone
	Flow   uint32         // of AF_INET6
	Scope  uint32
	Path   string // of AF_UNIX: "" for none; an abstract one begins with NUL
}

// DecodeSockaddr decodes the address in all of b:
//
//	0            2         4          8          24      28
//	| family u16 | port BE | addr     |                     AF_INET
//	| family u16 | port BE | flowinfo | addr     | scope |  AF_INET6
//	| family u16 | path, to a NUL or the end                AF_UNIX
func DecodeSockaddr(b []byte) (Sockaddr, Errno) {
	if len(b) < 2 || len(b) > SockaddrMax {
		return Sockaddr{}, EINVAL
	}
	a := Sockaddr{Family: uint32(le.Uint16(b))}
	switch a.Family {
	case AF_INET:
		if len(b) < SockaddrInSize {
			return Sockaddr{}, EINVAL
		}
		a.IP = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:])), binary.BigEndian.Uint16(b[2:]))
	case AF_INET6:
		if len(b) < int(sockaddrIn6) {
			return Sockaddr{}, EINVAL
		}
		a.IP = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:])), binary.BigEndian.Uint16(b[2:]))
		a.Flow, a.Scope = le.Uint32(b[4:]), le.Uint32(b[24:])
	case AF_UNIX:
		a.Path = string(b[2:])
		if len(a.Path) > sunPathMax {
			return Sockaddr{}, EINVAL
		}
		if a.Path != "" && a.Path[0] != 0 {
			a.Path, _, _ = strings.Cut(a.Path, "\x00")
		}
	case AF_UNSPEC:
	default:
		return Sockaddr{}, EAFNOSUPPORT
	}
	return a, OK
}

// Encode returns what DecodeSockaddr decodes.
func (a Sockaddr) Encode() []byte {
	b := le.AppendUint16(nil, uint16(a.Family))
	switch a.Family {
	case AF_INET:
		b = binary.BigEndian.AppendUint16(b, a.IP.Port())
		ip := a.IP.Addr().Unmap()
		if !ip.Is4() {
			ip = netip.IPv4Unspecified()
		}
		return append(append(b, ip.AsSlice()...), make([]byte, 8)...)
	case AF_INET6:
		b = binary.BigEndian.AppendUint16(b, a.IP.Port())
		b = le.AppendUint32(b, a.Flow)
		ip := a.IP.Addr()
		if !ip.IsValid() {
			ip = netip.IPv6Unspecified()
		}
		to := ip.As16()
		return le.AppendUint32(append(b, to[:]...), a.Scope)
	case AF_UNIX:
		b = append(b, a.Path...)
		if a.Path != "" && a.Path[0] != 0 && len(a.Path) < sunPathMax {
			b = append(b, 0)
		}
	}
	return b
}

// Msghdr is struct msghdr:
//
//	0      4         8     12       16        20           24      28
//	| name | namelen | iov | iovlen | control | controllen | flags |
type Msghdr struct {
	Name, NameLen, Iov, IovLen, Control, ControlLen, Flags uint32
}

// DecodeMsghdr reads the first MsghdrSize bytes of b.
func DecodeMsghdr(b []byte) Msghdr {
	_ = b[MsghdrSize-1]
	return Msghdr{
		le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:]),
		le.Uint32(b[16:]), le.Uint32(b[20:]), le.Uint32(b[24:]),
	}
}
