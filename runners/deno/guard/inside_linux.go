//go:build amd64 || arm64

package guard

import (
	"errors"
	"sync"

	"coderunner/internal/netpolicy"
	"coderunner/internal/sandbox"

	"golang.org/x/sys/unix"
)

// A process may have a network of its own, where its servers are for itself alone. A socket of
// such a network reaches nothing else, so the kernel may do with it whatever the process asks.
// Where it is to be connected to something outside, one of the network of the system that is
// connected takes its place.

// ours identifies our network namespace; 0 if the kernel does not tell.
var ours = sync.OnceValue(func() uint64 {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	cookie, _ := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	return cookie
})

// CanLeave reports whether processes may have networks of their own.
func CanLeave() bool { return ours() != 0 }

func isInside(fd int) bool {
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	return err == nil && cookie != ours()
}

// callInside makes a call on a socket of a network of the process's own.
func (g *Guard) callInside(run *netpolicy.Run, c *sandbox.Call, s socket, to address) error {
	if s.domain != unix.AF_INET && s.domain != unix.AF_INET6 {
		return unix.EACCES
	}
	switch {
	case c.Number == unix.SYS_LISTEN:
		return unix.Listen(s.fd, int(int32(c.Args[1])))
	case !to.inet() && to.family != unix.AF_UNSPEC:
		return unix.EAFNOSUPPORT
	case c.Number == unix.SYS_BIND:
		return unix.Bind(s.fd, to.sockaddr(s))
	case to.family == unix.AF_UNSPEC:
		return sandbox.Disconnect(s.fd)
	case !to.leadsOut():
		return unix.Connect(s.fd, to.sockaddr(s))
	}
	out := s
	out.inside = false
	kind := s.kind | unix.SOCK_CLOEXEC
	if s.nonblocking {
		kind |= unix.SOCK_NONBLOCK
	}
	var err error
	if out.fd, err = unix.Socket(s.domain, kind, 0); err != nil {
		return err
	}
	defer unix.Close(out.fd)
	connected := g.connect(run, out, to)
	if connected == nil || errors.Is(connected, unix.EINPROGRESS) {
		if err := c.Replace(s.number, out.fd); err != nil {
			return err
		}
	}
	return connected
}

// leadsOut reports whether an address is of something outside of the process's own network.
func (a address) leadsOut() bool {
	ip := a.at.Addr().Unmap()
	return !ip.IsLoopback() && !ip.IsUnspecified() || a.at.Port() == 53 && isNameServer(a.at.Addr())
}
