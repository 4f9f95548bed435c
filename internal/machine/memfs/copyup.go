package memfs

import (
	"io/fs"
	"path"

	"coderunner/internal/machine/abi"
)

// A copy of a Go file system is made as the guest goes: the names of a directory when it
// is first looked into, and the data of a file when it is first changed. Its nodes are
// ordinary ones, so whatever is removed, moved or made over it needs no rule.

// MountCopy shows src in the existing directory dir, as what the guest may change: the
// changes are its own, and src is only read. What dir has already hides what src has by
// the same name.
//
// Directories, regular files and, of an [fs.ReadLinkFS], symbolic links are shown, all as
// the guest's own. Directories do not follow changes of src once they have been looked into.
// A file is opened in src with every Open until the guest has changed it, and one that is
// open then shows the changes, too.
func (fsys *FS) MountCopy(dir string, src fs.FS) error {
	return fsys.change("mount", dir, func(n *Node) {
		n.addLayer(layer{src, ".", true})
		n.dir().copies = true
	})
}

// copyEntryLocked adds an entry of a MountCopy to the directory n.
func (in *inodes) copyEntryLocked(n *Node, name string, l layer, e fs.DirEntry) {
	var c *Node
	switch {
	case e.IsDir():
		c = in.newDir(n, name, 0o755)
		c.dir().pending = []layer{l}
		c.nlink++
		n.nlink++
	case e.Type() == fs.ModeSymlink:
		target, err := fs.ReadLink(l.fsys, l.dir)
		if err != nil || target == "" || !in.bytes.take(int64(len(target))) {
			in.mounted.give(1)
			return
		}
		c = in.newNode(&symlink{target}, 0o777)
	default:
		c = in.newNode(&contents{from: &source{fsys: l.fsys, path: l.dir}}, 0o644)
	}
	c.entry, c.mounted, c.native = e, true, true
	c.nlink++
	n.dir().insert(name, c)
}

// openBelow opens the file of the mount that has the data of c, to be read.
func (f *File) openBelow(c *contents, flags uint32) (e abi.Errno) {
	f.fsys.mu.Lock()
	from := c.from
	f.fsys.mu.Unlock()
	if from == nil || flags&3 == abi.O_WRONLY {
		return abi.OK
	}
	if !f.fsys.handles.take(1) {
		return abi.EMFILE
	}
	if f.reader, e = from.open(); e != abi.OK {
		f.fsys.handles.give(1)
		return e
	}
	if f.reader.file == nil {
		return abi.OK
	}
	if info, err := f.reader.file.Stat(); err == nil {
		f.fsys.mu.Lock()
		if c.from != nil {
			c.size = info.Size() // it may have changed since it was looked up
		}
		f.fsys.mu.Unlock()
	}
	return abi.OK
}

// below reports whether a file's data is still that of its reader.
func (f *File) below() bool {
	if f.node.src() != nil {
		return true
	}
	f.fsys.mu.Lock()
	defer f.fsys.mu.Unlock()
	return f.node.data().from != nil
}

// copyUpLocked copies at most the first size bytes of a file of a MountCopy into memory,
// of which it is then. They are read by r, if that is not nil.
func (in *inodes) copyUpLocked(n *Node, size int64, r *reader) (e abi.Errno) {
	c := n.data()
	if c == nil || c.from == nil {
		return abi.OK
	}
	n.learn()
	whole := c.size
	if size > 0 && r == nil {
		if r, e = c.from.open(); e != abi.OK {
			return e
		}
		defer r.close()
	}
	c.size = 0
	for buf := make([]byte, min(chunkSize, size)); c.size < size; {
		k, e := r.readAt(buf[:min(chunkSize, size-c.size)], c.size)
		if e == abi.OK && k == 0 {
			break
		}
		if e == abi.OK {
			var done int
			if done, e = c.writeAt(&in.bytes, buf[:k], c.size); e == abi.OK && done < k {
				e = abi.ENOSPC
			}
		}
		if e != abi.OK {
			c.truncate(&in.bytes, 0)
			c.size = whole
			return e
		}
	}
	c.from = nil
	return abi.OK
}

// Changes is what the guest has made or changed below the directory at dir, of which a
// MountCopy shows the rest. It has no directories in which nothing has.
func (fsys *FS) Changes(dir string) (fs.FS, error) {
	return fs.Sub(view{fsys, true}, path.Clean(dir)[1:])
}

// changed reports whether a view of changes has the entry of a directory, of which all
// reports whether the guest has made it.
func (n *Node) changed(all bool) bool {
	switch k := n.kind.(type) {
	case *contents:
		return all || !n.native || k.from == nil
	case *directory:
		return all || !n.native || len(k.pending) == 0
	}
	return all || !n.native
}

// made reports whether the guest has put the directory n where it is, or one above.
func (n *Node) made() bool {
	for ; !n.dir().copies && n.dir().parent != n; n = n.dir().parent {
		if !n.native {
			return true
		}
	}
	return !n.dir().copies
}

// Missing has f called with the absolute path of whatever the guest looks for and is not
// there, and whether it wants to open it. f must return quickly and not use the FS.
func (fsys *FS) Missing(f func(path string, opens bool)) {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	fsys.missing = f
}

// missLocked passes on that the guest did not find a path from a directory.
func (fsys *FS) missLocked(dir *Node, name string, opens bool) {
	if fsys.missing == nil || name == "" {
		return
	}
	if name[0] != '/' {
		at, e := fsys.pathLocked(dir)
		if e != abi.OK {
			return
		}
		name = at + "/" + name
	}
	fsys.missing(path.Clean(name), opens)
}
