// Package memfs is an in-memory POSIX file system: directories, regular files,
// symbolic and hard links, pipes, devices, read-only mounts of Go file systems,
// and directories of the host ([HostDir]). It is the only file system that a
// guest program sees.
//
// It knows no system call, no descriptor number and no working directory: whoever runs a
// program keeps those, and calls here. Operations behave as on Linux for a user without
// privileges, down to the errno; outcomes are abi.Errno values, abi.OK for success.
// Functions for the host (those that return error) take absolute paths and are not stopped
// by permission bits.
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
// Options.MaxBytes bounds the bytes of file data, symlink targets and pipe buffers,
// Options.MaxNodes the number of names (each hard link counts); ENOSPC comes before anything
// is allocated. Files are sparse: only chunks that were written count, so truncating to a
// terabyte is free. Mounts count towards neither, except what the guest changes in a
// [FS.MountCopy]; their cached nodes are bounded by Options.MaxMounted. A directory that was
// removed counts as long as it, or one that was removed from it, is open. What others hold
// for the guest can also be charged to MaxBytes ([FS.Reserve]); with Options.NamesCount,
// names count as bytes. What a guest writes to a HostDir takes no memory.
//
// # Sources
//
// Linux's fs/namei.c, mm/shmem.c and fs/pipe.c for behaviour (the model test
// compares with the running kernel); the design of gVisor's tmpfs.
//
// # Locking
//
// FS.mu guards every node, directory entry and chunk of one FS: methods of FS and inodes
// that end in Locked, and those of Node, directory, contents and source, are called with it
// held. It is also held while a HostDir does anything but transfer a file's data, while a
// mounted directory is first listed or a mounted file's size first looked up, and while a
// file of a MountCopy is copied for its first change; never while a mounted file's data is
// read otherwise, while a Stream is called, or while anything blocks. File.mu guards a
// position and is taken before FS.mu. Pipes and Waiters have a mutex each, under which
// nothing else is locked but a Waiters. Budgets and the inode counter are atomic.
//
// # Limits
//
// No extended attributes, no file locks (there is one process), no sockets (see FS.NewFile),
// no block devices. Access times follow relatime without its daily update. Mounts do not
// follow changes of their source once a directory has been listed; a HostDir does, and a
// directory of it that is held open is known by its name. If a HostDir's file system hangs,
// so does the FS.
//
// # Testing
//
// fstest.TestFS, and a model test that runs random operations here and on the
// host's file system and compares outcomes.
package memfs

import (
	"errors"
	"io/fs"

	"coderunner/internal/machine/abi"
)

// Options are an FS's budgets and surroundings. The zero value is usable.
type Options struct {
	MaxBytes   int64 // bytes of data held in memory; 0: 512 MiB
	NamesCount bool  // names count as bytes, too
	MaxNodes   int   // names (files, directories, links); 0: 1<<16
	MaxMounted int   // cached nodes of mounts; 0: 1<<18
}

// FS is one file system. It is safe for concurrent use. Its own methods are the
// operations of POSIX on paths, each in the file of its kind; those on nodes are
// its inodes'.
type FS struct {
	inodes
	root    *Node
	locks   locks
	missing func(path string, opens bool) // see Missing; nil: nobody asks
}

// New returns a file system with an empty root directory (mode 0755).
func New(o Options) *FS {
	fsys := &FS{}
	fsys.bound(o)
	fsys.root = fsys.newDir(nil, "", 0o755)
	fsys.root.nlink = 2
	return fsys
}

// Root returns the root directory.
func (fsys *FS) Root() *Node { return fsys.root }

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
