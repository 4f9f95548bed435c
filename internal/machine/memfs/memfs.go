// Package memfs is an in-memory POSIX file system: directories, regular files,
// symbolic and hard links, pipes, devices, read-only mounts of Go file systems,
// and directories of the host ([HostDir]). It is the only file system that a
// guest program sees.
//
// It knows no system call and no guest memory: package emscripten decodes
// calls, keeps descriptor numbers and the working directory, and calls here. What
// an operation means is Linux's behaviour for a user without privileges, down
// to the errno; outcomes are abi.Errno values, abi.OK for success. Functions
// for the host (those that return error) take absolute paths and are not
// stopped by permission bits.
//
// # Users
//
// There is one user, who owns everything: the owner's permission bits alone
// decide, also when the user id is 0, so that os.access, read-only files and
// PermissionError behave as they do for a normal user on Linux. Chown records
// any ids and changes nobody's rights.
//
// # Budgets
//
// Options.MaxBytes bounds the bytes of file data, symlink targets and pipe
// buffers, Options.MaxNodes the number of names (each hard link counts);
// ENOSPC comes before anything is allocated. Files are sparse: only chunks that
// were written count, so truncating to a terabyte is free. Mounts count
// neither; their cached nodes are bounded by Options.MaxMounted. A directory
// that was removed counts as long as it, or one that was removed from it, is
// open. What others hold for the guest can be charged to MaxBytes, too
// ([FS.Reserve]); with Options.NamesCount, names count as bytes. What a guest writes to a HostDir takes no memory.
//
// # Sources
//
// Linux's fs/namei.c, mm/shmem.c and fs/pipe.c for behaviour (the model test
// compares with the running kernel); the design of gVisor's tmpfs.
//
// # Locking
//
// FS.mu guards every node, directory entry and chunk of one FS: methods of FS
// that end in Locked, and those of Node, directory, contents and source, are
// called with it held. It is also held while a HostDir does anything but
// transfer a file's data, and while a mounted directory is first listed or a
// mounted file's size first looked up; never while a mounted file's data is
// read, while a Stream is called, or while anything blocks. File.mu guards a
// position and is taken before FS.mu. Pipes and Waiters have a mutex each, under
// which nothing else is locked but a Waiters. Budgets and the inode counter are
// atomic.
//
// # Limits
//
// No extended attributes, no file locks (there is one process), no sockets (see
// FS.NewFile), no block devices. Access times follow relatime without its daily
// update. Mounts do not follow changes of their source once a directory has
// been listed; a HostDir does, and a directory of it that is held open is known
// by its name. Whatever makes a HostDir's file system hang, hangs the FS.
//
// # Testing
//
// fstest.TestFS, and a model test that runs random operations here and on the
// host's file system and compares outcomes.
package memfs

import (
	"cmp"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"

	"coderunner/internal/machine/abi"
)

// Options are an FS's budgets and surroundings. The zero value is usable.
type Options struct {
	MaxBytes   int64 // bytes of data held in memory; 0: 512 MiB
	NamesCount bool  // names count as bytes, too
	MaxNodes   int   // names (files, directories, links); 0: 1<<16
	MaxMounted int   // cached nodes of mounts; 0: 1<<18
}

// FS is one file system. It is safe for concurrent use. Its methods are the
// operations of POSIX, each in the file of its kind: one lock guards all nodes, so
// they belong to one type.
type FS struct {
	mu   sync.Mutex // guards the nodes, see the package comment
	root *Node

	lastIno atomic.Uint64
	bytes   budget // file data, symlink targets, pipe buffers
	names   budget // directory entries in memory
	mounted budget // directory entries of mounts
	handles budget // open files of mounts and HostDirs

	locks  locks
	misses *misses // nil: not watched
}

const (
	defaultMaxBytes   = 512 << 20
	defaultMaxNodes   = 1 << 16
	defaultMaxMounted = 1 << 18

	// nameCost is what a name takes at most, with its node, in bytes.
	nameCost = 768

	// maxHandles bounds the files of the host that are open at once: the host
	// has few, for all its interpreters.
	maxHandles = 256
)

// New returns a file system with an empty root directory (mode 0755).
func New(o Options) *FS {
	fsys := &FS{}
	fsys.bytes.max = cmp.Or(o.MaxBytes, defaultMaxBytes)
	fsys.names.max = int64(cmp.Or(o.MaxNodes, defaultMaxNodes))
	fsys.mounted.max = int64(cmp.Or(o.MaxMounted, defaultMaxMounted))
	fsys.handles.max = maxHandles
	if o.NamesCount {
		fsys.countNames()
	}
	fsys.root = fsys.newDir(nil, "", 0o755)
	fsys.root.nlink = 2
	return fsys
}

func (fsys *FS) countNames() {
	fsys.bytes.beside = func() int64 { return nameCost * fsys.names.used.Load() }
}

// Root returns the root directory.
func (fsys *FS) Root() *Node { return fsys.root }

// Statfs describes the file system: its budgets and what is left of them.
func (fsys *FS) Statfs() abi.Statfs {
	const block = 4096
	const tmpfsMagic = 0x01021994
	blocks, free := uint64(fsys.bytes.max)/block, uint64(fsys.bytes.left())/block
	if free == blocks && free > 0 {
		free-- // the root's: programs take a file system of which nothing is used for an odd one
	}
	return abi.Statfs{
		Type: tmpfsMagic, Bsize: block, Frsize: block,
		Blocks: blocks, Bfree: free, Bavail: free,
		Files: uint64(fsys.names.max), Ffree: uint64(fsys.names.left()),
		Namelen: abi.NAME_MAX,
	}
}

// Usage returns what the budgets are charged with.
func (fsys *FS) Usage() (bytes int64, nodes int) {
	return fsys.bytes.used.Load(), int(fsys.names.used.Load())
}

// Peak returns the most bytes that were charged at once.
func (fsys *FS) Peak() int64 { return fsys.bytes.peak.Load() }

// Reserve charges n bytes that someone else holds for the guest to MaxBytes,
// if they are within. Unreserve gives them back.
func (fsys *FS) Reserve(n int64) bool { return fsys.bytes.take(n) }

// Unreserve gives n bytes back that Reserve has charged.
func (fsys *FS) Unreserve(n int64) { fsys.bytes.give(n) }

// budget is a number of things that may exist at once.
type budget struct {
	used   atomic.Int64
	peak   atomic.Int64 // the most that was used
	max    int64
	beside func() int64 // what others use of it; nil: nothing
}

// take charges n and reports whether it was within the budget; if not, it charges
// nothing.
func (b *budget) take(n int64) bool {
	for {
		used := b.used.Load()
		if n > b.max-used-b.others() {
			return false
		}
		if !b.used.CompareAndSwap(used, used+n) {
			continue
		}
		for used += n; ; {
			peak := b.peak.Load()
			if used <= peak || b.peak.CompareAndSwap(peak, used) {
				return true
			}
		}
	}
}

func (b *budget) give(n int64) { b.used.Add(-n) }

func (b *budget) left() int64 { return max(0, b.max-b.used.Load()-b.others()) }

func (b *budget) others() int64 {
	if b.beside == nil {
		return 0
	}
	return b.beside()
}

// pathError is e as the host's callers want it; nil for OK.
func pathError(op, path string, e abi.Errno) error {
	if e == abi.OK {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: e}
}

// errnoOf translates an error of a mounted file system for the guest.
func errnoOf(err error) abi.Errno {
	var e abi.Errno
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, fs.ErrNotExist):
		return abi.ENOENT
	case errors.Is(err, fs.ErrPermission):
		return abi.EACCES
	}
	return abi.EIO
}
