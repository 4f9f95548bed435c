package memfs

import (
	"context"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
)

// WriteFile writes a whole file, making it (with perm) when it is not there.
// When the data does not fit the budget the file is left short.
func (fsys *FS) WriteFile(path string, data []byte, perm uint32) error {
	flags := abi.O_WRONLY | abi.O_CREAT | abi.O_TRUNC | abi.O_NONBLOCK
	f, e := fsys.open(context.Background(), nil, path, flags, perm, host)
	if e != abi.OK {
		return pathError("write", path, e)
	}
	defer f.Close()
	for len(data) > 0 && e == abi.OK {
		var n int
		n, e = f.Write(context.Background(), data)
		data = data[n:]
	}
	return pathError("write", path, e)
}

// Chtimes sets the times of a file, unless t is zero.
func (fsys *FS) Chtimes(path string, t time.Time) error {
	if t.IsZero() {
		return nil
	}
	n, e := fsys.Lookup(nil, path, true)
	if e == abi.OK {
		e = fsys.SetTimes(n, abi.NewTimespec(t), abi.NewTimespec(t))
	}
	return pathError("chtimes", path, e)
}

// ReadFile reads a whole regular file. One of more than Options.MaxBytes, as a
// sparse one can be, is EFBIG.
func (fsys *FS) ReadFile(path string) ([]byte, error) {
	f, e := fsys.openRegular(path)
	if e != abi.OK {
		return nil, pathError("read", path, e)
	}
	defer f.Close()
	var data []byte
	buf := make([]byte, min(f.size()+1, chunkSize)) // +1: the last read sees the end
	for {
		n, e := f.Read(context.Background(), buf)
		if e != abi.OK {
			return nil, pathError("read", path, e)
		}
		if n == 0 {
			return data, nil
		}
		if int64(len(data)+n) > fsys.bytes.max {
			return nil, pathError("read", path, abi.EFBIG)
		}
		data = append(data, buf[:n]...)
	}
}

// openRegular opens the regular file at path for the host. Opening anything
// else might block, and reading it never end.
func (fsys *FS) openRegular(path string) (*File, abi.Errno) {
	fsys.mu.Lock()
	n, e := fsys.findLocked(nil, path, followLast, host)
	fsys.mu.Unlock()
	switch {
	case e != abi.OK:
		return nil, e
	case n.IsDir():
		return nil, abi.EISDIR
	case n.Type() != abi.S_IFREG:
		return nil, abi.EINVAL
	}
	return fsys.open(context.Background(), nil, path, abi.O_RDONLY|abi.O_NONBLOCK, 0, host)
}

// MkdirAll makes a directory and the ones above it that are missing.
func (fsys *FS) MkdirAll(path string, perm uint32) error {
	if !strings.HasPrefix(path, "/") {
		return pathError("mkdir", path, abi.EINVAL)
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	for end := 1; end <= len(path); end++ {
		if end < len(path) && path[end] != '/' {
			continue
		}
		e := fsys.mkdirLocked(nil, path[:end], perm, host)
		if e == abi.EEXIST {
			var n *Node
			if n, e = fsys.findLocked(nil, path[:end], followLast, host); e == abi.OK && !n.IsDir() {
				e = abi.ENOTDIR
			}
		}
		if e != abi.OK {
			return pathError("mkdir", path, e)
		}
	}
	return nil
}
