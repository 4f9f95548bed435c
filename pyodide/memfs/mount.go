package memfs

import (
	"io/fs"

	"coderunner/pyodide/abi"
)

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
