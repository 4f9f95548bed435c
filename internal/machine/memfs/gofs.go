package memfs

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
)

// FS is a read-only view for Go code. It follows symlinks as Lookup does and
// implements fs.StatFS, fs.ReadDirFS, fs.ReadFileFS and fs.ReadLinkFS. Only
// directories and regular files can be opened.
func (fsys *FS) FS() fs.FS { return view{fsys: fsys} }

type view struct {
	fsys    *FS
	changes bool // see FS.Changes
}

var (
	_ fs.StatFS     = view{}
	_ fs.ReadDirFS  = view{}
	_ fs.ReadFileFS = view{}
	_ fs.ReadLinkFS = view{}
)

// node finds what name, in io/fs's form, stands for.
func (v view) node(op, name string, f follow) (*Node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	v.fsys.mu.Lock()
	defer v.fsys.mu.Unlock()
	n, e := v.fsys.findLocked(nil, "/"+name, f, host)
	return n, pathError(op, name, e)
}

// Open implements fs.FS.
func (v view) Open(name string) (fs.File, error) {
	n, err := v.node("open", name, followLast)
	if err != nil {
		return nil, err
	}
	info := v.info(base(name), n)
	if n.IsDir() {
		return &viewDir{info: info, view: v, node: n}, nil
	}
	f, e := v.fsys.openRegular("/" + name)
	if e != abi.OK {
		return nil, pathError("open", name, e)
	}
	return &viewFile{name: base(name), f: f}, nil
}

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// Stat implements fs.StatFS.
func (v view) Stat(name string) (fs.FileInfo, error) {
	n, err := v.node("stat", name, followLast)
	if err != nil {
		return nil, err
	}
	return v.info(base(name), n), nil
}

// Lstat implements fs.ReadLinkFS.
func (v view) Lstat(name string) (fs.FileInfo, error) {
	n, err := v.node("lstat", name, followSlash)
	if err != nil {
		return nil, err
	}
	return v.info(base(name), n), nil
}

// ReadLink implements fs.ReadLinkFS.
func (v view) ReadLink(name string) (string, error) {
	n, err := v.node("readlink", name, followSlash)
	if err != nil {
		return "", err
	}
	target, e := v.fsys.Readlink(n)
	return target, pathError("readlink", name, e)
}

// ReadFile implements fs.ReadFileFS.
func (v view) ReadFile(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return v.fsys.ReadFile("/" + name)
}

// ReadDir implements fs.ReadDirFS.
func (v view) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := v.node("readdir", name, followLast)
	if err != nil {
		return nil, err
	}
	list, e := v.list(n)
	return list, pathError("readdir", name, e)
}

// list is the directory n's entries, sorted.
func (v view) list(n *Node) ([]fs.DirEntry, abi.Errno) {
	if !n.IsDir() {
		return nil, abi.ENOTDIR
	}
	v.fsys.mu.Lock()
	defer v.fsys.mu.Unlock()
	if e := v.fsys.loadLocked(n); e != abi.OK {
		return nil, e
	}
	list := make([]fs.DirEntry, 0, len(n.dir().entries))
	all := !v.changes || n.made()
	for name, e := range n.dir().entries {
		if !e.node.changed(all) {
			continue
		}
		list = append(list, viewEntry{v, name, e.node})
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, abi.OK
}

func (v view) info(name string, n *Node) viewInfo { return viewInfo{name, v.fsys.Stat(n)} }

// viewEntry is an entry of a directory.
type viewEntry struct {
	view view
	name string
	node *Node
}

func (e viewEntry) Name() string      { return e.name }
func (e viewEntry) IsDir() bool       { return e.node.IsDir() }
func (e viewEntry) Type() fs.FileMode { return abi.FileMode(e.node.Type()) }
func (e viewEntry) String() string    { return fs.FormatDirEntry(e) }

func (e viewEntry) Info() (fs.FileInfo, error) {
	info := e.view.info(e.name, e.node)
	if info.stat.Nlink == 0 {
		return nil, pathError("stat", e.name, abi.ENOENT)
	}
	return info, nil
}

// viewInfo describes a file; Sys is its abi.Stat.
type viewInfo struct {
	name string
	stat abi.Stat
}

func (i viewInfo) Name() string       { return i.name }
func (i viewInfo) Size() int64        { return i.stat.Size }
func (i viewInfo) Mode() fs.FileMode  { return abi.FileMode(i.stat.Mode) }
func (i viewInfo) ModTime() time.Time { return i.stat.Mtime.Time() }
func (i viewInfo) IsDir() bool        { return i.stat.IsDir() }
func (i viewInfo) Sys() any           { return i.stat }
func (i viewInfo) String() string     { return fs.FormatFileInfo(i) }

// viewFile is an open regular file.
type viewFile struct {
	name string
	f    *File
}

func (v *viewFile) Stat() (fs.FileInfo, error) { return viewInfo{v.name, v.f.Stat()}, nil }

func (v *viewFile) Read(p []byte) (int, error) {
	n, e := v.f.Read(context.Background(), p)
	if e == abi.OK && n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, pathError("read", v.name, e)
}

// ReadAt implements io.ReaderAt.
func (v *viewFile) ReadAt(p []byte, off int64) (int, error) {
	for done := 0; ; {
		n, e := v.f.Pread(context.Background(), p[done:], off+int64(done))
		done += n
		switch {
		case e != abi.OK:
			return done, pathError("read", v.name, e)
		case done == len(p):
			return done, nil
		case n == 0:
			return done, io.EOF
		}
	}
}

func (v *viewFile) Close() error { return pathError("close", v.name, v.f.Close()) }

// viewDir is an open directory.
type viewDir struct {
	info viewInfo
	view view
	node *Node
	read bool
	rest []fs.DirEntry
}

func (d *viewDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *viewDir) Close() error               { return nil }

func (d *viewDir) Read([]byte) (int, error) {
	return 0, pathError("read", d.info.name, abi.EISDIR)
}

// ReadDir implements fs.ReadDirFile.
func (d *viewDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.read {
		list, e := d.view.list(d.node)
		if e != abi.OK {
			return nil, pathError("readdir", d.info.name, e)
		}
		d.read, d.rest = true, list
	}
	if n <= 0 {
		n = len(d.rest)
	} else if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	list := d.rest[:n:n]
	d.rest = d.rest[n:]
	return list, nil
}
