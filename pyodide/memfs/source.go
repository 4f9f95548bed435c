package memfs

import (
	"io"
	"io/fs"
	"sync"

	"coderunner/pyodide/abi"
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

// reader reads an open mounted file at any position: by io.ReaderAt where the
// file has it, else by io.Seeker, else by reading on and starting over.
type reader struct {
	src *source
	at  io.ReaderAt // nil: the fields below are used

	mu   sync.Mutex // guards what follows
	file fs.File
	pos  int64
}

func (s *source) open() (*reader, abi.Errno) {
	f, err := s.fsys.Open(s.path)
	if err != nil {
		return nil, errnoOf(err)
	}
	at, _ := f.(io.ReaderAt)
	return &reader{src: s, at: at, file: f}, abi.OK
}

func (r *reader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file.Close() // read-only: an error has no meaning
}

func (r *reader) readAt(p []byte, off int64) (int, abi.Errno) {
	if len(p) == 0 {
		return 0, abi.OK
	}
	if r.at != nil {
		n, err := r.at.ReadAt(p, off)
		return r.outcome(n, err, off)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.moveTo(off); err != nil {
		return r.outcome(0, err, off)
	}
	n, err := io.ReadFull(r.file, p)
	r.pos += int64(n)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return r.outcome(n, err, off)
}

// outcome translates the result of an io.Reader for a read at off to read(2)'s.
func (r *reader) outcome(n int, err error, off int64) (int, abi.Errno) {
	switch {
	case n > 0, err == nil, err == io.EOF:
		return n, abi.OK
	case r.ended(off):
		return 0, abi.OK // fstest.MapFS calls a position past the end invalid
	}
	return 0, errnoOf(err)
}

// ended reports whether off lies past the file's end.
func (r *reader) ended(off int64) bool {
	info, err := r.file.Stat()
	return err == nil && off >= info.Size()
}

// moveTo makes off the position of r.file.
func (r *reader) moveTo(off int64) error {
	if off == r.pos {
		return nil
	}
	if s, ok := r.file.(io.Seeker); ok {
		pos, err := s.Seek(off, io.SeekStart)
		if err == nil {
			r.pos = pos
		}
		return err
	}
	if off < r.pos {
		f, err := r.src.fsys.Open(r.src.path)
		if err != nil {
			return err
		}
		r.file.Close()
		r.file, r.pos = f, 0
	}
	n, err := io.CopyN(io.Discard, r.file, off-r.pos)
	r.pos += n
	return err
}
