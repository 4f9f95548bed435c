package toolbox

import (
	"bytes"
	"context"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Dir is where programs find the declarations of tools, in [Files].
const Dir = "/tools"

// comments are how lines begin that are comments, by the endings of the files.
var comments = map[string]string{".d.ts": "// ", ".pyi": "# "}

// Files returns a directory with the declarations of each server's tools. A server is started
// when one of its files is opened or asked for its size, not when the directory is listed. Box
// returns the tools of the program that runs.
func Files(box func() *Box) fs.FS { return files{box} }

type files struct{ box func() *Box }

// Open implements fs.FS.
func (f files) Open(name string) (fs.File, error) {
	text, err := f.ReadFile(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return open{bytes.NewReader(text), info{f, name}}, nil
}

// ReadDir implements fs.ReadDirFS.
func (f files) ReadDir(string) (list []fs.DirEntry, err error) {
	for _, server := range f.box().Servers() {
		for ending := range comments {
			list = append(list, fs.FileInfoToDirEntry(info{f, server + ending}))
		}
	}
	return list, nil
}

// ReadFile implements fs.ReadFileFS. Why there are no declarations is a comment.
func (f files) ReadFile(name string) ([]byte, error) {
	ending := name[max(strings.IndexByte(name, '.'), 0):]
	server, comment := strings.TrimSuffix(name, ending), comments[ending]
	if comment == "" || !slices.Contains(f.box().Servers(), server) {
		return nil, fs.ErrNotExist
	}
	value, err := f.box().Do(context.Background(), Query{Op: "stub", Name: server, Ending: ending})
	if err != nil {
		return []byte(comment + "the tools cannot be listed: " + err.Error() + "\n"), nil
	}
	return []byte(value.(string)), nil
}

// open is an open file.
type open struct {
	*bytes.Reader
	info info
}

func (o open) Stat() (fs.FileInfo, error) { return o.info, nil }
func (open) Close() error                 { return nil }

// info describes a file, whose size is that of its text when it is asked for.
type info struct {
	files files
	name  string
}

func (i info) Name() string     { return i.name }
func (info) Mode() fs.FileMode  { return 0o444 }
func (info) ModTime() time.Time { return time.Time{} }
func (info) IsDir() bool        { return false }
func (info) Sys() any           { return nil }
func (i info) Size() int64 {
	text, _ := i.files.ReadFile(i.name) // a file that is gone has none
	return int64(len(text))
}
