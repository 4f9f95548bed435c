package memfs

import (
	"cmp"
	"io/fs"
	"path"
	"strings"

	"coderunner/internal/machine/abi"
)

// addLayer marks n as changed, so that importlib looks into it again.
func (n *Node) addLayer(l layer) {
	n.dir().pending = append(n.dir().pending, l)
	n.touch()
}

// loadLocked lists the pending layers of the directory n. After an error the
// remaining ones are tried again the next time.
func (in *inodes) loadLocked(n *Node) abi.Errno {
	n.cloneEntries()
	for len(n.dir().pending) > 0 {
		l := n.dir().pending[0]
		list, err := fs.ReadDir(l.fsys, l.dir)
		if err != nil {
			return errnoOf(err)
		}
		if e := in.mergeLocked(n, l, list); e != abi.OK {
			return e
		}
		n.dir().pending = n.dir().pending[1:]
	}
	n.dir().pending = nil
	return abi.OK
}

// mergeLocked adds the entries of one layer to the directory n, all or none.
func (in *inodes) mergeLocked(n *Node, l layer, list []fs.DirEntry) abi.Errno {
	d := n.dir()
	added := 0
	for _, e := range list {
		if d.entries[e.Name()] == nil && mountable(e, l) {
			added++
		}
	}
	if !in.mounted.take(int64(added)) {
		return abi.ENOMEM
	}
	for _, e := range list {
		if !mountable(e, l) {
			continue
		}
		name, at := e.Name(), path.Join(l.dir, e.Name())
		old := d.entries[name]
		switch {
		case old == nil && l.copy:
			in.copyEntryLocked(n, name, layer{l.fsys, at, true}, e)
		case old == nil && e.IsDir():
			dir := in.newDir(n, name, 0o555)
			dir.readonly, dir.nlink = true, 2
			dir.dir().pending = []layer{{fsys: l.fsys, dir: at}}
			d.insert(name, dir)
			n.nlink++
		case old == nil:
			file := in.newNode(&source{fsys: l.fsys, path: at}, 0o444)
			file.entry = e
			file.readonly, file.nlink = true, 1
			d.insert(name, file)
		case e.IsDir() && old.node.IsDir():
			old.node.native = l.copy
			old.node.addLayer(layer{l.fsys, at, l.copy})
		}
	}
	return abi.OK
}

// mountable reports whether an entry is shown: only names that a guest could
// create are.
func mountable(e fs.DirEntry, l layer) bool {
	name := e.Name()
	if name == "" || name == "." || name == ".." || len(name) > abi.NAME_MAX || strings.ContainsAny(name, "/\x00") {
		return false
	}
	return e.IsDir() || e.Type().IsRegular() || l.copy && e.Type() == fs.ModeSymlink
}

// lookupHost returns a node for the name in n's lower directory, nil if
// there is none.
func (n *Node) lookupHost(name string) (*Node, abi.Errno) {
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

// attachLower sets the lower directory of child, a node in memory that n
// holds by name, if both n's lower directory and child have one.
func (n *Node) attachLower(child *Node, name string) {
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
