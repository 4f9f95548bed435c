package memfs

import "coderunner/internal/machine/abi"

// HostDir is a directory of the host that programs work in. Nothing of it is
// cached between two operations, so that changes by others are seen at once.
//
// A name is an io/fs path below the directory, "." for the directory itself. Only
// its last element may be a symbolic link: links are followed here, by the names
// that the guest knows, and never by the HostDir.
// Errors are those of the system calls. Methods are called with FS.mu held,
// one at a time.
type HostDir interface {
	// Lstat describes a file. Dev and Ino identify it; a UID of 0 is the guest's.
	Lstat(name string) (abi.Stat, abi.Errno)
	Readlink(name string) (string, abi.Errno)
	// Open opens or creates a regular file. Of the flags the access mode,
	// O_CREAT together with O_EXCL, O_TRUNC and O_APPEND count. A file of any
	// other type is EACCES, and is not opened.
	Open(name string, flags, perm uint32) (HostFile, abi.Errno)
	// List starts listing a directory.
	List(name string) (HostList, abi.Errno)

	Mkdir(name string, perm uint32) abi.Errno
	// Remove removes a name: a directory's if dir is set, any other if not.
	Remove(name string, dir bool) abi.Errno
	Rename(old, new string) abi.Errno
	Chmod(name string, perm uint32) abi.Errno
	SetTimes(name string, atime, mtime abi.Timespec) abi.Errno

	// Writable reports whether a name may be created, changed or removed.
	Writable(name string) bool
}

// HostFile is an open regular file. Its methods are called without FS.mu.
type HostFile interface {
	// ReadAt reads up to len(p) bytes, 0 at the end of the file.
	ReadAt(p []byte, off int64) (int, abi.Errno)
	// WriteAt writes at off or, if the file was opened with O_APPEND, at the
	// end.
	WriteAt(p []byte, off int64) (int, abi.Errno)
	Truncate(size int64) abi.Errno
	Sync() abi.Errno
	Stat() (abi.Stat, abi.Errno)
	Close()
}

// HostList iterates over the entries of a directory.
type HostList interface {
	// Next returns some entries, without cookies, "." and ".."; none at the end.
	Next() ([]abi.Dirent, abi.Errno)
	Close()
}

// hostPath is a place in a HostDir.
type hostPath struct {
	dir  HostDir
	name string
}

func (o *hostPath) join(name string) *hostPath {
	if o.name != "." {
		name = o.name + "/" + name
	}
	return &hostPath{o.dir, name}
}

func (o *hostPath) writable() bool { return o.dir.Writable(o.name) }

// hostStat returns the guest's view of st, whose Dev is never that of files in
// memory.
func hostStat(st abi.Stat) abi.Stat {
	if st.Dev <= 1 {
		st.Dev += 1 << 20
	}
	return st
}

// listing is the state of reading a HostDir's list.
type listing struct {
	list  HostList
	ahead []abi.Dirent // taken from list, and by nobody else
	n     int64        // of those that were taken before
}
