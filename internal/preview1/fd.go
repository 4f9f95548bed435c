package preview1

import (
	"context"
	"math"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
)

// step moves bytes between a file and a buffer.
type step func(context.Context, []byte) (int, abi.Errno)

// vectored moves bytes between a file and the buffers of the vector of arguments 1 and 2;
// argument last is where the count goes.
func (c call) vectored(last int, f *memfs.File, op step) abi.Errno {
	bufs, errno := Buffers(c.mem, c.u32(1), c.u32(2))
	c.must(errno)
	count := c.to(last, 4)
	n, errno := Transfer(f, bufs, func(b []byte, stream bool) (n int, errno abi.Errno) {
		if stream {
			return c.waiting(func(ctx context.Context) (int, abi.Errno) { return op(ctx, b) })
		}
		n, errno = op(c.ctx, b)
		c.check()
		return n, errno
	})
	c.must(errno)
	le.PutUint32(count, n)
	return abi.OK
}

// fdRead is fd_read(fd, *iovec, n, *count), fdWrite fd_write of the same.
func fdRead(c call) abi.Errno { return c.vectored(3, c.file(0), c.file(0).Read) }

func fdWrite(c call) abi.Errno {
	f, total := c.file(0), 0
	return c.vectored(3, f, func(ctx context.Context, b []byte) (int, abi.Errno) {
		n, errno := f.Write(ctx, b)
		if total += n; errno == abi.EPIPE && total == 0 {
			c.k.Kill(c.k.PID(), kernel.SIGPIPE)
			c.check()
		}
		return n, errno
	})
}

// positioned is fd_pread(fd, *iovec, n, offset, *count), and fd_pwrite.
func (c call) positioned(op func(*memfs.File, context.Context, []byte, int64) (int, abi.Errno)) abi.Errno {
	f, off := c.file(0), int64(c.u64(3))
	if off < 0 {
		return abi.EINVAL
	}
	return c.vectored(4, f, func(ctx context.Context, b []byte) (int, abi.Errno) {
		n, errno := op(f, ctx, b, off)
		off += int64(n)
		return n, errno
	})
}

// seek is fd_seek(fd, offset, whence, *position), and fd_tell.
func (c call) seek(off uint64, whence uint32, to int) abi.Errno {
	f := c.file(0)
	if whence > abi.SEEK_END {
		return abi.EINVAL
	}
	b := c.to(to, 8)
	if f.Node() != nil && f.Node().IsDir() {
		return abi.EBADF
	}
	at, errno := f.SeekTo(int64(off), int(whence))
	if errno == abi.OK {
		le.PutUint64(b, uint64(at))
	}
	return errno
}

// fdRenumber is fd_renumber(from, to): what was open as to is closed.
func fdRenumber(c call) abi.Errno {
	from, to := c.open(0), c.open(1)
	if from == to {
		return abi.OK
	}
	d := *from
	*from = descriptor{}
	c.closeFD(c.u32(1))
	*to = d
	return abi.OK
}

// fdAdvise is fd_advise(fd, offset, length, advice): checked, and not followed.
func fdAdvise(c call) abi.Errno {
	const last = 5
	f, off, n := c.file(0), int64(c.u64(1)), int64(c.u64(2))
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

// Descriptor flags, and the machine's.
var fdFlags = flags{abi.O_APPEND, abi.O_SYNC, abi.O_NONBLOCK, abi.O_SYNC, abi.O_SYNC}

// flags are the machine's flags by the bits of WASI's.
type flags []uint32

// of returns the machine's flags.
func (list flags) of(bits uint32) (all uint32) {
	if bits>>len(list) != 0 {
		panic(abi.EINVAL)
	}
	for i, f := range list {
		if bits>>i&1 != 0 {
			all |= f
		}
	}
	return all
}

// fdFdstatGet is fd_fdstat_get(fd, *fdstat):
//
//	 0          2       8             16                   24
//	| filetype | flags | rights_base | rights_inheriting |
func fdFdstatGet(c call) abi.Errno {
	f, b := c.file(0), c.to(1, 24)
	clear(b)
	b[0] = filetype(f.Stat().Mode)
	has := f.Flags()
	for i, flag := range fdFlags {
		if has&flag == flag && i != 1 && i != 3 && (flag != abi.O_NONBLOCK || b[0] != typeDirectory) {
			b[2] |= 1 << i
		}
	}
	const all = uint64(1)<<30 - 1
	rights := all
	switch {
	case b[0] == typeDirectory:
		rights &^= rightRead | rightSeek | rightTell | rightWrite | rightAllocate | rightSetSize
	case has&3 == abi.O_RDONLY:
		rights &^= rightWrite | rightAllocate | rightSetSize
	case has&3 == abi.O_WRONLY:
		rights &^= rightRead
	}
	le.PutUint64(b[8:], rights)
	le.PutUint64(b[16:], all)
	return abi.OK
}

const typeDirectory = 3

// filetypes are WASI's types of files. C libraries take a character device for a terminal if
// its rights lack seeking; here none does. Pipes have no type in WASI.
var filetypes = map[uint32]uint8{abi.S_IFCHR: 2, abi.S_IFDIR: typeDirectory, abi.S_IFREG: 4, abi.S_IFSOCK: 6, abi.S_IFLNK: 7}

func filetype(mode uint32) uint8 { return filetypes[mode&abi.S_IFMT] }

// putFilestat writes a filestat:
//
//	 0     8     16         24      32     40     48     56     64
//	| dev | ino | filetype | nlink | size | atim | mtim | ctim |
func (c call) putFilestat(i int, st abi.Stat) abi.Errno {
	b := c.to(i, 64)
	for at, v := range []uint64{
		uint64(st.Dev), st.Ino, uint64(filetype(st.Mode)), uint64(st.Nlink), uint64(st.Size),
		nanoseconds(st.Atime), nanoseconds(st.Mtime), nanoseconds(st.Ctime),
	} {
		le.PutUint64(b[8*at:], v)
	}
	return abi.OK
}

func nanoseconds(t abi.Timespec) uint64 { return uint64(t.Sec)*1e9 + uint64(t.Nsec) }

// setTimes sets the times of arguments i, i+1 by the flags of i+2.
func (c call) setTimes(n *memfs.Node, i int) abi.Errno {
	const set, now, all = 1, 2, 15
	flags := c.u32(i + 2)
	if flags&^all != 0 || n == nil {
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

// preopen returns the name of the directory that is argument 0, which was open from the start.
func (c call) preopen() string {
	if name := c.open(0).preopen; name != "" {
		return name
	}
	panic(abi.EBADF)
}

// fdPrestatGet is fd_prestat_get(fd, *prestat): 0 for a directory, and its name's length.
func fdPrestatGet(c call) abi.Errno { return c.put64(1, uint64(len(c.preopen()))<<32) }

// fdPrestatDirName is fd_prestat_dir_name(fd, *name, n).
func fdPrestatDirName(c call) abi.Errno {
	name := c.preopen()
	if uint64(c.u32(2)) < uint64(len(name)) {
		return abi.ENAMETOOLONG
	}
	copy(c.to(1, uint32(len(name))), name)
	return abi.OK
}

// fdReaddir is fd_readdir(fd, *buf, n, cookie, *used). The last entry may be cut: then n
// bytes are used.
//
//	 0      8     16        20     24
//	| next | ino | namelen | type | name
func fdReaddir(c call) abi.Errno {
	const head = 24
	f, buf := c.file(0), c.to(1, c.u32(2))
	c.to(4, 4)
	if f.Node() == nil || !f.Node().IsDir() {
		return abi.ENOTDIR
	}
	_, errno := f.SeekTo(int64(c.u64(3)), abi.SEEK_SET)
	c.must(errno)
	used := 0
	c.must(f.ReadDir(func(e abi.Dirent) bool {
		entry := make([]byte, head, head+len(e.Name))
		le.PutUint64(entry, uint64(e.Off))
		le.PutUint64(entry[8:], e.Ino)
		le.PutUint32(entry[16:], uint32(len(e.Name)))
		entry[20] = filetype(uint32(e.Type) << 12)
		entry = append(entry, e.Name...)
		n := copy(buf[used:], entry)
		used += n
		return n == len(entry) && used < len(buf)
	}))
	return c.put32(4, used)
}
