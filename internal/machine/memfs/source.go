package memfs

import (
	"bytes"
	"io"
	"io/fs"

	"coderunner/internal/machine/abi"
)

// learn sets, once, the size, time and permissions of a mount's node: a listing does
// not have them, and most files never need them.
func (n *Node) learn() {
	if n.entry == nil {
		return
	}
	info, err := n.entry.Info()
	if typ := n.entry.Type(); err != nil || info.Mode().Type() != typ {
		n.entry = nil
		return // it has vanished: opening it will say so
	}
	n.entry = nil
	switch k := n.kind.(type) {
	case *source:
		k.size = info.Size()
		n.perm |= uint32(info.Mode()) & 0o111
	case *contents:
		k.size = info.Size()
		n.perm = uint32(info.Mode().Perm()) | 0o600 // the copy is the guest's
	case *directory:
		n.perm = uint32(info.Mode().Perm()) | 0o700
	}
	n.mtime = timestamp(info.ModTime())
	n.atime, n.ctime = n.mtime, n.mtime
}

// maxBuffered bounds a mounted file that can only be read from its beginning, in
// bytes: it is held in memory while it is open.
const maxBuffered = 64 << 20

// reader reads an open mounted file.
type reader struct {
	at   io.ReaderAt
	file fs.File // nil: at is in memory
}

func (s *source) open() (*reader, abi.Errno) {
	if s.fsys == nil {
		return &reader{at: bytes.NewReader(s.data)}, abi.OK
	}
	f, err := s.fsys.Open(s.path)
	if err != nil {
		return nil, errnoOf(err)
	}
	if at, ok := f.(io.ReaderAt); ok {
		return &reader{at, f}, abi.OK
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBuffered+1))
	switch {
	case err != nil:
		return nil, errnoOf(err)
	case len(b) > maxBuffered:
		return nil, abi.EFBIG
	}
	return &reader{at: bytes.NewReader(b)}, abi.OK
}

func (r *reader) close() {
	if r.file != nil {
		r.file.Close() // read-only: an error has no meaning
	}
}

func (r *reader) readAt(p []byte, off int64) (int, abi.Errno) {
	if len(p) == 0 {
		return 0, abi.OK
	}
	n, err := r.at.ReadAt(p, off)
	if n > 0 || err == nil || err == io.EOF {
		return n, abi.OK
	}
	// Package embed calls a position past the end invalid.
	if info, e := r.file.Stat(); e == nil && off >= info.Size() {
		return 0, abi.OK
	}
	return 0, errnoOf(err)
}
