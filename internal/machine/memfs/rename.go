package memfs

import (
	"coderunner/internal/machine/abi"
)

// Rename moves a name, atomically replacing newPath where POSIX allows it.
// flags are abi.RENAME_*; RENAME_EXCHANGE is EINVAL.
func (fsys *FS) Rename(oldDir *Node, oldPath string, newDir *Node, newPath string, flags uint32) abi.Errno {
	if flags&^abi.RENAME_NOREPLACE != 0 {
		return abi.EINVAL
	}
	noReplace := flags&abi.RENAME_NOREPLACE != 0
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	from, e := fsys.walkLocked(oldDir, oldPath, followNever, guest)
	if e != abi.OK {
		return e
	}
	to, e := fsys.walkLocked(newDir, newPath, followNever, guest)
	if e != abi.OK {
		return e
	}
	if from.kind == lastName && to.kind == lastName && from.node != nil {
		if a, b := from.node.host, to.hostPath(guest); a != nil || b != nil {
			return renameHost(a, b, from, to, noReplace)
		}
	}
	if e := renameNames(from, to, noReplace); e != abi.OK {
		return e
	}
	if from.node == to.node {
		return abi.OK
	}
	if e := fsys.renameRightsLocked(from, to); e != abi.OK {
		return e
	}
	fsys.moveLocked(from, to)
	return abi.OK
}

// renameHost is rename where at least one of the names is in a HostDir: a and
// b are where they are.
func renameHost(a, b *hostPath, from, to location, noReplace bool) abi.Errno {
	switch {
	case a == nil || b == nil || a.dir != b.dir:
		return abi.EXDEV
	case noReplace && to.node != nil:
		return abi.EEXIST
	case !from.node.IsDir() && (from.slash || to.slash):
		return abi.ENOTDIR
	case from.node.readonly || !b.writable():
		return abi.EROFS
	}
	return a.dir.Rename(a.name, b.name)
}

// renameNames is the part of rename's checks that looks at what the paths are,
// in do_renameat2's order.
func renameNames(from, to location, noReplace bool) abi.Errno {
	switch {
	case from.kind != lastName:
		return abi.EBUSY
	case to.kind != lastName:
		if noReplace {
			return abi.EEXIST
		}
		return abi.EBUSY
	case from.parent.readonly != to.parent.readonly:
		return abi.EXDEV
	case from.parent.readonly:
		return abi.EROFS
	case from.node == nil:
		return abi.ENOENT
	case noReplace && to.node != nil:
		return abi.EEXIST
	case !from.node.IsDir() && (from.slash || to.slash):
		return abi.ENOTDIR
	case from.node.IsDir() && from.node.holds(to.parent):
		return abi.EINVAL
	case to.node != nil && to.node.IsDir() && to.node.holds(from.parent):
		return abi.ENOTEMPTY
	}
	return abi.OK
}

// holds reports whether the directory n is other or lies above it.
func (n *Node) holds(other *Node) bool {
	for ; ; other = other.dir().parent {
		if other == n {
			return true
		}
		if other.dir().parent == other {
			return false
		}
	}
}

// renameRightsLocked is the rest of rename's checks, in vfs_rename's order.
func (fsys *FS) renameRightsLocked(from, to location) abi.Errno {
	if e := from.removable(); e != abi.OK {
		return e
	}
	isDir := from.node.IsDir()
	if to.node == nil {
		if e := to.parent.writable(guest); e != abi.OK {
			return e
		}
	} else {
		if e := to.removable(); e != abi.OK {
			return e
		}
		switch {
		case isDir && !to.node.IsDir():
			return abi.ENOTDIR
		case !isDir && to.node.IsDir():
			return abi.EISDIR
		}
	}
	switch {
	case isDir && (from.node.dir().mount || from.node.dir().lower != nil):
		return abi.EBUSY
	case isDir && from.parent != to.parent && !from.node.may(guest, abi.W_OK):
		return abi.EACCES // its ".." changes
	case isDir && to.node != nil:
		return fsys.emptyDirLocked(to.node)
	}
	return abi.OK
}

// moveLocked does a rename that was checked. The number of names never grows.
func (fsys *FS) moveLocked(from, to location) {
	n := from.node
	from.parent.dir().remove(from.name)
	if to.node != nil {
		to.parent.dir().entries[to.name].node = n
		if to.node.IsDir() {
			fsys.dropDirLocked(to.parent, to.node)
		} else {
			fsys.unnameLocked(to.node)
		}
	} else {
		to.parent.dir().insert(to.name, n)
	}
	if n.IsDir() {
		from.parent.nlink--
		to.parent.nlink++
		n.dir().parent, n.dir().name = to.parent, to.name
	}
	from.parent.touch()
	to.parent.touch()
	n.ctime = now()
	n.unlisted, n.native = false, false
}
