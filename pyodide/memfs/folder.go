package memfs

import (
	"coderunner/pyodide/abi"
)

// Folder is a folder outside of memory that programs work in: a folder of the
// host. Nothing of it is remembered between two operations, so that what
// others do to it is seen at once.
//
// A name is a path below the folder as io/fs has it, "." for the folder itself,
// and holds no symbolic link but perhaps in its last element: links are
// followed here, by the names that the guest knows, and never by the folder.
// Errors are those of the system calls. Methods are called with FS.mu held,
// one at a time.
type Folder interface {
	// Lstat describes a file. Dev and Ino tell files apart, a UID of 0 is the
	// guest's own.
	Lstat(name string) (abi.Stat, abi.Errno)
	Readlink(name string) (string, abi.Errno)
	// Open opens or makes a regular file. Of the flags the access mode,
	// O_CREAT together with O_EXCL, O_TRUNC and O_APPEND count. A file of any
	// other type is EACCES, and is not opened.
	Open(name string, flags, perm uint32) (FolderFile, abi.Errno)
	// List begins to list a folder.
	List(name string) (FolderList, abi.Errno)

	Mkdir(name string, perm uint32) abi.Errno
	// Remove removes a name, of a folder if dir is set and of anything else
	// if not.
	Remove(name string, dir bool) abi.Errno
	Rename(old, new string) abi.Errno
	Chmod(name string, perm uint32) abi.Errno
	SetTimes(name string, atime, mtime abi.Timespec) abi.Errno

	// Writable says whether a name may be made, changed or removed.
	Writable(name string) bool
	// Statfs describes the file system that the folder is on; false if that
	// cannot be known.
	Statfs() (abi.Statfs, bool)
}

// FolderFile is an open regular file. Its methods are called without FS.mu.
type FolderFile interface {
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

// FolderList goes through the entries of a folder.
type FolderList interface {
	// Next gives some entries, without cookies, "." and "..". None: the end.
	Next() ([]abi.Dirent, abi.Errno)
	Close()
}

// MountFolder shows f at path, which must be a directory. Names that the
// directory has already stay; where both have a directory, the two are merged
// in the same way. What the guest makes in a merged directory it makes in the
// folder, or not at all; see [FS.Private] and [FS.Scratch] for exceptions.
func (fsys *FS) MountFolder(path string, f Folder) error {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	n, e := fsys.find(nil, path, followLast, host)
	switch {
	case e != abi.OK:
	case !n.IsDir():
		e = abi.ENOTDIR
	case n.dir.under != nil:
		e = abi.EBUSY
	default:
		n.dir.under = &outside{folder: f, name: "."}
		n.dir.mount = true
	}
	return pathError("mount", path, e)
}

// Private keeps new names in the directory at path in memory, whatever is
// mounted there.
func (fsys *FS) Private(path string) error {
	return fsys.mark(path, func(d *directory) { d.private = true })
}

// Scratch keeps new names in the directory at path in memory, unless a folder
// is mounted there in which they may be made.
func (fsys *FS) Scratch(path string) error {
	return fsys.mark(path, func(d *directory) { d.scratch = true })
}

func (fsys *FS) mark(path string, f func(*directory)) error {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	n, e := fsys.find(nil, path, followLast, host)
	if e == abi.OK && !n.IsDir() {
		e = abi.ENOTDIR
	}
	if e == abi.OK {
		f(n.dir)
	}
	return pathError("mark", path, e)
}

// outside is where something is in a Folder.
type outside struct {
	folder Folder
	name   string
}

func (o *outside) join(name string) *outside {
	if o.name != "." {
		name = o.name + "/" + name
	}
	return &outside{o.folder, name}
}

func (o *outside) writable() bool { return o.folder.Writable(o.name) }

// A node with a field ext stands for something in a Folder, as it was when it
// was looked up: there may be any number of nodes for one file, and none is
// kept. A directory in memory that has something under it is an ordinary node.

// lookupOutside makes a node for an entry of the directory n, which is not in
// memory; nil if there is none.
func (fsys *FS) lookupOutside(n *Node, name string) (*Node, abi.Errno) {
	o := n.dir.under.join(name)
	st, e := o.folder.Lstat(o.name)
	switch e {
	case abi.OK:
	case abi.ENOENT:
		return nil, abi.OK
	default:
		return nil, e
	}
	c := &Node{typ: st.Mode & abi.S_IFMT, perm: st.Mode & 0o7777, nlink: max(1, st.Nlink), ext: o, seen: st}
	c.readonly = !o.writable()
	switch c.typ {
	case abi.S_IFDIR:
		c.dir = &directory{parent: n, name: name, cookie: cookieDotDot, under: o}
	case abi.S_IFLNK:
		if c.target, e = o.folder.Readlink(o.name); e != abi.OK {
			return nil, e
		}
		if c.target == "" { // of /proc; nothing that could be followed
			c.target = "/"
		}
	}
	return c, abi.OK
}

// attach puts what a Folder has below the directory n under its child in
// memory, if both are directories.
func (fsys *FS) attach(n, child *Node, name string) {
	if n.dir.under == nil || child.dir == nil || child.dir.under != nil || child.dir.alone {
		return
	}
	o := n.dir.under.join(name)
	if st, e := o.folder.Lstat(o.name); e == abi.OK && st.IsDir() {
		child.dir.under = o
	} else {
		child.dir.alone = true
	}
}

// outside is where the name at p is in a Folder, or would be made; nil: in
// memory.
func (p place) outside(who actor) *outside {
	switch {
	case p.node != nil:
		return p.node.ext
	case p.parent.dir.under == nil:
		return nil
	}
	d := p.parent.dir
	o := d.under.join(p.name)
	if p.parent.ext == nil && (who == host || d.private || d.scratch && !o.writable()) {
		return nil
	}
	return o
}

// showsOnly says that no name may be made in the directory, for it is a
// Folder's that cannot be written.
func (d *directory) showsOnly() bool {
	return d.under != nil && !d.private && !d.scratch && !d.under.writable()
}

// fresh says whether the directory that a program holds is still what its name
// in the Folder stands for.
func (n *Node) fresh() bool {
	if n == nil || n.ext == nil || !n.IsDir() {
		return true
	}
	st, e := n.ext.folder.Lstat(n.ext.name)
	return e == abi.OK && st.IsDir() && st.Ino == n.seen.Ino && st.Dev == n.seen.Dev
}

// statOutside is the guest's view of st: its Dev is never that of files in
// memory.
func statOutside(st abi.Stat) abi.Stat {
	if st.Dev <= 1 {
		st.Dev += 1 << 20
	}
	return st
}

// restat looks at a directory again; of other nodes what was seen at the
// lookup is news enough.
func (n *Node) restat() abi.Stat {
	if n.IsDir() {
		if st, e := n.ext.folder.Lstat(n.ext.name); e == abi.OK && st.IsDir() {
			return statOutside(st)
		}
	}
	return statOutside(n.seen)
}

// mayOutside is Access for a node of a Folder, which has the last word when it
// comes to it.
func (n *Node) mayOutside(mask uint32) bool {
	if n.seen.UID == 0 {
		return n.perm>>6&mask == mask
	}
	return (n.perm>>3|n.perm)&mask == mask
}
