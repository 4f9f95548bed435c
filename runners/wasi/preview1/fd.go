package preview1

import (
	"context"
	"math"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
)

const (
	iovMax    = 1024
	iovecSize = 8
	// transferMax is how much is moved between two looks at the context: the buffers of a
	// vector may be the same memory many times.
	transferMax = 16 << 20
	countMax    = 0x7ffff000 // the most that one call moves
)

// step moves bytes between a file and a buffer.
type step func(context.Context, []byte) (int, abi.Errno)

// vectored moves bytes between a file and the buffers of the vector of arguments 1 and 2;
// argument last is where the count goes.
func (c call) vectored(f *memfs.File, last int, op step) abi.Errno {
	n := c.u32(2)
	if n > iovMax {
		return abi.EINVAL
	}
	vector, ok := c.mem.Bytes(c.u32(1), n*iovecSize)
	if _, ok2 := c.mem.Bytes(c.u32(last), 4); !ok || !ok2 {
		return abi.EFAULT
	}
	var bufs [][]byte
	for ; len(vector) > 0; vector = vector[iovecSize:] {
		b, ok := c.mem.Bytes(le.Uint32(vector), le.Uint32(vector[4:]))
		if !ok {
			return abi.EFAULT
		}
		if len(b) > 0 {
			bufs = append(bufs, b)
		}
	}
	if bufs == nil {
		bufs = [][]byte{nil} // the descriptor must be good even so
	}
	total, errno := c.transfer(f, bufs, op)
	return c.result(last, uint32(total), errno)
}

// transfer moves bytes until a buffer is not filled. An error after the first byte is left
// for the next call to find; of a stream only one buffer is read into, for the next may wait.
func (c call) transfer(f *memfs.File, bufs [][]byte, op step) (total int, errno abi.Errno) {
	regular := f.Node() != nil && f.Node().Type() == abi.S_IFREG
	for _, b := range bufs {
		for {
			part := b[:min(len(b), transferMax, countMax-total)]
			var n int
			if regular {
				n, errno = op(c.ctx, part)
				c.check()
			} else {
				n, errno = c.waiting(func(ctx context.Context) (int, abi.Errno) { return op(ctx, part) })
			}
			total += n
			switch {
			case errno != abi.OK && total == 0:
				return 0, errno
			case errno != abi.OK || n < len(part) || total == countMax || !regular && f.Flags()&3 != abi.O_WRONLY:
				return total, abi.OK
			}
			if b = b[n:]; len(b) == 0 {
				break
			}
		}
	}
	return total, abi.OK
}

// fdRead is fd_read(fd, *iovec, n, *count), fdWrite fd_write of the same.
func fdRead(c call, f *memfs.File) abi.Errno { return c.vectored(f, 3, f.Read) }

func fdWrite(c call, f *memfs.File) abi.Errno {
	errno := c.vectored(f, 3, f.Write)
	if errno == abi.EPIPE {
		c.k.Kill(c.k.PID(), kernel.SIGPIPE)
		c.check()
	}
	return errno
}

// fdPread is fd_pread(fd, *iovec, n, offset, *count), fdPwrite fd_pwrite of the same.
func fdPread(c call, f *memfs.File) abi.Errno  { return c.positioned(f, f.Pread) }
func fdPwrite(c call, f *memfs.File) abi.Errno { return c.positioned(f, f.Pwrite) }

func (c call) positioned(f *memfs.File, op func(context.Context, []byte, int64) (int, abi.Errno)) abi.Errno {
	off := int64(c.u64(3))
	if off < 0 {
		return abi.EINVAL
	}
	return c.vectored(f, 4, func(ctx context.Context, b []byte) (int, abi.Errno) {
		n, errno := op(ctx, b, off)
		off += int64(n)
		return n, errno
	})
}

// fdSeek is fd_seek(fd, offset, whence, *position).
func fdSeek(c call, f *memfs.File) abi.Errno {
	if c.u32(2) > abi.SEEK_END {
		return abi.EINVAL
	}
	return c.seek(f, int64(c.u64(1)), int(c.u32(2)), 3)
}

// fdTell is fd_tell(fd, *position).
func fdTell(c call, f *memfs.File) abi.Errno { return c.seek(f, 0, abi.SEEK_CUR, 1) }

func (c call) seek(f *memfs.File, off int64, whence, to int) abi.Errno {
	if _, ok := c.mem.Bytes(c.u32(to), 8); !ok {
		return abi.EFAULT
	}
	if f.Node() != nil && f.Node().IsDir() {
		return abi.EBADF
	}
	at, errno := f.SeekTo(off, whence)
	if errno == abi.OK {
		c.mem.PutUint64(c.u32(to), uint64(at))
	}
	return errno
}

// fdClose is fd_close(fd).
func fdClose(c call) abi.Errno { return c.closeFD(c.u32(0)) }

// fdRenumber is fd_renumber(from, to): what was open as to is closed.
func fdRenumber(c call) abi.Errno {
	from, to := c.at(c.u32(0)), c.at(c.u32(1))
	switch {
	case from == nil || to == nil:
		return abi.EBADF
	case from == to:
		return abi.OK
	}
	d := *from
	*from = descriptor{}
	c.closeFD(c.u32(1))
	*to = d
	return abi.OK
}

// fdSync is fd_sync(fd), and fd_datasync.
func fdSync(_ call, f *memfs.File) abi.Errno { return f.Sync() }

// fdAdvise is fd_advise(fd, offset, length, advice): checked, and not followed.
func fdAdvise(c call, f *memfs.File) abi.Errno {
	const last = 5
	off, n := int64(c.u64(1)), int64(c.u64(2))
	switch {
	case f.Node() == nil:
		return abi.ESPIPE
	case f.Node().IsDir():
		return abi.EBADF
	case c.u32(3) > last || off < 0 || n < 0 || off > math.MaxInt64-n:
		return abi.EINVAL
	}
	return abi.OK
}

// fdAllocate is fd_allocate(fd, offset, length).
func fdAllocate(c call, f *memfs.File) abi.Errno { return f.Allocate(int64(c.u64(1)), int64(c.u64(2))) }

// Descriptor flags.
const (
	fdAppend = 1 << iota
	fdDsync
	fdNonblock
	fdRsync
	fdSyncFlag
	fdFlags = 1<<iota - 1
)

// fdFdstatGet is fd_fdstat_get(fd, *fdstat):
//
//	 0          2       8             16                   24
//	| filetype | flags | rights_base | rights_inheriting |
func fdFdstatGet(c call, f *memfs.File) abi.Errno {
	b, ok := c.mem.Bytes(c.u32(1), 24)
	if !ok {
		return abi.EFAULT
	}
	clear(b)
	b[0] = filetype(f.Stat().Mode)
	flags := f.Flags()
	for flag, is := range map[uint16]bool{
		fdAppend: flags&abi.O_APPEND != 0, fdNonblock: flags&abi.O_NONBLOCK != 0 && b[0] != typeDirectory, fdSyncFlag: flags&abi.O_SYNC == abi.O_SYNC,
	} {
		if is {
			le.PutUint16(b[2:], le.Uint16(b[2:])|flag)
		}
	}
	const all = uint64(1)<<30 - 1
	rights := all
	switch {
	case b[0] == typeDirectory:
		rights &^= rightRead | rightSeek | rightTell | rightWrite | rightAllocate | rightSetSize
	case flags&3 == abi.O_RDONLY:
		rights &^= rightWrite | rightAllocate | rightSetSize
	case flags&3 == abi.O_WRONLY:
		rights &^= rightRead
	}
	le.PutUint64(b[8:], rights)
	le.PutUint64(b[16:], all)
	return abi.OK
}

// fdFdstatSetFlags is fd_fdstat_set_flags(fd, flags).
func fdFdstatSetFlags(c call, f *memfs.File) abi.Errno {
	flags := c.u32(1)
	if flags&^fdFlags != 0 {
		return abi.EINVAL
	}
	f.SetFlags(openFlags(flags))
	return abi.OK
}

// openFlags returns the machine's flags of descriptor flags.
func openFlags(fdflags uint32) (flags uint32) {
	if fdflags&fdAppend != 0 {
		flags |= abi.O_APPEND
	}
	if fdflags&fdNonblock != 0 {
		flags |= abi.O_NONBLOCK
	}
	if fdflags&(fdDsync|fdRsync|fdSyncFlag) != 0 {
		flags |= abi.O_SYNC
	}
	return flags
}

// fdFdstatSetRights is fd_fdstat_set_rights(fd, base, inheriting), which preview 1 has
// given up.
func fdFdstatSetRights(call, *memfs.File) abi.Errno { return enotsup }

// File types.
const (
	typeUnknown = iota
	typeBlock
	typeCharacter
	typeDirectory
	typeRegular
	typeDatagram
	typeStream
	typeSymlink
)

// filetype translates a file's type. C libraries take a character device for a terminal if
// its rights lack seeking; here none does. Pipes have no type in WASI.
func filetype(mode uint32) uint8 {
	switch mode & abi.S_IFMT {
	case abi.S_IFDIR:
		return typeDirectory
	case abi.S_IFREG:
		return typeRegular
	case abi.S_IFCHR:
		return typeCharacter
	case abi.S_IFLNK:
		return typeSymlink
	case abi.S_IFSOCK:
		return typeStream
	}
	return typeUnknown
}

// putFilestat writes a filestat:
//
//	 0     8     16         24      32     40     48     56     64
//	| dev | ino | filetype | nlink | size | atim | mtim | ctim |
func (c call) putFilestat(i int, st abi.Stat) abi.Errno {
	b, ok := c.mem.Bytes(c.u32(i), 64)
	if !ok {
		return abi.EFAULT
	}
	clear(b)
	b[16] = filetype(st.Mode)
	for at, v := range map[int]uint64{
		0: uint64(st.Dev), 8: st.Ino, 24: uint64(st.Nlink), 32: uint64(st.Size),
		40: nanoseconds(st.Atime), 48: nanoseconds(st.Mtime), 56: nanoseconds(st.Ctime),
	} {
		le.PutUint64(b[at:], v)
	}
	return abi.OK
}

func nanoseconds(t abi.Timespec) uint64 { return uint64(t.Sec)*1e9 + uint64(t.Nsec) }

// fdFilestatGet is fd_filestat_get(fd, *filestat).
func fdFilestatGet(c call, f *memfs.File) abi.Errno { return c.putFilestat(1, f.Stat()) }

// fdFilestatSetSize is fd_filestat_set_size(fd, size).
func fdFilestatSetSize(c call, f *memfs.File) abi.Errno { return f.Truncate(int64(c.u64(1))) }

// fdFilestatSetTimes is fd_filestat_set_times(fd, atim, mtim, flags).
func fdFilestatSetTimes(c call, f *memfs.File) abi.Errno {
	if f.Node() == nil {
		return abi.EINVAL
	}
	return c.setTimes(f.Node(), 1)
}

// setTimes sets the times of arguments i, i+1 by the flags of i+2.
func (c call) setTimes(n *memfs.Node, i int) abi.Errno {
	const set, now, all = 1, 2, 15
	flags := c.u32(i + 2)
	if flags&^all != 0 {
		return abi.EINVAL
	}
	var times [2]abi.Timespec
	for k := range times {
		switch v := c.u64(i + k); flags >> (2 * k) & 3 {
		case 0:
			times[k].Nsec = abi.UTIME_OMIT
		case set:
			times[k] = abi.Timespec{Sec: int64(v / 1e9), Nsec: int32(v % 1e9)}
		case now:
			times[k].Nsec = abi.UTIME_NOW
		default:
			return abi.EINVAL
		}
	}
	return c.fs.SetTimes(n, times[0], times[1])
}

// fdPrestatGet is fd_prestat_get(fd, *prestat): 0 for a directory, and its name's length.
func fdPrestatGet(c call) abi.Errno {
	d := c.at(c.u32(0))
	if d == nil || d.preopen == "" {
		return abi.EBADF
	}
	ok := c.mem.PutUint32(c.u32(1), 0)
	return fault(ok && c.mem.PutUint32(c.u32(1)+4, uint32(len(d.preopen))))
}

// fdPrestatDirName is fd_prestat_dir_name(fd, *name, n).
func fdPrestatDirName(c call) abi.Errno {
	d := c.at(c.u32(0))
	switch {
	case d == nil || d.preopen == "":
		return abi.EBADF
	case uint64(c.u32(2)) < uint64(len(d.preopen)):
		return abi.ENAMETOOLONG
	}
	return fault(c.mem.Put(c.u32(1), []byte(d.preopen)))
}

// fdReaddir is fd_readdir(fd, *buf, n, cookie, *used). The last entry may be cut: then n
// bytes are used.
//
//	 0      8     16        20     24
//	| next | ino | namelen | type | name
func fdReaddir(c call, f *memfs.File) abi.Errno {
	const head = 24
	buf, ok := c.mem.Bytes(c.u32(1), c.u32(2))
	if _, ok2 := c.mem.Bytes(c.u32(4), 4); !ok || !ok2 {
		return abi.EFAULT
	}
	if f.Node() == nil || !f.Node().IsDir() {
		return abi.ENOTDIR
	}
	if _, errno := f.SeekTo(int64(c.u64(3)), abi.SEEK_SET); errno != abi.OK {
		return errno
	}
	used := 0
	errno := f.ReadDir(func(e abi.Dirent) bool {
		entry := make([]byte, head, head+len(e.Name))
		le.PutUint64(entry, uint64(e.Off))
		le.PutUint64(entry[8:], e.Ino)
		le.PutUint32(entry[16:], uint32(len(e.Name)))
		entry[20] = filetype(uint32(e.Type) << 12)
		entry = append(entry, e.Name...)
		n := copy(buf[used:], entry)
		used += n
		return n == len(entry) && used < len(buf)
	})
	return c.result(4, uint32(used), errno)
}
