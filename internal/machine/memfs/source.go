package memfs

import (
	"bytes"
	"io"
	"io/fs"

	"coderunner/internal/machine/abi"
)

// learn sets, once, the size, time and execute bits of its node n: a listing does
// not have them, and most files never need them.
func (s *source) learn(n *Node) {
	if s.entry == nil {
		return
	}
	info, err := s.entry.Info()
	s.entry = nil
	if err != nil || !info.Mode().IsRegular() {
		return // it has vanished: opening it will say so
	}
	s.size = info.Size()
	n.perm |= uint32(info.Mode()) & 0o111
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
