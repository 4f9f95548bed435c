package memfs

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"coderunner/pyodide/abi"
)

// layer is a directory of a mounted file system.
//
// Mounts are laid over directories as lists of layers that nobody has looked
// into yet. Looking into a directory merges its layers' entries into it, and
// hands layers of the same name down:
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
	n, e := fsys.mountPoint(path, src)
	if e == abi.OK {
		e = fsys.emptyDir(n)
	}
	if e == abi.OK {
		n.dir.mount = true
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
	n, e := fsys.mountPoint(dir, src)
	if e == abi.OK {
		n.addLayer(fsys, layer{src, "."})
	}
	return pathError("mount into", dir, e)
}

func (fsys *FS) mountPoint(path string, src fs.FS) (*Node, abi.Errno) {
	if src == nil {
		return nil, abi.EINVAL
	}
	n, e := fsys.find(nil, path, followLast, host)
	if e == abi.OK && !n.IsDir() {
		e = abi.ENOTDIR
	}
	return n, e
}

// addLayer marks n as changed, so that importlib looks into it again.
func (n *Node) addLayer(fsys *FS, l layer) {
	n.dir.pending = append(n.dir.pending, l)
	fsys.touch(n)
}

// load lists the layers of the directory n that were not looked into yet. After
// an error the remaining ones are tried again the next time.
func (fsys *FS) load(n *Node) abi.Errno {
	for len(n.dir.pending) > 0 {
		l := n.dir.pending[0]
		list, err := fs.ReadDir(l.fsys, l.dir)
		if err != nil {
			return errnoOf(err)
		}
		if e := fsys.merge(n, l, list); e != abi.OK {
			return e
		}
		n.dir.pending = n.dir.pending[1:]
	}
	n.dir.pending = nil
	return abi.OK
}

// merge puts the entries of one layer into the directory n, all or none.
func (fsys *FS) merge(n *Node, l layer, list []fs.DirEntry) abi.Errno {
	d := n.dir
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
			dir.dir.pending = []layer{{l.fsys, at}}
			d.insert(name, dir)
			n.nlink++
		case old == nil:
			file := fsys.newNode(abi.S_IFREG, 0o444)
			file.readonly, file.nlink = true, 1
			file.src = &source{fsys: l.fsys, path: at, entry: e}
			d.insert(name, file)
		case e.IsDir() && old.node.IsDir():
			old.node.addLayer(fsys, layer{l.fsys, at})
		}
	}
	return abi.OK
}

// mountable says whether an entry is shown. Names are those that a guest could
// have made.
func mountable(e fs.DirEntry) bool {
	name := e.Name()
	if name == "" || name == "." || name == ".." || len(name) > abi.NAME_MAX || strings.ContainsAny(name, "/\x00") {
		return false
	}
	return e.IsDir() || e.Type().IsRegular()
}

// errnoOf is what the guest is told of an error that a mounted file system
// returned.
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
