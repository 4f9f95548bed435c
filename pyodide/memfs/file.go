package memfs

import (
	"context"

	"coderunner/pyodide/abi"
)

// File is an open file description: what several descriptors share after dup.
// It has a position, status flags and a count of references. Methods are safe
// for concurrent use; a method that can block takes a context and returns EINTR
// when it ends first, having transferred nothing.
//
// Reads at end of file return 0 and OK. A transfer may be short.
type File struct{ flags uint32 }

// Ref adds a reference, for a descriptor that dup made, and returns f.
func (f *File) Ref() *File { return f }

// Close drops a reference; the last one closes the file.
func (f *File) Close() abi.Errno { return abi.ENOSYS }

// Node is the file's inode; nil for pipes of Pipe and files of NewFile.
func (f *File) Node() *Node { return nil }

// Stream is the stream behind a device, a socket or another file of NewFile,
// for requests that only its maker understands (ioctl, socket calls); nil for
// other files.
func (f *File) Stream() Stream { return nil }

// Flags are the access mode and status flags, as fcntl(F_GETFL) reports them.
func (f *File) Flags() uint32 { return 0 }

// SetFlags sets O_APPEND and O_NONBLOCK and ignores other bits, as
// fcntl(F_SETFL) does.
func (f *File) SetFlags(flags uint32) {}

// Stat is the file's struct stat.
func (f *File) Stat() abi.Stat { return abi.Stat{} }

// Read reads at the position and advances it. EISDIR for directories, EBADF
// unless open for reading.
func (f *File) Read(ctx context.Context, p []byte) (int, abi.Errno) { return 0, abi.ENOSYS }

// Write writes at the position (at the end with O_APPEND) and advances it. A
// write that does not fit the budget is short, or ENOSPC if nothing fits.
// A pipe nobody reads is EPIPE; there are no signals here.
func (f *File) Write(ctx context.Context, p []byte) (int, abi.Errno) { return 0, abi.ENOSYS }

// Pread reads at off and leaves the position alone. ESPIPE for streams.
func (f *File) Pread(ctx context.Context, p []byte, off int64) (int, abi.Errno) {
	return 0, abi.ENOSYS
}

// Pwrite writes at off and leaves the position alone. With O_APPEND it appends,
// as Linux does. ESPIPE for streams.
func (f *File) Pwrite(ctx context.Context, p []byte, off int64) (int, abi.Errno) {
	return 0, abi.ENOSYS
}

// SeekTo moves the position and returns it. Of a directory it takes 0 or a cookie
// that ReadDir gave. ESPIPE for streams, EINVAL for a negative position.
func (f *File) SeekTo(off int64, whence int) (int64, abi.Errno) { return 0, abi.ENOSYS }

// Truncate is ftruncate(2): EINVAL unless a regular file open for writing.
func (f *File) Truncate(size int64) abi.Errno { return abi.ENOSYS }

// Allocate is posix_fallocate(3): it makes the file at least off+n long. Room
// is not reserved.
func (f *File) Allocate(off, n int64) abi.Errno { return abi.ENOSYS }

// ReadDir calls emit for the entries after the cursor, "." and ".." first, and
// moves the cursor past each one for which emit returned true; false stops. An
// entry's Off is a cookie for SeekTo that stays valid while the directory
// changes: no entry that stays is skipped or seen twice. emit must not call
// into the FS. ENOTDIR for other files, ENOENT when the directory was removed.
func (f *File) ReadDir(emit func(abi.Dirent) bool) abi.Errno { return abi.ENOSYS }

// Sync is fsync(2): OK for everything that has a node, EINVAL for streams.
func (f *File) Sync() abi.Errno { return abi.ENOSYS }

// Ready is what poll(2) would report now: POLLIN, POLLOUT (with their RDNORM
// and WRNORM forms), POLLHUP, POLLERR.
func (f *File) Ready() abi.Events { return 0 }

// Watch registers ch, which should have a buffer of one, to be sent to without
// blocking whenever Ready may have changed. Ask Ready after registering. stop
// ends it and may be called once. For files that are always ready nothing is
// ever sent.
func (f *File) Watch(ch chan<- struct{}) (stop func()) { return func() {} }
