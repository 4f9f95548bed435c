package memfs

import (
	"context"
	"sync"
	"sync/atomic"

	"coderunner/internal/machine/abi"
)

// File is an open file description: what several descriptors share after dup.
// It has a position, status flags and a count of references. Methods are safe
// for concurrent use; a method that can block takes a context and returns EINTR
// when it ends first, having transferred nothing.
//
// Reads at end of file return 0 and OK. A transfer may be short. The methods are
// the system calls on a descriptor.
type File struct {
	fsys   *FS
	refs   atomic.Int32
	flags  atomic.Uint32
	locked atomic.Bool // by Lock

	// At most one of reader, out and stream is set; all are fixed once open.
	node   *Node    // nil for pipes of Pipe and files of NewFile
	reader *reader  // file of a mount; of a MountCopy's what it was before it changed
	out    HostFile // file of a HostDir
	stream Stream   // pipe, device, socket
	stat   abi.Stat // of a file without a node

	mu   sync.Mutex // held over a transfer that moves pos
	pos  int64      // guarded by mu; of a directory: the cookie of the last entry read
	list listing    // of a directory with a lower one; guarded by FS.mu
}

// statusFlags are what F_GETFL reports, beside the access mode.
const statusFlags = abi.O_ACCMODE | abi.O_APPEND | abi.O_NONBLOCK | abi.O_DIRECTORY |
	abi.O_NOFOLLOW | abi.O_LARGEFILE | abi.O_SYNC

func (fsys *FS) newOpen(flags uint32) *File {
	f := &File{fsys: fsys}
	f.refs.Store(1)
	f.flags.Store(flags & statusFlags)
	return f
}

// NewFile returns an open file of a stream that has no name: a socket, a
// standard stream. flags are open flags (access mode, O_NONBLOCK…), mode is
// the st_mode that Stat reports.
func (fsys *FS) NewFile(s Stream, flags, mode uint32) *File {
	f := fsys.newOpen(flags)
	f.stream = s
	t := now()
	f.stat = abi.Stat{
		Dev: 1, Ino: fsys.lastIno.Add(1), Mode: mode, Nlink: 1,
		Blksize: 4096, Atime: t, Mtime: t, Ctime: t,
	}
	return f
}

// Ref adds a reference, for a descriptor that dup made, and returns f.
func (f *File) Ref() *File {
	f.refs.Add(1)
	return f
}

// refOpen adds a reference unless the file was closed.
func (f *File) refOpen() bool {
	for {
		n := f.refs.Load()
		if n <= 0 {
			return false
		}
		if f.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Close drops a reference; the last one closes the file. One Close too many is
// EBADF.
func (f *File) Close() (e abi.Errno) {
	switch left := f.refs.Add(-1); {
	case left > 0:
		return abi.OK
	case left < 0:
		return abi.EBADF
	}
	f.Unlock()
	switch {
	case f.reader != nil:
		f.reader.close()
		f.fsys.handles.give(1)
	case f.out != nil:
		f.out.Close()
		f.fsys.handles.give(1)
	case f.list.list != nil:
		f.list.close(f.fsys)
	}
	if f.stream != nil {
		e = f.stream.Close()
	}
	if f.node != nil {
		f.fsys.closeNode(f.node)
	}
	return e
}

// Node is the file's inode; nil for pipes of Pipe and files of NewFile.
func (f *File) Node() *Node { return f.node }

// Stream is the stream behind a pipe, a device, a socket or another file of
// NewFile, for requests that only its maker understands (ioctl, socket calls);
// nil for other files.
func (f *File) Stream() Stream { return f.stream }

// Flags are the access mode and status flags, as fcntl(F_GETFL) reports them.
func (f *File) Flags() uint32 { return f.flags.Load() }

// SetFlags sets O_APPEND and O_NONBLOCK and ignores other bits, as
// fcntl(F_SETFL) does.
func (f *File) SetFlags(flags uint32) {
	const settable = abi.O_APPEND | abi.O_NONBLOCK
	for {
		old := f.flags.Load()
		if f.flags.CompareAndSwap(old, old&^settable|flags&settable) {
			return
		}
	}
}

// Stat is the file's struct stat.
func (f *File) Stat() abi.Stat {
	if f.out != nil {
		if st, e := f.out.Stat(); e == abi.OK {
			return hostStat(st)
		}
	}
	st := f.stat
	if f.node != nil {
		st = f.fsys.Stat(f.node)
	}
	return st
}

// readable and writable check the access mode.
func (f *File) readable() abi.Errno {
	if fl := f.flags.Load(); fl&abi.O_PATH != 0 || fl&3 == abi.O_WRONLY {
		return abi.EBADF
	}
	return abi.OK
}

func (f *File) writable() abi.Errno {
	if fl := f.flags.Load(); fl&abi.O_PATH != 0 || fl&3 == abi.O_RDONLY {
		return abi.EBADF
	}
	return abi.OK
}

func (f *File) nonblock() bool { return f.flags.Load()&abi.O_NONBLOCK != 0 }

// Read reads at the position and advances it. EISDIR for directories, EBADF
// unless open for reading.
func (f *File) Read(ctx context.Context, p []byte) (int, abi.Errno) {
	if e := f.readable(); e != abi.OK {
		return 0, e
	}
	if f.stream != nil {
		return f.stream.Read(ctx, p, f.nonblock())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, e := f.readAt(p, f.pos)
	f.pos += int64(n)
	return n, e
}

// Write writes at the position (at the end with O_APPEND) and advances it. A
// write that does not fit the budget is short, or ENOSPC if nothing fits.
// A pipe nobody reads is EPIPE; there are no signals here.
func (f *File) Write(ctx context.Context, p []byte) (int, abi.Errno) {
	if e := f.writable(); e != abi.OK {
		return 0, e
	}
	if f.stream != nil {
		return f.stream.Write(ctx, p, f.nonblock())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, end, e := f.writeAt(p, f.pos)
	f.pos = end
	return n, e
}

// Pread reads at off and leaves the position alone. ESPIPE for streams.
func (f *File) Pread(_ context.Context, p []byte, off int64) (int, abi.Errno) {
	switch {
	case off < 0:
		return 0, abi.EINVAL
	case f.stream != nil:
		return 0, abi.ESPIPE
	}
	if e := f.readable(); e != abi.OK {
		return 0, e
	}
	return f.readAt(p, off)
}

// Pwrite writes at off and leaves the position alone. With O_APPEND it appends,
// as Linux does. ESPIPE for streams.
func (f *File) Pwrite(_ context.Context, p []byte, off int64) (int, abi.Errno) {
	switch {
	case off < 0:
		return 0, abi.EINVAL
	case f.stream != nil:
		return 0, abi.ESPIPE
	}
	if e := f.writable(); e != abi.OK {
		return 0, e
	}
	n, _, e := f.writeAt(p, off)
	return n, e
}

func (f *File) readAt(p []byte, off int64) (int, abi.Errno) {
	switch {
	case f.reader != nil && f.below():
		return f.reader.readAt(p, off)
	case f.out != nil:
		return f.out.ReadAt(p, off)
	}
	f.fsys.mu.Lock()
	defer f.fsys.mu.Unlock()
	if f.node.data() == nil {
		return 0, abi.EISDIR // nothing else gets here
	}
	if len(p) > 0 {
		f.node.accessed()
	}
	return f.node.data().readAt(p, off), abi.OK
}

// writeAt writes at off or, with O_APPEND, at the end, and returns where the
// written bytes end.
func (f *File) writeAt(p []byte, off int64) (n int, end int64, e abi.Errno) {
	if f.out != nil {
		return f.writeHost(p, off)
	}
	f.fsys.mu.Lock()
	defer f.fsys.mu.Unlock()
	d := f.node.data()
	switch {
	case d == nil || f.node.dead():
		return 0, off, abi.EBADF
	case len(p) == 0:
		return 0, off, abi.OK
	}
	if e := f.fsys.copyUpLocked(f.node, maxFileSize, f.reader); e != abi.OK {
		return 0, off, e
	}
	if f.flags.Load()&abi.O_APPEND != 0 {
		off = d.size
	}
	n, e = d.writeAt(&f.fsys.bytes, p, off)
	if n > 0 {
		f.node.touch()
	}
	return n, off + int64(n), e
}

// SeekTo moves the position and returns it. Of a directory it takes 0 or a
// cookie that ReadDir gave. ESPIPE for streams, EINVAL for a negative position.
func (f *File) SeekTo(off int64, whence int) (int64, abi.Errno) {
	if f.stream != nil {
		if s, ok := f.stream.(Seeker); ok {
			return s.SeekTo(off, whence)
		}
		return 0, abi.ESPIPE
	}
	if f.flags.Load()&abi.O_PATH != 0 {
		return 0, abi.EBADF
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case whence == abi.SEEK_SET:
	case whence == abi.SEEK_CUR:
		off = addPositions(f.pos, off)
	case whence == abi.SEEK_END && !f.node.IsDir():
		off = addPositions(f.size(), off)
	default:
		return 0, abi.EINVAL
	}
	if off < 0 || off > maxFileSize {
		return 0, abi.EINVAL
	}
	f.pos = off
	return off, abi.OK
}

// addPositions is base+off, or -1 when that overflows; base is not negative.
func addPositions(base, off int64) int64 {
	if off > 0 && base+off < base {
		return -1
	}
	return base + off
}

// ReadDir calls emit for the entries after the cursor, "." and ".." first, and
// moves the cursor past each one for which emit returned true; false stops. An
// entry's Off is a cookie for SeekTo that stays valid while the directory
// changes: no entry that stays is skipped or seen twice. emit must not call
// into the FS. ENOTDIR for other files, ENOENT when the directory was removed.
func (f *File) ReadDir(emit func(abi.Dirent) bool) (e abi.Errno) {
	switch {
	case f.flags.Load()&abi.O_PATH != 0:
		return abi.EBADF
	case f.node == nil || !f.node.IsDir():
		return abi.ENOTDIR
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fsys.mu.Lock()
	defer f.fsys.mu.Unlock()
	if f.pos < hostCookie {
		var all bool
		if f.pos, all, e = f.fsys.readDirLocked(f.node, f.pos, emit); e != abi.OK || !all || f.node.dir().lower == nil {
			return e
		}
		f.pos = max(f.pos, cookieDotDot)
	}
	return f.readHost(emit)
}

// Sync is fsync(2): OK for everything that has a node, EINVAL for streams.
func (f *File) Sync() abi.Errno {
	switch {
	case f.flags.Load()&abi.O_PATH != 0:
		return abi.EBADF
	case f.stream != nil:
		return abi.EINVAL
	case f.out != nil:
		return f.out.Sync()
	}
	return abi.OK
}
