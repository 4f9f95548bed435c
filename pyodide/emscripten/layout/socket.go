package layout

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"coderunner/internal/machine/abi"
)

// Sizes of the structs of sockets.
const (
	CmsghdrSize     = 12
	MsghdrSize      = 28
	AddrinfoSize    = 32
	SockaddrMax     = 128 // struct sockaddr_storage
	SockaddrInSize  = 16
	sockaddrIn6Size = 28
	sunPathMax      = 108
)

// DecodeSockaddr decodes the address in all of b:
//
//	0            2         4          8          24      28
//	| family u16 | port BE | addr     |                     AF_INET
//	| family u16 | port BE | flowinfo | addr     | scope |  AF_INET6
//	| family u16 | path, to a NUL or the end                AF_UNIX
func DecodeSockaddr(b []byte) (abi.Sockaddr, abi.Errno) {
	if len(b) < 2 || len(b) > SockaddrMax {
		return abi.Sockaddr{}, abi.EINVAL
	}
	a := abi.Sockaddr{Family: uint32(le.Uint16(b))}
	switch a.Family {
	case abi.AF_INET:
		if len(b) < SockaddrInSize {
			return abi.Sockaddr{}, abi.EINVAL
		}
		a.IP = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:])), binary.BigEndian.Uint16(b[2:]))
	case abi.AF_INET6:
		if len(b) < sockaddrIn6Size {
			return abi.Sockaddr{}, abi.EINVAL
		}
		a.IP = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:])), binary.BigEndian.Uint16(b[2:]))
		a.Flow, a.Scope = le.Uint32(b[4:]), le.Uint32(b[24:])
	case abi.AF_UNIX:
		a.Path = string(b[2:])
		if len(a.Path) > sunPathMax {
			return abi.Sockaddr{}, abi.EINVAL
		}
		if a.Path != "" && a.Path[0] != 0 {
			a.Path, _, _ = strings.Cut(a.Path, "\x00")
		}
	case abi.AF_UNSPEC:
	default:
		return abi.Sockaddr{}, abi.EAFNOSUPPORT
	}
	return a, abi.OK
}

// EncodeSockaddr returns what DecodeSockaddr decodes.
func EncodeSockaddr(a abi.Sockaddr) []byte {
	b := le.AppendUint16(nil, uint16(a.Family))
	switch a.Family {
	case abi.AF_INET:
		b = binary.BigEndian.AppendUint16(b, a.IP.Port())
		ip := a.IP.Addr().Unmap()
		if !ip.Is4() {
			ip = netip.IPv4Unspecified()
		}
		return append(append(b, ip.AsSlice()...), make([]byte, 8)...)
	case abi.AF_INET6:
		b = binary.BigEndian.AppendUint16(b, a.IP.Port())
		b = le.AppendUint32(b, a.Flow)
		ip := a.IP.Addr()
		if !ip.IsValid() {
			ip = netip.IPv6Unspecified()
		}
		to := ip.As16()
		return le.AppendUint32(append(b, to[:]...), a.Scope)
	case abi.AF_UNIX:
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
