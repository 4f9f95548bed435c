package memfs

import (
	"coderunner/internal/machine/abi"
)

// childLocked returns the node called name in the directory n, or nil. It loads
// pending mounts.
func (in *inodes) childLocked(n *Node, name string) (*Node, abi.Errno) {
	if e := in.loadLocked(n); e != abi.OK {
		return nil, e
	}
	if e := n.dir().entries[name]; e != nil {
		n.attachLower(e.node, name)
		return e.node, abi.OK
	}
	if n.dir().lower != nil {
		return n.lookupHost(name)
	}
	return nil, abi.OK
}

// addLocked adds a name to the directory n and charges it.
func (in *inodes) addLocked(n *Node, name string, child *Node) abi.Errno {
	if in.bytes.beside != nil && in.bytes.left() < nameCost || !in.names.take(1) {
		return abi.ENOSPC
	}
	n.dir().insert(name, child)
	child.unlisted = false
	child.nlink++
	if child.IsDir() {
		child.nlink++ // its own "."
		n.nlink++     // its ".."
	}
	n.touch()
	return abi.OK
}

// readDirLocked emits the entries in memory of the directory n behind cookie; see
// File.ReadDir. It returns the cookie of the last entry that emit took, and
// whether emit took them all.
func (in *inodes) readDirLocked(n *Node, cookie int64, emit func(abi.Dirent) bool) (last int64, all bool, errno abi.Errno) {
	if n.nlink == 0 {
		return cookie, false, abi.ENOENT
	}
	if e := in.loadLocked(n); e != abi.OK {
		return cookie, false, e
	}
	n.accessed()
	d := n.dir()
	if cookie < cookieDot {
		if !emit(abi.Dirent{Ino: n.inode(), Off: cookieDot, Type: abi.DT_DIR, Name: "."}) {
			return cookie, false, abi.OK
		}
		cookie = cookieDot
	}
	if cookie < cookieDotDot {
		if !emit(abi.Dirent{Ino: d.parent.inode(), Off: cookieDotDot, Type: abi.DT_DIR, Name: ".."}) {
			return cookie, false, abi.OK
		}
		cookie = cookieDotDot
	}
	for _, e := range d.order[d.after(cookie):] {
		if e.node == nil || e.node.unlisted {
			continue
		}
		t := abi.DirentType(e.node.Type())
		if !emit(abi.Dirent{Ino: e.node.ino, Off: e.cookie, Type: t, Name: e.name}) {
			return cookie, false, abi.OK
		}
		cookie = e.cookie
	}
	return cookie, true, abi.OK
}
