package memfs

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"coderunner/pyodide/abi"
)

// layer is a directory of a mounted file system that is not listed yet.
//
// A mount adds a layer to a directory's pending ones. Loading the directory merges
// the layers' entries into it, and passes their subdirectories on as layers:
//
//	site-packages        pending: wheel a, wheel b
//	        │ load
//	site-packages ── google        pending: a/google, b/google
//	              ├─ a.py          from a
//	              └─ b.dist-info   pending: b/b.dist-info
type layer struct {
	fsys fs.FS
	dir  string // in fsys, as io/fs has it
}

// Mount shows src, read-only, at path, which must be an empty directory.
// Directories are listed and files opened when they are first asked for.
// Entries of src that are neither directories nor regular files are absent.
// Sizes and times are those of the first time they are asked for.
func (fsys *FS) Mount(path string, src fs.FS) error {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	n, e := fsys.mountPointLocked(path, src)
	if e == abi.OK {
		e = fsys.emptyDirLocked(n)
	}
	if e == abi.OK {
		n.dir().mount = true
		n.addLayer(fsys, layer{src, "."})
		n.readonly, n.perm = true, 0o555
	}
	return pathError("mount", path, e)
}

// MountInto adds the entries at the top of src to the existing directory dir,
// read-only. Directories that both have are merged, recursively, as they are
// first looked into; of two files, or a file and a directory, the first one
// there wins. So any number of trees can be shown in one directory.
func (fsys *FS) MountInto(dir string, src fs.FS) error {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	n, e := fsys.mountPointLocked(dir, src)
	if e == abi.OK {
		n.addLayer(fsys, layer{src, "."})
	}
	return pathError("mount into", dir, e)
}

func (fsys *FS) mountPointLocked(path string, src fs.FS) (*Node, abi.Errno) {
	if src == nil {
		return nil, abi.EINVAL
	}
	n, e := fsys.findLocked(nil, path, followLast, host)
	if e == abi.OK && !n.IsDir() {
		e = abi.ENOTDIR
	}
	return n, e
}

// addLayer marks n as changed, so that importlib looks into it again.
func (n *Node) addLayer(fsys *FS, l layer) {
	n.dir().pending = append(n.dir().pending, l)
	fsys.touchLocked(n)
}

// loadLocked lists the pending layers of the directory n. After an error the
// remaining ones are tried again the next time.
func (fsys *FS) loadLocked(n *Node) abi.Errno {
	for len(n.dir().pending) > 0 {
		l := n.dir().pending[0]
		list, err := fs.ReadDir(l.fsys, l.dir)
		if err != nil {
			return errnoOf(err)
		}
		if e := fsys.mergeLocked(n, l, list); e != abi.OK {
			return e
		}
		n.dir().pending = n.dir().pending[1:]
	}
	n.dir().pending = nil
	return abi.OK
}

// mergeLocked adds the entries of one layer to the directory n, all or none.
func (fsys *FS) mergeLocked(n *Node, l layer, list []fs.DirEntry) abi.Errno {
	d := n.dir()
	added := 0
	for _, e := range list {
		if d.entries[e.Name()] == nil && mountable(e) {
			added++
		}
	}
	if !fsys.mounted.take(int64(added)) {
		return abi.ENOMEM
	}
	for _, e := range list {
		if !mountable(e) {
			continue
		}
		name, at := e.Name(), path.Join(l.dir, e.Name())
		old := d.entries[name]
		switch {
		case old == nil && e.IsDir():
			dir := fsys.newDir(n, name, 0o555)
			dir.readonly, dir.nlink = true, 2
			dir.dir().pending = []layer{{l.fsys, at}}
			d.insert(name, dir)
			n.nlink++
		case old == nil:
			file := fsys.newNode(&source{fsys: l.fsys, path: at, entry: e}, 0o444)
			file.readonly, file.nlink = true, 1
			d.insert(name, file)
		case e.IsDir() && old.node.IsDir():
			old.node.addLayer(fsys, layer{l.fsys, at})
		}
	}
	return abi.OK
}

// mountable reports whether an entry is shown: only names that a guest could
// create are.
func mountable(e fs.DirEntry) bool {
	name := e.Name()
	if name == "" || name == "." || name == ".." || len(name) > abi.NAME_MAX || strings.ContainsAny(name, "/\x00") {
		return false
	}
	return e.IsDir() || e.Type().IsRegular()
}

// errnoOf translates an error of a mounted file system for the guest.
func errnoOf(err error) abi.Errno {
	var e abi.Errno
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, fs.ErrNotExist):
		return abi.ENOENT
	case errors.Is(err, fs.ErrPermission):
		return abi.EACCES
	}
	return abi.EIO
}
