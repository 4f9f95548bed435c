package emscripten

import (
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// doFcntl64 is fcntl64(fd, command, *argument). Locks of a file's ranges succeed and
// exclude nobody; those of flock, which never gets here, do.
func doFcntl64(c call) (int32, abi.Errno) {
	fd := c.p.fds.at(c.i32(0))
	if fd == nil {
		return 0, abi.EBADF
	}
	var arg uint32
	command := c.i32(1)
	switch command {
	case abi.F_DUPFD, abi.F_DUPFD_CLOEXEC, abi.F_SETFD, abi.F_SETFL, abi.F_SETPIPE_SZ, abi.F_GETLK, abi.F_OFD_GETLK:
		var errno abi.Errno
		if arg, errno = c.vararg(c.u32(2)); errno != abi.OK {
			return 0, errno
		}
	}
	switch command {
	case abi.F_DUPFD, abi.F_DUPFD_CLOEXEC:
		if int32(arg) < 0 || int(arg) >= c.p.fds.max {
			return 0, abi.EINVAL
		}
		return c.p.fds.add(fd.file.Ref(), int(arg), command == abi.F_DUPFD_CLOEXEC)
	case abi.F_GETFD:
		if fd.cloexec {
			return abi.FD_CLOEXEC, abi.OK
		}
		return 0, abi.OK
	case abi.F_SETFD:
		fd.cloexec = arg&abi.FD_CLOEXEC != 0
		return 0, abi.OK
	case abi.F_GETFL:
		return int32(fd.file.Flags()), abi.OK
	case abi.F_SETFL:
		if fd.file.Flags()&abi.O_PATH != 0 {
			return 0, abi.EBADF
		}
		fd.file.SetFlags(arg)
		return 0, abi.OK
	case abi.F_GETPIPE_SZ, abi.F_SETPIPE_SZ:
		return pipeSize(fd.file, command, arg)
	case abi.F_GETLK, abi.F_OFD_GETLK:
		return 0, c.unlocked(arg)
	case abi.F_SETLK, abi.F_SETLKW, abi.F_OFD_SETLK, abi.F_OFD_SETLKW:
		return 0, abi.OK
	case abi.F_GETOWN, abi.F_SETOWN:
		return 0, abi.OK
	}
	return 0, abi.EINVAL
}

// pipeSize returns the size of a pipe, which is fixed: a smaller one is granted, as
// Linux may round up, and a larger one refused as beyond the user's limit.
func pipeSize(f *memfs.File, command int32, wanted uint32) (int32, abi.Errno) {
	p, ok := f.Stream().(interface{ Capacity() int })
	switch {
	case !ok:
		return 0, abi.EBADF
	case command == abi.F_SETPIPE_SZ && int32(wanted) <= 0:
		return 0, abi.EINVAL
	case command == abi.F_SETPIPE_SZ && int64(wanted) > int64(p.Capacity()):
		return 0, abi.EPERM
	}
	return int32(p.Capacity()), abi.OK
}

// unlocked marks the struct flock at addr as not locked.
//
//	0        2          4     8        16     24
//	| type u16 | whence | pad | start | len | pid |
func (c call) unlocked(addr uint32) abi.Errno {
	b, ok := c.mem.Bytes(addr, 2)
	if ok {
		b[0], b[1] = abi.F_UNLCK, 0
	}
	return fault(ok)
}

// fionclex is the request that abi has no use for.
const fionclex = 0x5450

// doIoctl is ioctl(fd, request, *argument). Nothing is a terminal.
func doIoctl(c call) (int32, abi.Errno) {
	fd := c.p.fds.at(c.i32(0))
	if fd == nil {
		return 0, abi.EBADF
	}
	switch request := c.u32(1); request {
	case abi.FIOCLEX, fionclex:
		fd.cloexec = request == abi.FIOCLEX
		return 0, abi.OK
	case abi.FIONBIO:
		on, errno := c.pointee(c.u32(2))
		if errno != abi.OK {
			return 0, errno
		}
		flags := fd.file.Flags() &^ abi.O_NONBLOCK
		if on != 0 {
			flags |= abi.O_NONBLOCK
		}
		fd.file.SetFlags(flags)
		return 0, abi.OK
	case abi.FIONREAD:
		return 0, c.fionread()
	case abi.TCGETS, abi.TCSETS, abi.TCSETSW, abi.TCSETSF, abi.TCGETA, abi.TCSETA, abi.TCSETAW,
		abi.TCSETAF, abi.TCFLSH, abi.TIOCGPGRP, abi.TIOCSPGRP, abi.TIOCGWINSZ, abi.TIOCSWINSZ:
		return 0, abi.ENOTTY
	}
	return 0, abi.EINVAL
}

// pointee reads the int that a variable argument points to.
func (c call) pointee(varargs uint32) (uint32, abi.Errno) {
	addr, errno := c.vararg(varargs)
	if errno != abi.OK {
		return 0, errno
	}
	return c.vararg(addr)
}

// fionread stores how many bytes of a regular file are left to read, or wait in a
// socket or a pipe.
func (c call) fionread() abi.Errno {
	f, errno := c.file(0)
	if errno != abi.OK {
		return errno
	}
	addr, errno := c.vararg(c.u32(2))
	if errno != abi.OK {
		return errno
	}
	if s, ok := f.Stream().(interface{ Available() int }); ok {
		return fault(c.mem.PutUint32(addr, uint32(s.Available())))
	}
	st := f.Stat()
	if st.Mode&abi.S_IFMT != abi.S_IFREG {
		return abi.ENOTTY
	}
	pos, errno := f.SeekTo(0, abi.SEEK_CUR)
	if errno != abi.OK {
		return errno
	}
	return fault(c.mem.PutUint32(addr, uint32(min(max(st.Size-pos, 0), 1<<31-1))))
}
