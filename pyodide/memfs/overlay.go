package memfs

import (
	"cmp"

	"coderunner/pyodide/abi"
)

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
	// Statfs describes the directory's file system; false if it is unknown.
	Statfs() (abi.Statfs, bool)
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

// MountHostDir overlays the directory at path on f, as overlayfs does: names that
// are in memory hide f's; where both have a directory, the two are merged in the
// same way. A name created in a merged directory is created in f, or not at all;
// see [FS.Private] and [FS.Scratch] for exceptions.
func (fsys *FS) MountHostDir(path string, f HostDir) error {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	n, e := fsys.findLocked(nil, path, followLast, host)
	switch {
	case e != abi.OK:
	case !n.IsDir():
		e = abi.ENOTDIR
	case n.dir().lower != nil:
		e = abi.EBUSY
	default:
		n.dir().lower = &hostPath{dir: f, name: "."}
		n.dir().mount = true
	}
	return pathError("mount", path, e)
}

// Private keeps new names in the directory at path in memory, even over a HostDir.
func (fsys *FS) Private(path string) error {
	return fsys.mark(path, func(d *directory) { d.private = true })
}

// Scratch keeps new names in the directory at path in memory, unless it lies over
// a HostDir where they may be created.
func (fsys *FS) Scratch(path string) error {
	return fsys.mark(path, func(d *directory) { d.scratch = true })
}

func (fsys *FS) mark(path string, f func(*directory)) error {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	n, e := fsys.findLocked(nil, path, followLast, host)
	if e == abi.OK && !n.IsDir() {
		e = abi.ENOTDIR
	}
	if e == abi.OK {
		f(n.dir())
	}
	return pathError("mark", path, e)
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

// A node whose host is set stands for an entry of a HostDir as it was looked up:
// there may be any number of nodes for one file, and none is kept. A directory in
// memory with a lower directory is an ordinary node.

// lookupHostLocked returns a node for the name in n's lower directory, nil if
// there is none.
func (fsys *FS) lookupHostLocked(n *Node, name string) (*Node, abi.Errno) {
	o := n.dir().lower.join(name)
	st, e := o.dir.Lstat(o.name)
	switch e {
	case abi.OK:
	case abi.ENOENT:
		return nil, abi.OK
	default:
		return nil, e
	}
	c := &Node{perm: st.Mode & 0o7777, readonly: !o.writable(), nlink: max(1, st.Nlink), host: o, seen: st}
	switch typ := st.Mode & abi.S_IFMT; typ {
	case abi.S_IFDIR:
		c.kind = &directory{parent: n, name: name, cookie: cookieDotDot, lower: o}
	case abi.S_IFLNK:
		target, e := o.dir.Readlink(o.name)
		if e != abi.OK {
			return nil, e
		}
		// A link of /proc may have no target: nothing that could be followed.
		c.kind = &symlink{cmp.Or(target, "/")}
	default:
		c.kind = otherFile(typ)
	}
	return c, abi.OK
}

// attachLowerLocked sets the lower directory of child, a node in memory that n
// holds by name, if both n's lower directory and child have one.
func (fsys *FS) attachLowerLocked(n, child *Node, name string) {
	if n.dir().lower == nil || child.dir() == nil || child.dir().lower != nil || child.dir().opaque {
		return
	}
	o := n.dir().lower.join(name)
	if st, e := o.dir.Lstat(o.name); e == abi.OK && st.IsDir() {
		child.dir().lower = o
	} else {
		child.dir().opaque = true
	}
}

// hostPath returns where in a HostDir the name at p is, or would be created; nil
// in memory.
func (p place) hostPath(who actor) *hostPath {
	switch {
	case p.node != nil:
		return p.node.host
	case p.parent.dir().lower == nil:
		return nil
	}
	d := p.parent.dir()
	o := d.lower.join(p.name)
	if p.parent.host == nil && (who == host || d.private || d.scratch && !o.writable()) {
		return nil
	}
	return o
}

// readOnly reports whether new names are refused here: the lower directory
// cannot be written.
func (d *directory) readOnly() bool {
	return d.lower != nil && !d.private && !d.scratch && !d.lower.writable()
}

// fresh reports whether the directory that a program holds is still what its
// name in the HostDir stands for.
func (n *Node) fresh() bool {
	if n == nil || n.host == nil || !n.IsDir() {
		return true
	}
	st, e := n.host.dir.Lstat(n.host.name)
	return e == abi.OK && st.IsDir() && st.Ino == n.seen.Ino && st.Dev == n.seen.Dev
}

// hostStat returns the guest's view of st, whose Dev is never that of files in
// memory.
func hostStat(st abi.Stat) abi.Stat {
	if st.Dev <= 1 {
		st.Dev += 1 << 20
	}
	return st
}

// restat returns the current state of a host directory, and for other nodes the
// state at their lookup.
func (n *Node) restat() abi.Stat {
	if n.IsDir() {
		if st, e := n.host.dir.Lstat(n.host.name); e == abi.OK && st.IsDir() {
			return hostStat(st)
		}
	}
	return hostStat(n.seen)
}

// mayHost is Access for an entry of a HostDir, which decides itself when the
// entry is used.
func (n *Node) mayHost(mask uint32) bool {
	if n.seen.UID == 0 {
		return n.perm>>6&mask == mask
	}
	return (n.perm>>3|n.perm)&mask == mask
}
