// Package memfs is an in-memory POSIX file system: directories, regular files,
// symbolic and hard links, pipes, devices, and read-only mounts of Go file
// systems. It is the only file system that a guest program sees.
//
// It knows no system call and no guest memory: package emscripten decodes
// calls, keeps descriptor numbers and the working folder, and asks here. What
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
// neither; their cached nodes are bounded by Options.MaxMounted.
//
// # Sources
//
// Linux's fs/namei.c, mm/shmem.c and fs/pipe.c for behaviour (the model test
// compares with the running kernel); the design of gVisor's tmpfs.
//
// # Locking
//
// FS.mu guards every node, directory entry, chunk and file position of one FS.
// It is never held while a mounted file's data is read, while a Stream is
// called, or while anything blocks; listing a mounted directory for the first
// time does happen under it. Pipes have a mutex each, taken after FS.mu or
// alone. Budgets are atomic.
//
// # Limits
//
// No extended attributes, no file locks (there is one process), no sockets (see
// FS.NewFile), no block devices. Access times follow relatime without its daily
// update. Mounts do not follow changes of their source once a directory has
// been listed.
//
// # Testing
//
// fstest.TestFS, and a model test that runs random operations here and on the
// host's file system and compares outcomes.
package memfs

import (
	"context"
	"io/fs"
	"time"

	"coderunner/pyodide/abi"
)

// Options are an FS's budgets and surroundings. The zero value is usable.
type Options struct {
	MaxBytes   int64            // bytes of data held in memory; 0: 512 MiB
	MaxNodes   int              // names (files, directories, links); 0: 1<<18
	MaxMounted int              // cached nodes of mounts; 0: 1<<19
	Now        func() time.Time // nil: time.Now
	UID, GID   uint32           // owner of new files, as stat reports it
}

// FS is one file system. It is safe for concurrent use.
type FS struct{ root Node }

// New makes a file system with an empty root directory (mode 0755).
func New(o Options) *FS { return &FS{} }

// Node is an inode: a directory, regular file, symlink, FIFO or device. Nodes
// stay valid as long as they are referenced, also after their last name is
// removed. A *Node is opaque; everything is asked of its FS.
type Node struct{ mode uint32 }

// IsDir says whether n is a directory. A node's type never changes.
func (n *Node) IsDir() bool { return false }

// Type is n's S_IFMT bits.
func (n *Node) Type() uint32 { return 0 }

// Root is the root directory.
func (fsys *FS) Root() *Node { return &fsys.root }

// Lookup finds the node at path, relative to dir unless path is absolute (dir
// may then be nil). follow says whether a symlink as the last component is
// followed. An empty path is ENOENT.
func (fsys *FS) Lookup(dir *Node, path string, follow bool) (*Node, abi.Errno) {
	return nil, abi.ENOSYS
}

// Stat is n's struct stat.
func (fsys *FS) Stat(n *Node) abi.Stat { return abi.Stat{} }

// Access checks the R_OK, W_OK and X_OK bits of mode against the owner's
// permission bits: EACCES, or EROFS for W_OK on a read-only mount.
func (fsys *FS) Access(n *Node, mode uint32) abi.Errno { return abi.ENOSYS }

// Open opens or creates the file at path, with the abi.O_* flags. perm is used
// for a created file; the caller has applied a umask, if any. A returned File
// has one reference. Opening a FIFO blocks as POSIX says unless O_NONBLOCK is
// set; EINTR when ctx ends first.
//
// Understood flags: access mode, O_CREAT, O_EXCL, O_TRUNC, O_APPEND,
// O_NONBLOCK, O_DIRECTORY, O_NOFOLLOW, O_PATH, O_TMPFILE; others are ignored.
func (fsys *FS) Open(ctx context.Context, dir *Node, path string, flags, perm uint32) (*File, abi.Errno) {
	return nil, abi.ENOSYS
}

// Mkdir makes a directory. perm's type bits are ignored.
func (fsys *FS) Mkdir(dir *Node, path string, perm uint32) abi.Errno { return abi.ENOSYS }

// Mknod makes a regular file (S_IFREG or no type) or a FIFO (S_IFIFO); other
// types are EPERM, as they are for a user without privileges.
func (fsys *FS) Mknod(dir *Node, path string, mode uint32) abi.Errno { return abi.ENOSYS }

// Symlink makes a symbolic link at path that holds target.
func (fsys *FS) Symlink(target string, dir *Node, path string) abi.Errno { return abi.ENOSYS }

// Readlink is what the symlink n holds; EINVAL for other nodes.
func (fsys *FS) Readlink(n *Node) (string, abi.Errno) { return "", abi.ENOSYS }

// Link makes newPath another name of the file at oldPath (EPERM for
// directories, EXDEV for files of a mount). follow is AT_SYMLINK_FOLLOW.
func (fsys *FS) Link(oldDir *Node, oldPath string, newDir *Node, newPath string, follow bool) abi.Errno {
	return abi.ENOSYS
}

// Unlink removes a name that is not a directory's (EISDIR).
func (fsys *FS) Unlink(dir *Node, path string) abi.Errno { return abi.ENOSYS }

// Rmdir removes an empty directory.
func (fsys *FS) Rmdir(dir *Node, path string) abi.Errno { return abi.ENOSYS }

// Rename moves a name, atomically replacing newPath where POSIX allows it.
// flags are abi.RENAME_*; RENAME_EXCHANGE is EINVAL.
func (fsys *FS) Rename(oldDir *Node, oldPath string, newDir *Node, newPath string, flags uint32) abi.Errno {
	return abi.ENOSYS
}

// Chmod sets the permission bits (0o7777) of n.
func (fsys *FS) Chmod(n *Node, perm uint32) abi.Errno { return abi.ENOSYS }

// Chown records the owner's ids; ^uint32(0) leaves one as it is.
func (fsys *FS) Chown(n *Node, uid, gid uint32) abi.Errno { return abi.ENOSYS }

// SetTimes sets the times of n. A Nsec of abi.UTIME_NOW or abi.UTIME_OMIT means
// what it means to utimensat(2); other values outside [0, 1e9) are EINVAL.
func (fsys *FS) SetTimes(n *Node, atime, mtime abi.Timespec) abi.Errno { return abi.ENOSYS }

// Truncate is truncate(2): it needs write permission on n. (File.Truncate is
// ftruncate(2).)
func (fsys *FS) Truncate(n *Node, size int64) abi.Errno { return abi.ENOSYS }

// PathOf is the absolute path of the directory n, for getcwd: ENOENT when it
// was removed, ENOTDIR when it is none, ENAMETOOLONG past abi.PATH_MAX.
func (fsys *FS) PathOf(n *Node) (string, abi.Errno) { return "", abi.ENOSYS }

// Statfs describes the file system: its budgets and what is left of them.
func (fsys *FS) Statfs() abi.Statfs { return abi.Statfs{} }

// Usage is what the budgets have been charged so far.
func (fsys *FS) Usage() (bytes int64, nodes int) { return 0, 0 }

// Pipe makes a pipe with a 64 KiB buffer. flags may hold O_NONBLOCK. ENFILE
// when the buffer is not within the budget.
func (fsys *FS) Pipe(flags uint32) (r, w *File, errno abi.Errno) { return nil, nil, abi.ENOSYS }

// NewFile makes an open file of a stream that has no name: a socket, a
// standard stream. flags are open flags (access mode, O_NONBLOCK…), mode is
// the st_mode that Stat reports.
func (fsys *FS) NewFile(s Stream, flags, mode uint32) *File { return nil }

// Device puts a character device at path, whose folder must exist. open is
// called for each Open without any lock held; its Stream belongs to the File,
// whose last Close closes it. rdev is what stat reports as st_rdev.
func (fsys *FS) Device(path string, perm, rdev uint32, open func(flags uint32) (Stream, abi.Errno)) error {
	return abi.ENOSYS
}

// Mount shows src, read-only, at path, which must be an empty directory.
// Directories are listed and files opened when they are first asked for.
// Entries of src that are neither directories nor regular files are absent.
func (fsys *FS) Mount(path string, src fs.FS) error { return abi.ENOSYS }

// MountInto adds the entries at the top of src to the existing directory dir,
// read-only. Directories that both have are merged, recursively, as they are
// first looked into; of two files, or a file and a directory, the first one
// there wins. So any number of trees can be shown in one directory.
func (fsys *FS) MountInto(dir string, src fs.FS) error { return abi.ENOSYS }

// FS is a read-only view for Go code. It follows symlinks as Lookup does and
// implements fs.StatFS, fs.ReadDirFS, fs.ReadFileFS and fs.ReadLinkFS.
func (fsys *FS) FS() fs.FS { return nil }

// WriteFile writes a whole file, making it (with perm) when it is not there.
func (fsys *FS) WriteFile(path string, data []byte, perm uint32) error { return abi.ENOSYS }

// ReadFile reads a whole regular file.
func (fsys *FS) ReadFile(path string) ([]byte, error) { return nil, abi.ENOSYS }

// MkdirAll makes a directory and the ones above it that are missing.
func (fsys *FS) MkdirAll(path string, perm uint32) error { return abi.ENOSYS }
