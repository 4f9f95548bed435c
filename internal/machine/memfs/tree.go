package memfs

import (
	"context"

	"coderunner/internal/machine/abi"
)

// maxLinkCount is how many names a file may have, as on ext4.
const maxLinkCount = 65000

// vacantLocked resolves path to a name that does not exist and may be created. A
// slash may follow it if isDir is set.
func (fsys *FS) vacantLocked(dir *Node, path string, isDir bool, who actor) (location, abi.Errno) {
	p, e := fsys.walkLocked(dir, path, followNever, who)
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

// writable reports whether who may add and remove names in the directory n.
func (n *Node) writable(who actor) abi.Errno {
	switch {
	case n.host != nil && who == guest:
		return abi.OK // the HostDir decides for each name
	case n.readonly || n.host != nil:
		return abi.EROFS
	case n.nlink == 0:
		return abi.ENOENT
	case !n.may(who, abi.W_OK|abi.X_OK):
		return abi.EACCES
	}
	return abi.OK
}

// Mkdir creates a directory. perm's type bits are ignored.
func (fsys *FS) Mkdir(dir *Node, path string, perm uint32) abi.Errno {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	return fsys.mkdirLocked(dir, path, perm, guest)
}

func (fsys *FS) mkdirLocked(dir *Node, path string, perm uint32, who actor) abi.Errno {
	p, e := fsys.vacantLocked(dir, path, true, who)
	if e != abi.OK {
		return e
	}
	if o := p.hostPath(who); o != nil {
		return o.dir.Mkdir(o.name, perm&0o777)
	}
	return fsys.addLocked(p.parent, p.name, fsys.newDir(p.parent, p.name, perm))
}

// Mknod creates a regular file (S_IFREG or no type) or a FIFO (S_IFIFO); other
// types are EPERM, as they are for a user without privileges.
func (fsys *FS) Mknod(dir *Node, path string, mode uint32) abi.Errno {
	typ := mode & abi.S_IFMT
	switch typ {
	case 0:
		typ = abi.S_IFREG
	case abi.S_IFREG, abi.S_IFIFO, abi.S_IFSOCK:
	default:
		return abi.EPERM
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	p, e := fsys.vacantLocked(dir, path, false, guest)
	if e != abi.OK {
		return e
	}
	if o := p.hostPath(guest); o != nil {
		if typ != abi.S_IFREG {
			return abi.EPERM
		}
		f, e := o.dir.Open(o.name, abi.O_WRONLY|abi.O_CREAT|abi.O_EXCL, mode&0o777)
		if e == abi.OK {
			f.Close()
		}
		return e
	}
	return fsys.addLocked(p.parent, p.name, fsys.newFile(typ, mode))
}

// newFile returns a regular file, a FIFO or a socket without a name.
func (in *inodes) newFile(typ, perm uint32) *Node {
	switch typ {
	case abi.S_IFIFO:
		return in.newNode(new(pipe), perm)
	case abi.S_IFSOCK:
		return in.newNode(otherFile(typ), perm)
	}
	return in.newNode(new(contents), perm)
}

// Symlink creates a symbolic link to target at path. In a HostDir it is EPERM:
// whoever followed the link there would reach other files of the host.
func (fsys *FS) Symlink(target string, dir *Node, path string) abi.Errno {
	if e := checkPath(target); e != abi.OK {
		return e
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	p, e := fsys.vacantLocked(dir, path, false, guest)
	if e != abi.OK {
		return e
	}
	if p.hostPath(guest) != nil {
		return abi.EPERM
	}
	if !fsys.bytes.take(int64(len(target))) {
		return abi.ENOSPC
	}
	if e := fsys.addLocked(p.parent, p.name, fsys.newNode(&symlink{target}, 0o777)); e != abi.OK {
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
	n, e := fsys.findLocked(oldDir, oldPath, f, guest)
	if e != abi.OK {
		return e
	}
	p, e := fsys.vacantLocked(newDir, newPath, false, guest)
	switch {
	case e != abi.OK:
		return e
	case n.readonly || n.host != nil || p.hostPath(guest) != nil:
		return abi.EXDEV
	case n.IsDir():
		return abi.EPERM
	case n.nlink >= maxLinkCount:
		return abi.EMLINK
	}
	if e := fsys.addLocked(p.parent, p.name, n); e != abi.OK {
		return e
	}
	n.ctime, n.native = now(), false
	return abi.OK
}

// missing is the error of removing a name that does not exist.
func (p location) missing() abi.Errno {
	if p.parent.readonly {
		return abi.EROFS
	}
	return abi.ENOENT
}

// removable reports whether the guest may remove the name at p.
func (p location) removable() abi.Errno {
	if e := p.parent.writable(guest); e != abi.OK {
		return e
	}
	if p.node.readonly && !(p.node.IsDir() && p.node.dir().mount) {
		return abi.EROFS // a mount's entry, shown in a directory of ours
	}
	return abi.OK
}

// Unlink removes a name that is not a directory's (EISDIR).
func (fsys *FS) Unlink(dir *Node, path string) abi.Errno {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	p, e := fsys.walkLocked(dir, path, followNever, guest)
	switch {
	case e != abi.OK:
		return e
	case p.kind != lastName:
		return abi.EISDIR
	case p.node == nil:
		return p.missing()
	case p.slash && !p.node.IsDir():
		return abi.ENOTDIR
	case p.slash:
		return abi.EISDIR
	}
	if e := p.removable(); e != abi.OK {
		return e
	}
	if p.node.IsDir() {
		return abi.EISDIR
	}
	if o := p.node.host; o != nil {
		return o.dir.Remove(o.name, false)
	}
	p.parent.dir().remove(p.name)
	p.parent.touch()
	fsys.unnameLocked(p.node)
	return abi.OK
}

// Rmdir removes an empty directory.
func (fsys *FS) Rmdir(dir *Node, path string) abi.Errno {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	p, e := fsys.walkLocked(dir, path, followNever, guest)
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
		return p.missing()
	}
	if e := p.removable(); e != abi.OK {
		return e
	}
	if o := p.node.host; o != nil {
		if !p.node.IsDir() {
			return abi.ENOTDIR
		}
		return o.dir.Remove(o.name, true)
	}
	if e := fsys.emptyDirLocked(p.node); e != abi.OK {
		return e
	}
	p.parent.dir().remove(p.name)
	p.parent.touch()
	fsys.dropDirLocked(p.parent, p.node)
	return abi.OK
}

// emptyDirLocked reports whether n is a directory that may be removed.
func (in *inodes) emptyDirLocked(n *Node) abi.Errno {
	switch {
	case !n.IsDir():
		return abi.ENOTDIR
	case n.dir().mount || n.dir().lower != nil:
		return abi.EBUSY
	}
	if e := in.loadLocked(n); e != abi.OK {
		return e
	}
	if len(n.dir().entries) > 0 {
		return abi.ENOTEMPTY
	}
	return abi.OK
}

// dropDirLocked ends the empty directory n, whose name in parent is removed.
func (in *inodes) dropDirLocked(parent, n *Node) {
	parent.nlink--
	n.nlink = 0
	n.ctime = now()
	n.dir().order, n.dir().removed = nil, 0
	n.dir().charged = true
	n.dir().parent.dir().pins++
	in.refundRemovedLocked(n)
}

// refundRemovedLocked refunds the charge of a removed directory once nothing
// keeps it: an open directory keeps those above it, for "..".
func (in *inodes) refundRemovedLocked(n *Node) {
	for n.dir() != nil && n.dir().charged && n.opens == 0 && n.dir().pins == 0 {
		n.dir().charged = false
		in.refundName(n)
		n = n.dir().parent
		n.dir().pins--
	}
}

// Device creates a character device at path, whose parent must exist. open is
// called for each Open without any lock held; its Stream belongs to the File,
// whose last Close closes it. ctx is Open's. rdev is what stat reports as st_rdev.
func (fsys *FS) Device(path string, perm, rdev uint32, open func(ctx context.Context, flags uint32) (Stream, abi.Errno)) error {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	p, e := fsys.vacantLocked(nil, path, false, host)
	if e == abi.OK {
		e = fsys.addLocked(p.parent, p.name, fsys.newNode(&device{rdev, open}, perm))
	}
	return pathError("device", path, e)
}
