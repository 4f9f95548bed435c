package process

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Files is a directory that a process wrote to. It opens files without waiting: a
// named pipe may have no other end.
type Files struct{ Root *os.Root }

// Open implements [fs.FS].
func (f Files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return f.Root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// ReadLink implements [fs.ReadLinkFS].
func (f Files) ReadLink(name string) (string, error) {
	return f.Root.Readlink(filepath.FromSlash(name))
}

// Lstat implements [fs.ReadLinkFS].
func (f Files) Lstat(name string) (fs.FileInfo, error) { return f.Root.Lstat(filepath.FromSlash(name)) }
