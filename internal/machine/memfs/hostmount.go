package memfs

import (
	"cmp"

	"coderunner/internal/machine/abi"
)

// MountHostDir overlays the directory at path on f, as overlayfs does: names that
// are in memory hide f's; where both have a directory, the two are merged in the
// same way. A name created in a merged directory is created in f, or not at all;
// see [FS.Private] and [FS.Scratch] for exceptions.
func (fsys *FS) MountHostDir(path string, f HostDir) error {
	var busy error
	err := fsys.change("mount", path, func(n *Node) {
		if n.dir().lower != nil {
			busy = pathError("mount", path, abi.EBUSY)
			return
		}
		n.dir().lower = &hostPath{dir: f, name: "."}
		n.dir().mount = true
	})
	return cmp.Or(err, busy)
}

// Private keeps new names in the directory at path in memory, even over a HostDir.
func (fsys *FS) Private(path string) error {
	return fsys.change("mark", path, func(n *Node) { n.dir().private = true })
}

// Scratch keeps new names in the directory at path in memory, unless it lies over
// a HostDir where they may be created.
func (fsys *FS) Scratch(path string) error {
	return fsys.change("mark", path, func(n *Node) { n.dir().scratch = true })
}

// Unlist leaves the regular file at path out of listings of its directory, where it is
// found by its name alone, until it is written, moved or linked.
func (fsys *FS) Unlist(path string) error {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	n, e := fsys.findLocked(nil, path, followNever, host)
	if e == abi.OK && n.data() == nil {
		e = abi.EINVAL
	}
	if e == abi.OK {
		n.unlisted = true
	}
	return pathError("unlist", path, e)
}

// A node whose host is set stands for an entry of a HostDir as it was looked up:
// there may be any number of nodes for one file, and none is kept. A directory in
// memory with a lower directory is an ordinary node.

// hostPath returns where in a HostDir the name at p is, or would be created; nil
// in memory.
func (p location) hostPath(who actor) *hostPath {
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
