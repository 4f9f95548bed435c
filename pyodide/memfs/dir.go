package memfs

import (
	"slices"

	"coderunner/pyodide/abi"
)

// directory is the part of a Node that holds names.
//
// Entries are found by name in a map and listed in the order of their cookies,
// which only grow: a listing goes on behind the last cookie it has seen, however
// the directory has changed meanwhile.
type directory struct {
	parent  *Node // the root's is itself; kept when the directory is removed
	name    string
	entries map[string]*entry // nil while empty
	order   []*entry          // by cookie; removed ones have no node
	removed int               // entries of order without a node
	cookie  int64             // of the newest entry
	pending []layer           // mounts not listed yet, oldest first
	mount   bool              // a mount point: not to be removed or moved

	lower   *hostPath // of a HostDir, merged below the entries; may be nil
	opaque  bool      // has no lower directory, as looked up once
	private bool      // see FS.Private

	// Of a directory that was removed: how many of those removed from it are
	// still charged, and whether it is.
	pins    int
	charged bool
	scratch bool // see FS.Scratch
}

type entry struct {
	name   string
	node   *Node // nil: removed
	cookie int64
}

// Cookies of the entries that every directory has.
const (
	cookieDot    = 1
	cookieDotDot = 2
)

// newDir returns a directory that has no entry in parent yet; a nil parent makes
// it a root.
func (fsys *FS) newDir(parent *Node, name string, perm uint32) *Node {
	d := &directory{parent: parent, name: name, cookie: cookieDotDot}
	n := fsys.newNode(d, perm)
	if parent == nil {
		d.parent = n
	}
	return n
}

// insert adds a name, which is new and charged.
func (d *directory) insert(name string, n *Node) {
	if d.entries == nil {
		d.entries = make(map[string]*entry)
	}
	d.cookie++
	e := &entry{name: name, node: n, cookie: d.cookie}
	d.entries[name] = e
	d.order = append(d.order, e)
}

// remove removes an existing name.
func (d *directory) remove(name string) {
	e := d.entries[name]
	delete(d.entries, name)
	e.node = nil
	d.removed++
	if d.removed > 32 && d.removed > len(d.order)/2 {
		d.order = slices.DeleteFunc(d.order, func(e *entry) bool { return e.node == nil })
		d.removed = 0
	}
}

// after returns the index in order of the first entry behind cookie.
func (d *directory) after(cookie int64) int {
	i, found := slices.BinarySearchFunc(d.order, cookie, func(e *entry, c int64) int {
		return int(min(1, max(-1, e.cookie-c)))
	})
	if found {
		i++
	}
	return i
}

// childLocked returns the node called name in the directory n, or nil. It loads
// pending mounts.
func (fsys *FS) childLocked(n *Node, name string) (*Node, abi.Errno) {
	if e := fsys.loadLocked(n); e != abi.OK {
		return nil, e
	}
	if e := n.dir().entries[name]; e != nil {
		fsys.attachLowerLocked(n, e.node, name)
		return e.node, abi.OK
	}
	if n.dir().lower != nil {
		return fsys.lookupHostLocked(n, name)
	}
	return nil, abi.OK
}

// addLocked adds a name to the directory n and charges it.
func (fsys *FS) addLocked(n *Node, name string, child *Node) abi.Errno {
	if fsys.bytes.beside != nil && fsys.bytes.left() < nameCost || !fsys.names.take(1) {
		return abi.ENOSPC
	}
	n.dir().insert(name, child)
	child.nlink++
	if child.IsDir() {
		child.nlink++ // its own "."
		n.nlink++     // its ".."
	}
	fsys.touchLocked(n)
	return abi.OK
}

// readDirLocked emits the entries in memory of the directory n behind cookie; see
// File.ReadDir. It returns the cookie of the last entry that emit took, and
// whether emit took them all.
func (fsys *FS) readDirLocked(n *Node, cookie int64, emit func(abi.Dirent) bool) (last int64, all bool, errno abi.Errno) {
	if n.nlink == 0 {
		return cookie, false, abi.ENOENT
	}
	if e := fsys.loadLocked(n); e != abi.OK {
		return cookie, false, e
	}
	fsys.accessedLocked(n)
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
		if e.node == nil {
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
