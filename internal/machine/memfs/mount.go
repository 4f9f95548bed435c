package memfs

import (
	"io/fs"

	"coderunner/internal/machine/abi"
)

// MountInto adds the entries at the top of src to the existing directory dir,
// read-only. Directories that both have are merged, recursively, as they are
// first looked into; of two files, or a file and a directory, the first one
// there wins. So any number of trees can be shown in one directory.
//
// Directories are listed and files opened when they are first asked for. Entries
// of src that are neither directories nor regular files are absent. Sizes and times
// are those of the first time they are asked for.
func (fsys *FS) MountInto(dir string, src fs.FS) error {
	if src == nil {
		return pathError("mount into", dir, abi.EINVAL)
	}
	return fsys.change("mount into", dir, func(n *Node) { n.addLayer(layer{fsys: src, dir: "."}) })
}

// change has f change a directory on behalf of the host, with FS.mu held.
func (fsys *FS) change(op, dir string, f func(n *Node)) error {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	n, e := fsys.findLocked(nil, dir, followLast, host)
	if e == abi.OK && !n.IsDir() {
		e = abi.ENOTDIR
	}
	if e == abi.OK {
		f(n)
	}
	return pathError(op, dir, e)
}

// MountFile shows data as the read-only file at path, which must not exist. The
// data may be shared by many file systems and is not charged.
func (fsys *FS) MountFile(path string, data []byte) error {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	p, e := fsys.vacantLocked(nil, path, false, host)
	if e == abi.OK {
		n := fsys.newNode(&source{data: data, size: int64(len(data))}, 0o444)
		n.readonly = true
		n.atime, n.mtime, n.ctime = abi.Timespec{}, abi.Timespec{}, abi.Timespec{}
		e = fsys.addLocked(p.parent, p.name, n)
	}
	return pathError("mount", path, e)
}
