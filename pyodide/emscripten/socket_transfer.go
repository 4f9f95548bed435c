package emscripten

import (
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/machine/netstack"
	"coderunner/pyodide/emscripten/layout"
)

// doSendto is sendto(fd, *data, n, flags, *addr, len).
func doSendto(c call, s sock) (int32, abi.Errno) {
	var to *netstack.Addr
	if c.u32(4) != 0 && s.Type != abi.SOCK_STREAM {
		a, errno := c.destination(s, 4, 5)
		if errno != abi.OK {
			return 0, errno
		}
		to = &a
	}
	return c.send(s, c.u32(3), to, nil, func() ([][]byte, abi.Errno) {
		b, ok := c.mem.Bytes(c.u32(1), min(c.u32(2), countMax))
		return [][]byte{b}, fault(ok)
	})
}

// send sends what data returns: all of it, waiting for room, as a blocking
// socket does. data is called anew after each wait, since memory may have moved.
func (c call) send(s sock, flags uint32, to *netstack.Addr, files []*memfs.File, data func() ([][]byte, abi.Errno)) (int32, abi.Errno) {
	if flags&abi.MSG_OOB != 0 && (s.Type != abi.SOCK_STREAM || s.Domain == abi.AF_UNIX) {
		return 0, abi.EOPNOTSUPP // of TCP, urgent data is data like other (RFC 6093)
	}
	done, size := 0, 0
	_, errno := c.retry(s, abi.POLLOUT, s.SendLimit(), flags&abi.MSG_DONTWAIT != 0, func() (int, abi.Errno) {
		bufs, errno := data()
		if errno != abi.OK {
			return 0, errno
		}
		size = 0
		for _, b := range bufs {
			size += len(b)
		}
		n, errno := s.Send(c.ctx, netstack.Message{Data: skip(bufs, done), To: to, Files: files})
		if errno == abi.OK {
			files = nil
		}
		done += n
		if errno == abi.OK && s.Type == abi.SOCK_STREAM && done < size {
			errno = abi.EAGAIN
		}
		return done, errno
	})
	for _, f := range files {
		f.Close()
	}
	if done > 0 {
		errno = abi.OK
	}
	return int32(done), errno
}

// skip returns the buffers without their first n bytes.
func skip(bufs [][]byte, n int) [][]byte {
	for len(bufs) > 0 && n >= len(bufs[0]) && n > 0 {
		n -= len(bufs[0])
		bufs = bufs[1:]
	}
	if n > 0 && len(bufs) > 0 {
		bufs = append([][]byte{bufs[0][n:]}, bufs[1:]...)
	}
	return bufs
}

// doRecvfrom is recvfrom(fd, *data, n, flags, *addr, *len).
func doRecvfrom(c call, s sock) (int32, abi.Errno) {
	r, n, errno := c.receive(s, c.u32(3), func() ([][]byte, abi.Errno) {
		b, ok := c.mem.Bytes(c.u32(1), min(c.u32(2), countMax))
		return [][]byte{b}, fault(ok)
	})
	for _, f := range r.Files {
		f.Close()
	}
	if errno == abi.OK {
		errno = c.putAddress(4, 5, r.From)
	}
	return n, errno
}

// receive receives into what bufs returns, which is called anew after each wait.
func (c call) receive(s sock, flags uint32, bufs func() ([][]byte, abi.Errno)) (r netstack.Received, n int32, errno abi.Errno) {
	if flags&abi.MSG_OOB != 0 {
		return r, 0, abi.EINVAL
	}
	all := flags&(abi.MSG_WAITALL|abi.MSG_PEEK) == abi.MSG_WAITALL && s.Type == abi.SOCK_STREAM
	done := 0
	n, errno = c.retry(s, abi.POLLIN, s.ReceiveLimit(), flags&abi.MSG_DONTWAIT != 0, func() (int, abi.Errno) {
		room, errno := bufs()
		if errno != abi.OK {
			return 0, errno
		}
		room = skip(room, done)
		if size := 0; s.Type == abi.SOCK_STREAM {
			for _, b := range room {
				size += len(b)
			}
			if size == 0 {
				return done, abi.OK
			}
		}
		part, errno := s.Receive(room, flags)
		part.Files = append(r.Files, part.Files...)
		r = part
		done += part.N
		if all && errno == abi.OK && part.N > 0 {
			errno = abi.EAGAIN // until the room is filled
		}
		return done, errno
	})
	if done > 0 {
		n, errno = int32(done), abi.OK
	}
	if flags&abi.MSG_TRUNC != 0 && r.Size > 0 {
		n = int32(r.Size)
	}
	return r, n, errno
}

// message decodes the struct msghdr that argument 1 points to.
func (c call) message() (m layout.Msghdr, errno abi.Errno) {
	b, ok := c.mem.Bytes(c.u32(1), layout.MsghdrSize)
	if !ok {
		return m, abi.EFAULT
	}
	if m = layout.DecodeMsghdr(b); m.IovLen > iovMax {
		return m, abi.EMSGSIZE
	}
	return m, abi.OK
}

// with returns the call with other arguments.
func (c call) with(args ...uint32) call {
	c.stack = make([]uint64, len(args))
	for i, a := range args {
		c.stack[i] = uint64(a)
	}
	return c
}

// controlMax bounds what is sent beside the data, in bytes: the most files that
// may be sent at once take less.
const controlMax = 4096

// doSendmsg is sendmsg(fd, *message, flags).
func doSendmsg(c call, s sock) (int32, abi.Errno) {
	m, errno := c.message()
	if errno != abi.OK {
		return 0, errno
	}
	var to *netstack.Addr
	if m.Name != 0 && m.NameLen > 0 && s.Type != abi.SOCK_STREAM {
		a, errno := c.with(m.Name, m.NameLen).destination(s, 0, 1)
		if errno != abi.OK {
			return 0, errno
		}
		to = &a
	}
	if _, errno := c.with(m.Iov, m.IovLen).iovecs(0, 1); errno != abi.OK {
		return 0, errno
	}
	files, errno := c.filesAlong(m)
	if errno != abi.OK {
		return 0, errno
	}
	return c.send(s, c.u32(2), to, files, func() ([][]byte, abi.Errno) { return c.with(m.Iov, m.IovLen).iovecs(0, 1) })
}

// filesAlong returns references of the files whose descriptors are sent along,
// in control messages:
//
//	0     4       8      12
//	| len | level | type | data … | to a multiple of 4
func (c call) filesAlong(m layout.Msghdr) (files []*memfs.File, errno abi.Errno) {
	if m.Control == 0 || m.ControlLen == 0 {
		return nil, abi.OK
	}
	if m.ControlLen > controlMax {
		return nil, abi.ENOBUFS
	}
	b, ok := c.mem.Bytes(m.Control, m.ControlLen)
	if !ok {
		return nil, abi.EFAULT
	}
	defer func() {
		if errno != abi.OK {
			for _, f := range files {
				f.Close()
			}
			files = nil
		}
	}()
	for len(b) >= layout.CmsghdrSize {
		size := le.Uint32(b)
		if size < layout.CmsghdrSize || size > uint32(len(b)) {
			return files, abi.EINVAL
		}
		if le.Uint32(b[4:]) == abi.SOL_SOCKET && le.Uint32(b[8:]) == abi.SCM_RIGHTS {
			for fds := b[layout.CmsghdrSize:size]; len(fds) >= 4; fds = fds[4:] {
				f, errno := c.p.fds.get(int32(le.Uint32(fds)))
				if errno != abi.OK {
					return files, errno
				}
				files = append(files, f.Ref())
			}
		}
		b = b[min(uint32(len(b)), (size+3)&^3):]
	}
	return files, abi.OK
}

// doRecvmsg is recvmsg(fd, *message, flags).
func doRecvmsg(c call, s sock) (int32, abi.Errno) {
	m, errno := c.message()
	if errno != abi.OK {
		return 0, errno
	}
	if _, ok := c.mem.Bytes(m.Control, m.ControlLen); m.Control != 0 && !ok {
		return 0, abi.EFAULT
	}
	r, n, errno := c.receive(s, c.u32(2), func() ([][]byte, abi.Errno) { return c.with(m.Iov, m.IovLen).iovecs(0, 1) })
	if errno != abi.OK {
		return n, errno
	}
	flags := uint32(0)
	if r.Size > r.N {
		flags |= abi.MSG_TRUNC
	}
	used, cut := c.putFiles(m, r.Files, c.u32(2)&abi.MSG_CMSG_CLOEXEC != 0)
	if cut {
		flags |= abi.MSG_CTRUNC
	}
	name := c.p.encode(r.From, m.NameLen)
	if m.Name != 0 && !c.mem.Put(m.Name, name[:min(len(name), int(m.NameLen))]) {
		return 0, abi.EFAULT
	}
	at := c.u32(1)
	return n, fault(c.mem.PutUint32(at+4, uint32(len(name))) && c.mem.PutUint32(at+20, used) && c.mem.PutUint32(at+24, flags))
}

// putFiles gives descriptors to files that came along and writes them as a
// control message. It returns its size, and whether there was no room for all.
func (c call) putFiles(m layout.Msghdr, files []*memfs.File, cloexec bool) (used uint32, cut bool) {
	if len(files) == 0 {
		return 0, false
	}
	room := 0
	if m.Control != 0 && m.ControlLen >= layout.CmsghdrSize {
		room = min(int(m.ControlLen-layout.CmsghdrSize)/4, len(files))
	}
	b := make([]byte, layout.CmsghdrSize)
	for i, f := range files {
		if i >= room {
			f.Close()
			continue
		}
		fd, errno := c.p.fds.add(f, 0, cloexec)
		if errno != abi.OK {
			room = i // add has closed it
			continue
		}
		b = le.AppendUint32(b, uint32(fd))
	}
	if len(b) == layout.CmsghdrSize {
		return 0, true
	}
	le.PutUint32(b, uint32(len(b)))
	le.PutUint32(b[4:], abi.SOL_SOCKET)
	le.PutUint32(b[8:], abi.SCM_RIGHTS)
	c.mem.Put(m.Control, b)
	return uint32(len(b)), room < len(files)
}
