package worker

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"coderunner/internal/worker/wire"
)

// maxEntries bounds a directory that a worker lists, maxRead what is read of a file at once.
const (
	maxEntries = 100_000
	maxRead    = 1 << 20
)

// leftFS is the directory that a session's program left in its worker, which is asked for what
// it has not told. Nothing of either is believed.
type leftFS struct {
	ctx  context.Context
	s    *served
	told told
}

var (
	_ fs.StatFS     = leftFS{}
	_ fs.ReadDirFS  = leftFS{}
	_ fs.ReadLinkFS = leftFS{}
)

func (l leftFS) call(op, name string, method uint8, argument, result any) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if _, err := l.s.conn.Call(l.ctx, method, argument, result); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// Stat implements [fs.StatFS].
func (l leftFS) Stat(name string) (fs.FileInfo, error) {
	if name == "." {
		return info{entry{Name: name, Mode: fs.ModeDir | 0o700}}, nil
	}
	var e entry
	var err error
	if list, ok := l.told.Dirs[path.Dir(name)]; ok {
		i := slices.IndexFunc(list, func(e entry) bool { return e.Name == path.Base(name) })
		if i < 0 {
			return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
		}
		e = list[i]
	} else {
		err = l.call("stat", name, callStat, name, &e)
	}
	e.Name = path.Base(name)
	return info{e}, err
}

// Lstat implements [fs.ReadLinkFS].
func (l leftFS) Lstat(name string) (fs.FileInfo, error) { return l.Stat(name) }

// ReadDir implements [fs.ReadDirFS].
func (l leftFS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, ok := l.told.Dirs[name]
	if !ok {
		if err := l.call("readdir", name, callReadDir, name, &list); err != nil {
			return nil, err
		}
	}
	var all []fs.DirEntry
	for i, e := range list {
		if i == maxEntries || e.Name == "." || !fs.ValidPath(e.Name) || strings.Contains(e.Name, "/") {
			return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
		}
		all = append(all, fs.FileInfoToDirEntry(info{e}))
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

// ReadLink implements [fs.ReadLinkFS].
func (l leftFS) ReadLink(name string) (target string, err error) {
	err = l.call("readlink", name, callReadLink, name, &target)
	return target, err
}

// Open implements [fs.FS], for regular files. Whether there is one is known when it is used.
func (l leftFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if data, ok := l.told.Files[name]; ok {
		return &openFile{l: l, name: name, told: bytes.NewReader(data)}, nil
	}
	return &openFile{l: l, name: name}, nil
}

// openFile reads a file piece by piece. Each costs a call.
type openFile struct {
	l    leftFS
	name string
	told *bytes.Reader // nil: the worker is asked
	at   int64
	end  bool // the last piece was short
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.l.Stat(f.name) }
func (f *openFile) Close() error               { return nil }

func (f *openFile) Read(b []byte) (int, error) {
	if f.told != nil {
		return f.told.Read(b)
	}
	want := min(len(b), maxRead)
	if f.end && want > 0 {
		return 0, io.EOF
	}
	var piece wire.Raw
	if err := f.l.call("read", f.name, callRead, read{f.name, f.at, want}, &piece); err != nil {
		return 0, err
	}
	n := copy(b, piece)
	f.at, f.end = f.at+int64(n), n < want
	if n == 0 && want > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// info is what is known of a file.
type info struct{ e entry }

func (i info) Name() string       { return i.e.Name }
func (i info) Size() int64        { return i.e.Size }
func (i info) Mode() fs.FileMode  { return i.e.Mode }
func (i info) ModTime() time.Time { return i.e.Modified }
func (i info) IsDir() bool        { return i.e.Mode.IsDir() }
func (i info) Sys() any           { return nil }
