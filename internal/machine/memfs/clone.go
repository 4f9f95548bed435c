package memfs

import (
	"cmp"
	"slices"

	"coderunner/internal/machine/abi"
)

// Clone returns a file system that begins with what fsys has, in its own bounds and
// within maxBytes. Its directories are copied as they are first looked into, so fsys
// must not change any more, and have nothing but directories, symbolic links, devices
// and mounts.
func (fsys *FS) Clone(maxBytes int64) *FS {
	c := &FS{}
	c.bytes.max, c.names.max, c.mounted.max, c.handles.max = maxBytes, fsys.names.max, fsys.mounted.max, fsys.handles.max
	c.bytes.used.Store(fsys.bytes.used.Load())
	c.names.used.Store(fsys.names.used.Load())
	c.mounted.used.Store(fsys.mounted.used.Load())
	c.lastIno.Store(fsys.lastIno.Load())
	if fsys.bytes.beside != nil {
		c.countNames()
	}
	c.root = cloneNode(fsys.root, nil, now())
	return c
}

// cloneEntries copies the entries of the directory that n is a clone of, once.
func (n *Node) cloneEntries() {
	d := n.dir()
	if d.origin == nil {
		return
	}
	entries := d.origin.order
	d.origin = nil
	for _, e := range entries {
		if e.node != nil {
			d.cookie = e.cookie - 1
			d.insert(e.name, cloneNode(e.node, n, n.mtime))
		}
	}
}

// cloneNode returns a copy of n, made at the time t. Of a directory's entries it has
// none yet.
func cloneNode(n, parent *Node, t abi.Timespec) *Node {
	c := *n
	if !c.readonly {
		c.atime, c.mtime, c.ctime = t, t, t
	}
	switch k := n.kind.(type) {
	case *directory:
		c.kind = &directory{
			origin: cmp.Or(k.origin, k), parent: parent, name: k.name, cookie: k.cookie, pending: slices.Clip(k.pending),
			mount: k.mount, private: k.private, scratch: k.scratch, shares: k.shares,
		}
		if parent == nil {
			c.dir().parent = &c
		}
	case *symlink:
		c.kind = &symlink{k.target}
	case *source:
		s := *k
		c.kind = &s
	case *device: // which do not change
	default:
		panic("memfs: clone of a file that can be written")
	}
	return &c
}
