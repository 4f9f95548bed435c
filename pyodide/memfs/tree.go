package memfs

import (
	"coderunner/pyodide/abi"
)

// maxLinkCount is how many names a file may have, as on ext4.
const maxLinkCount = 65000

// vacant resolves path to a name that is not there and may be made. isDir says
// whether a slash may follow it.
func (fsys *FS) vacant(dir *Node, path string, isDir bool, who actor) (place, abi.Errno) {
	p, e := fsys.walk(dir, path, followNever, who)
	switch {
	case e != abi.OK:
		return p, e
	case p.node != nil:
		return p, abi.EEXIST
	case p.slash && !isDir:
		return p, abi.ENOENT
	}
	return p, p.parent.writable(who)
}

// writable says whether who may add and remove names in the directory n.
func (n *Node) writable(who actor) abi.Errno {
	switch {
	case n.ext != nil && who == guest:
		return abi.OK // it says for itself, of each name
	case n.readonly || n.ext != nil:
		return abi.EROFS
	case n.nlink == 0:
		return abi.ENOENT
	case !n.may(who, abi.W_OK|abi.X_OK):
		return abi.EACCES
	}
	return abi.OK
}

// Mkdir makes a directory. perm's type bits are ignored.
func (fsys *FS) Mkdir(dir *Node, path string, perm uint32) abi.Errno {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	return fsys.mkdir(dir, path, perm, guest)
}

func (fsys *FS) mkdir(dir *Node, path string, perm uint32, who actor) abi.Errno {
	p, e := fsys.vacant(dir, path, true, who)
	if e != abi.OK {
		return e
	}
	if o := p.outside(who); o != nil {
		return o.folder.Mkdir(o.name, perm&0o777)
	}
	return fsys.add(p.parent, p.name, fsys.newDir(p.parent, p.name, perm))
}

// Mknod makes a regular file (S_IFREG or no type) or a FIFO (S_IFIFO); other
// types are EPERM, as they are for a user without privileges.
func (fsys *FS) Mknod(dir *Node, path string, mode uint32) abi.Errno {
	typ := mode & abi.S_IFMT
	switch typ {
	case 0:
		typ = abi.S_IFREG
	case abi.S_IFREG, abi.S_IFIFO:
	default:
		return abi.EPERM
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	p, e := fsys.vacant(dir, path, false, guest)
	if e != abi.OK {
		return e
	}
	if o := p.outside(guest); o != nil {
		if typ != abi.S_IFREG {
			return abi.EPERM
		}
		f, e := o.folder.Open(o.name, abi.O_WRONLY|abi.O_CREAT|abi.O_EXCL, mode&0o777)
		if e == abi.OK {
			f.Close()
		}
		return e
	}
	return fsys.add(p.parent, p.name, fsys.newFile(typ, mode))
}

// newFile makes a regular file or a FIFO without a name.
func (fsys *FS) newFile(typ, perm uint32) *Node {
	n := fsys.newNode(typ, perm)
	if typ == abi.S_IFREG {
		n.data = new(contents)
	} else {
		n.fifo = new(pipe)
	}
	return n
}

// Symlink makes a symbolic link at path that holds target. In a Folder none is
// made (EPERM): whoever follows it there, it would lead to the host's files.
func (fsys *FS) Symlink(target string, dir *Node, path string) abi.Errno {
	if e := checkPath(target); e != abi.OK {
		return e
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	p, e := fsys.vacant(dir, path, false, guest)
	if e != abi.OK {
		return e
	}
	if p.outside(guest) != nil {
		return abi.EPERM
	}
	if !fsys.bytes.take(int64(len(target))) {
		return abi.ENOSPC
	}
	n := fsys.newNode(abi.S_IFLNK, 0o777)
	n.target = target
	if e := fsys.add(p.parent, p.name, n); e != abi.OK {
		fsys.bytes.give(int64(len(target)))
		return e
	}
	return abi.OK
}

// Link makes newPath another name of the file at oldPath (EPERM for
// directories, EXDEV for files of a mount). follow is AT_SYMLINK_FOLLOW.
func (fsys *FS) Link(oldDir *Node, oldPath string, newDir *Node, newPath string, follow bool) abi.Errno {
	f := followSlash
	if follow {
		f = followLast
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	n, e := fsys.find(oldDir, oldPath, f, guest)
	if e != abi.OK {
		return e
	}
	p, e := fsys.vacant(newDir, newPath, false, guest)
	switch {
	case e != abi.OK:
		return e
	case n.readonly || n.ext != nil || p.outside(guest) != nil:
		return abi.EXDEV
	case n.IsDir():
		return abi.EPERM
	case n.nlink >= maxLinkCount:
		return abi.EMLINK
	}
	if e := fsys.add(p.parent, p.name, n); e != abi.OK {
		return e
	}
	n.ctime = fsys.time()
	return abi.OK
}

// removable says whether who may remove the name at p.
func (p place) removable(who actor) abi.Errno {
	if e := p.parent.writable(who); e != abi.OK {
		return e
	}
	if p.node.readonly && !(p.node.IsDir() && p.node.dir.mount) {
		return abi.EROFS // a mount's entry, shown in a directory of ours
	}
	return abi.OK
}

// Unlink removes a name that is not a directory's (EISDIR).
func (fsys *FS) Unlink(dir *Node, path string) abi.Errno {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	p, e := fsys.walk(dir, path, followNever, guest)
	switch {
	case e != abi.OK:
		return e
	case p.kind != lastName:
		return abi.EISDIR
	case p.node == nil:
		if p.parent.readonly {
			return abi.EROFS
		}
		return abi.ENOENT
	case p.slash && !p.node.IsDir():
		return abi.ENOTDIR
	case p.slash:
		return abi.EISDIR
	}
	if e := p.removable(guest); e != abi.OK {
		return e
	}
	if p.node.IsDir() {
		return abi.EISDIR
	}
	if o := p.node.ext; o != nil {
		return o.folder.Remove(o.name, false)
	}
	p.parent.dir.remove(p.name)
	fsys.touch(p.parent)
	fsys.unname(p.node)
	return abi.OK
}

// Rmdir removes an empty directory.
func (fsys *FS) Rmdir(dir *Node, path string) abi.Errno {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	p, e := fsys.walk(dir, path, followNever, guest)
	switch {
	case e != abi.OK:
		return e
	case p.kind == lastRoot:
		return abi.EBUSY
	case p.kind == lastDot:
		return abi.EINVAL
	case p.kind == lastDotDot:
		return abi.ENOTEMPTY
	case p.node == nil:
		if p.parent.readonly {
			return abi.EROFS
		}
		return abi.ENOENT
	}
	if e := p.removable(guest); e != abi.OK {
		return e
	}
	if o := p.node.ext; o != nil {
		if !p.node.IsDir() {
			return abi.ENOTDIR
		}
		return o.folder.Remove(o.name, true)
	}
	if e := fsys.emptyDir(p.node); e != abi.OK {
		return e
	}
	p.parent.dir.remove(p.name)
	fsys.touch(p.parent)
	fsys.dropDir(p.parent, p.node)
	return abi.OK
}

// emptyDir says whether n is a directory that may be removed.
func (fsys *FS) emptyDir(n *Node) abi.Errno {
	switch {
	case !n.IsDir():
		return abi.ENOTDIR
	case n.dir.mount || n.dir.under != nil:
		return abi.EBUSY
	}
	if e := fsys.load(n); e != abi.OK {
		return e
	}
	if len(n.dir.entries) > 0 {
		return abi.ENOTEMPTY
	}
	return abi.OK
}

// dropDir ends the empty directory n, whose name in parent is gone already.
func (fsys *FS) dropDir(parent, n *Node) {
	parent.nlink--
	n.nlink = 0
	n.ctime = fsys.time()
	n.dir.order, n.dir.removed = nil, 0
	n.dir.owed = true
	n.dir.parent.dir.pins++
	fsys.settle(n)
}

// settle gives back the charge of a directory that was removed once nothing
// keeps it: an open one keeps those above it, for "..".
func (fsys *FS) settle(n *Node) {
	for n.dir != nil && n.dir.owed && n.opens == 0 && n.dir.pins == 0 {
		n.dir.owed = false
		fsys.names.give(1)
		n = n.dir.parent
		n.dir.pins--
	}
}
