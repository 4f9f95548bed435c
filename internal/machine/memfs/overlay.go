package memfs

import (
	"coderunner/internal/machine/abi"
)

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
