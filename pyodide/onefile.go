package pyodide

import (
	"bytes"
	"io"
	"io/fs"
	"time"
)

// oneFile is a file system of one file, whose contents interpreters share.
type oneFile struct {
	name string
	data []byte
}

func (o oneFile) Open(name string) (fs.File, error) {
	switch name {
	case ".":
		return &oneDir{file: o}, nil
	case o.name:
		return &openFile{Reader: bytes.NewReader(o.data), info: o.info()}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (o oneFile) info() fileInfo {
	return fileInfo{name: o.name, size: int64(len(o.data)), mode: 0o444}
}

// openFile reads from memory; bytes.Reader is also its io.ReaderAt.
type openFile struct {
	*bytes.Reader
	info fileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// oneDir is the directory that the file is in.
type oneDir struct {
	file oneFile
	read bool
}

func (d *oneDir) Stat() (fs.FileInfo, error) {
	return fileInfo{name: ".", mode: fs.ModeDir | 0o555}, nil
}
func (d *oneDir) Close() error { return nil }
func (d *oneDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

func (d *oneDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if d.read {
		if n > 0 {
			return nil, io.EOF
		}
		return nil, nil
	}
	d.read = true
	return []fs.DirEntry{fs.FileInfoToDirEntry(d.file.info())}, nil
}

type fileInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return time.Unix(0, 0) }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }
