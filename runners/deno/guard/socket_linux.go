//go:build amd64 || arm64

package guard

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"coderunner/internal/netpolicy"

	"golang.org/x/sys/unix"
)

// socket is our copy of a socket of the process.
type socket struct {
	fd          int // ours
	number      int // theirs
	domain      int
	kind        int
	nonblocking bool
	inside      bool // it is in a network of the process's own, from which nothing leads out
}

// socket copies a descriptor, which must be a socket.
func (g *Guard) socket(number int) (s socket, err error) {
	s.number = number
	if s.fd, err = g.calls.Descriptor(number); err != nil {
		return s, unix.EBADF
	}
	if s.domain, err = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil {
		s.kind, err = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_TYPE)
	}
	if err != nil {
		unix.Close(s.fd)
		return s, unix.ENOTSOCK
	}
	flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0)
	s.nonblocking = err == nil && flags&unix.O_NONBLOCK != 0
	s.inside = isInside(s.fd)
	return s, nil
}

// network returns the word that package netpolicy has for the socket's protocol.
func (s socket) network() string {
	if s.kind == unix.SOCK_STREAM {
		return "tcp"
	}
	return "udp"
}

// errnoOf returns what the process gets for an error.
func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	var refused *netpolicy.Refused
	switch {
	case errors.As(err, &errno):
		return errno
	case errors.As(err, &refused):
		return unix.EACCES
	}
	return unix.EIO
}

// address is one that a process gave, read once.
type address struct {
	family int
	at     netip.AddrPort
	scope  uint32 // of a link-local address
}

func (a address) inet() bool { return a.at.IsValid() }

// readAddress reads a struct sockaddr. The kernel takes the lower half of length.
func readAddress(c memory, pointer, length uint64) (a address, err error) {
	length = uint64(uint32(length))
	if length < 2 || length > unix.SizeofSockaddrAny {
		return a, unix.EINVAL
	}
	b := make([]byte, length)
	if err := c.Read(pointer, b); err != nil {
		return a, err
	}
	return parseAddress(b)
}

// parseAddress parses a struct sockaddr of at least two bytes.
func parseAddress(b []byte) (a address, err error) {
	switch a.family = int(binary.NativeEndian.Uint16(b)); a.family {
	case unix.AF_INET:
		if len(b) < unix.SizeofSockaddrInet4 {
			return a, unix.EINVAL
		}
		a.at = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:]))
	case unix.AF_INET6:
		if len(b) < unix.SizeofSockaddrInet6-4 { // the scope was added later
			return a, unix.EINVAL
		}
		ip := netip.AddrFrom16([16]byte(b[8:24]))
		if len(b) >= unix.SizeofSockaddrInet6 {
			a.scope = binary.NativeEndian.Uint32(b[24:])
		}
		a.at = netip.AddrPortFrom(ip, binary.BigEndian.Uint16(b[2:]))
	}
	return a, nil
}

// sockaddr returns the address for a socket, which may be of the other family.
func (a address) sockaddr(s socket) unix.Sockaddr {
	ip, port := a.at.Addr(), int(a.at.Port())
	if s.domain == unix.AF_INET6 && a.family == unix.AF_INET {
		return &unix.SockaddrInet6{Port: port, Addr: ip.As16()}
	}
	if a.family == unix.AF_INET {
		return &unix.SockaddrInet4{Port: port, Addr: ip.As4()}
	}
	return &unix.SockaddrInet6{Port: port, Addr: ip.As16(), ZoneId: a.scope}
}

// localAddress returns what a socket is bound to.
func localAddress(fd int) (netip.AddrPort, error) {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, err
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)), nil
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port)), nil
	}
	return netip.AddrPort{}, unix.EINVAL
}
