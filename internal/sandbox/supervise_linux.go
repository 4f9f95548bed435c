//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// supervised are the system calls that a supervisor makes for the process: those
// that name an address, listen, or end a connection (by which its bytes are
// counted). sendto is supervised when it has an address.
var supervised = []uint32{unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_CLOSE, unix.SYS_EXIT_GROUP}

// supervise adds what a supervised process must ask for, and which sockets it can
// have: those of TCP and UDP, of Unix, and for asking about interfaces. Others
// (SCTP, vsock) are connected by calls that nobody supervises.
func (p *program) supervise() {
	for _, number := range supervised {
		p.when(number, 1)
		p.answer(unix.SECCOMP_RET_USER_NOTIF)
	}
	const address = dataArgs + 8*4
	p.when(unix.SYS_SENDTO, 7)
	for _, half := range []uint32{address, address + 4} {
		p.load(half)
		p.unless(0, 1)
		p.answer(unix.SECCOMP_RET_USER_NOTIF)
	}
	p.answer(unix.SECCOMP_RET_ALLOW)

	p.when(unix.SYS_SOCKET, 22)
	p.load(dataArgs)
	p.when(unix.AF_UNIX, 1)
	p.answer(unix.SECCOMP_RET_ALLOW)
	p.when(unix.AF_NETLINK, 4)
	p.load(dataArgs + 16)
	p.when(unix.NETLINK_ROUTE, 1)
	p.answer(unix.SECCOMP_RET_ALLOW)
	p.fail(unix.EPROTONOSUPPORT)
	p.internet(unix.EAFNOSUPPORT)
}

// internet adds the answer to a call of socket whose domain is loaded: those of TCP and
// UDP are allowed, others fail, and of other domains with the given error.
func (p *program) internet(other unix.Errno) {
	p.unless(unix.AF_INET, 2)
	p.unless(unix.AF_INET6, 1)
	p.fail(other)
	p.load(dataArgs + 8)
	p.mask(0xf) // the rest are flags
	p.unless(unix.SOCK_STREAM, 2)
	p.unless(unix.SOCK_DGRAM, 1)
	p.fail(unix.EPROTONOSUPPORT)
	p.load(dataArgs + 16)
	p.unless(unix.IPPROTO_TCP, 3) // of which 0 stands for one
	p.unless(unix.IPPROTO_UDP, 2)
	p.unless(0, 1)
	p.fail(unix.EPROTONOSUPPORT)
	p.answer(unix.SECCOMP_RET_ALLOW)
}

// Calls are the supervised system calls of a process. One goroutine calls Next.
type Calls struct {
	file  *os.File
	pidfd int
	pid   int
	close sync.Once
}

// Call is a system call that a thread of the process waits in. Nothing of the
// process's memory that it points to can be trusted to stay as it is.
type Call struct {
	Number int
	Args   [6]uint64
	id     uint64
	calls  *Calls
}

// newCalls takes the listener of a stopped process, and closes it there.
func newCalls(s *stopped, listener int) (*Calls, error) {
	pidfd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		return nil, fmt.Errorf("open the process: %w", err)
	}
	fd, err := unix.PidfdGetfd(pidfd, listener, 0)
	if err == nil {
		// Not by close, which is supervised.
		if _, err = s.call(unix.SYS_CLOSE_RANGE, uintptr(listener), uintptr(listener), 0); err == nil {
			err = unix.SetNonblock(fd, true)
		}
		if err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		unix.Close(pidfd)
		return nil, fmt.Errorf("take over its system calls: %w", err)
	}
	return &Calls{file: os.NewFile(uintptr(fd), "system calls"), pidfd: pidfd, pid: s.pid}, nil
}

// Close lets go of the process: its supervised calls then fail with ENOSYS.
func (c *Calls) Close() {
	c.close.Do(func() {
		c.file.Close()
		unix.Close(c.pidfd)
	})
}

// notification and response are struct seccomp_notif and seccomp_notif_resp.
type notification struct {
	id     uint64
	pid    uint32
	flags  uint32
	number int32
	arch   uint32
	ip     uint64
	args   [6]uint64
}

type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

func ioctl(fd uintptr, request uint, arg unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, uintptr(request), uintptr(arg))
	return result(errno)
}

// Next waits for a call. The error is io.EOF's kind when the process has ended or
// Close was called.
func (c *Calls) Next() (*Call, error) {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var n notification
	var failed error
	for {
		n, failed = notification{}, nil
		err := raw.Read(func(fd uintptr) bool {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			switch _, err := unix.Poll(poll, 0); {
			case err != nil && !errors.Is(err, unix.EINTR):
				failed = err
			case poll[0].Revents&unix.POLLIN != 0:
				failed = ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
			case poll[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0:
				failed = os.ErrClosed
			default:
				return false
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		if errors.Is(failed, unix.ENOENT) || errors.Is(failed, unix.EINTR) {
			continue // the thread was killed meanwhile
		}
		if failed != nil {
			return nil, failed
		}
		return &Call{Number: int(n.number), Args: n.args, id: n.id, calls: c}, nil
	}
}

// respond answers. A thread that was killed or interrupted does not hear it.
func (c *Call) respond(r response) {
	r.id = c.id
	if raw, err := c.calls.file.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) })
	}
}

// Return makes the call return a value.
func (c *Call) Return(value int) { c.respond(response{value: int64(value)}) }

// Fail makes the call fail; no error makes it return 0.
func (c *Call) Fail(errno unix.Errno) { c.respond(response{errno: -int32(errno)}) }

// Continue has the kernel make the call, whose arguments in memory may have
// changed: it is for calls that are allowed whatever these are.
func (c *Call) Continue() { c.respond(response{flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}) }

// Replace puts a copy of our descriptor in the place of one of the process.
func (c *Call) Replace(number, fd int) error {
	const setNumber = 1 // SECCOMP_ADDFD_FLAG_SETFD
	add := struct {
		id                      uint64
		flags, from, to, flags2 uint32
	}{c.id, setNumber, uint32(fd), uint32(number), unix.O_CLOEXEC}
	raw, err := c.calls.file.SyscallConn()
	if err != nil {
		return err
	}
	if e := raw.Control(func(listener uintptr) {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(unsafe.Pointer(&add)))
		err = nil
		if errno != 0 {
			err = errno
		}
	}); e != nil {
		return e
	}
	return err
}

// valid reports whether the thread still waits, so that what was read was its own.
func (c *Call) valid() bool {
	valid := false
	if raw, err := c.calls.file.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			valid = ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&c.id)) == nil
		})
	}
	return valid
}

// Read copies memory of the process.
func (c *Call) Read(address uint64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	to := []unix.Iovec{{Base: &b[0]}}
	to[0].SetLen(len(b))
	n, err := unix.ProcessVMReadv(c.calls.pid, to, []unix.RemoteIovec{{Base: uintptr(address), Len: len(b)}}, 0)
	if err != nil || n != len(b) || !c.valid() {
		return unix.EFAULT
	}
	return nil
}

// Write changes memory of the process.
func (c *Call) Write(address uint64, b []byte) error {
	if !c.valid() || writeMemory(c.calls.pid, uintptr(address), b) != nil {
		return unix.EFAULT
	}
	return nil
}

// Descriptor returns a copy of a descriptor of the process. The caller closes it.
func (c *Calls) Descriptor(fd int) (int, error) { return unix.PidfdGetfd(c.pidfd, fd, 0) }

// Disconnect dissolves the association of a socket.
func Disconnect(fd int) error {
	unspecified := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&unspecified)), unsafe.Sizeof(unspecified))
	return result(errno)
}
