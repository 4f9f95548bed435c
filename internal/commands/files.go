package commands

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"coderunner/pyodide/abi"
	"coderunner/pyodide/memfs"
)

// file is an open file as Go's interfaces want it. Its offset is the open file
// description's, so what is not read is left for others that share it.
type file struct {
	c *call
	f *memfs.File
}

func (f *file) Read(b []byte) (int, error) {
	n, e := f.f.Read(f.c.ctx, b)
	if e != abi.OK {
		return n, e
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (f *file) Write(b []byte) (done int, err error) {
	for done < len(b) {
		n, e := f.f.Write(f.c.ctx, b[done:])
		done += n
		if e != abi.OK {
			return done, e
		}
		if n == 0 {
			return done, io.ErrShortWrite
		}
	}
	return done, nil
}

func (f *file) ReadAt(b []byte, off int64) (done int, err error) {
	for done < len(b) {
		n, e := f.f.Pread(f.c.ctx, b[done:], off+int64(done))
		if e != abi.OK {
			return done, e
		}
		if n == 0 {
			return done, io.EOF
		}
		done += n
	}
	return done, nil
}

func (f *file) Seek(off int64, whence int) (int64, error) {
	n, e := f.f.SeekTo(off, whence)
	return n, e.Err()
}

func (f *file) Close() error { return f.f.Close().Err() }

// openFile opens a file with the abi.O_ flags.
func (c *call) openFile(name string, flags, perm uint32) (*file, error) {
	if f := c.descriptor(name); f != nil {
		return &file{c, f.Ref()}, nil
	}
	f, e := c.fs.Open(c.ctx, nil, c.abs(name), flags, perm)
	if e != abi.OK {
		return nil, e
	}
	return &file{c, f}, nil
}

// descriptor returns the open file that a name of /dev stands for, or nil.
func (c *call) descriptor(name string) *memfs.File {
	if number, ok := strings.CutPrefix(name, "/dev/fd/"); ok {
		if fd, err := strconv.Atoi(number); err == nil {
			return c.p.File(fd)
		}
	}
	if fd := slices.Index([]string{"/dev/stdin", "/dev/stdout", "/dev/stderr"}, name); fd >= 0 {
		return c.p.File(fd)
	}
	return nil
}

// open opens a file for reading; "-" is standard input. A directory is EISDIR.
func (c *call) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.in()), nil
	}
	f, err := c.openFile(name, abi.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	if st := f.f.Stat(); st.IsDir() {
		f.Close()
		return nil, abi.EISDIR
	}
	return struct {
		io.Reader
		io.Closer
	}{&guard{c, f}, f}, nil
}

// create opens a file for writing and truncates it; "/dev/stdout" is standard
// output.
func (c *call) create(name string) (*file, error) {
	return c.openFile(name, abi.O_WRONLY|abi.O_CREAT|abi.O_TRUNC, 0o644)
}

// each runs f on every named file, on standard input if none is named, and
// reports the files that cannot be read.
func (c *call) each(names []string, f func(name string, r io.Reader) error) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		r, err := c.open(name)
		if err == nil {
			err = f(name, r)
			r.Close()
		}
		if c.stopped() {
			return
		}
		if r == nil && (c.name == "head" || c.name == "tail") {
			c.fail("cannot open %s for reading: %s", quote(name), text(err))
			continue
		}
		c.failed(name, err)
	}
}

// concat is all named files as one reader; files that cannot be opened are
// reported.
func (c *call) concat(names []string) io.Reader {
	if len(names) == 0 {
		return c.in()
	}
	return &chain{c: c, names: names}
}

type chain struct {
	c     *call
	names []string
	r     io.ReadCloser
}

func (ch *chain) Read(b []byte) (int, error) {
	for {
		if ch.r == nil {
			if len(ch.names) == 0 {
				return 0, io.EOF
			}
			r, err := ch.c.open(ch.names[0])
			if err != nil {
				ch.c.failed(ch.names[0], err)
				ch.names = ch.names[1:]
				continue
			}
			ch.r = r
		}
		n, err := ch.r.Read(b)
		if n > 0 {
			return n, nil
		}
		if err != nil {
			ch.r.Close()
			if errors.Is(err, errStopped) {
				return 0, err
			}
			if err != io.EOF {
				ch.c.failed(ch.names[0], err)
			}
			ch.r, ch.names = nil, ch.names[1:]
		}
	}
}

// readAll reads everything and charges it to the memory budget.
func (c *call) readAll(r io.Reader) (data []byte, err error) {
	for {
		if len(data) == cap(data) {
			if err := c.reserve(int64(max(cap(data), 512))); err != nil {
				return nil, err
			}
			data = slices.Grow(data, max(cap(data), 512))
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, err
		}
	}
}

// readFile reads a whole file and charges it to the memory budget.
func (c *call) readFile(name string) ([]byte, error) {
	r, err := c.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return c.readAll(r)
}

// lines splits a reader at a delimiter.
type lines struct {
	c       *call
	r       *bufio.Reader
	delim   byte
	long    []byte // holds a line that is longer than r's buffer
	charged int64
	whole   bool  // the last line ended with the delimiter
	err     error // other than the end of the input
}

func (c *call) lines(r io.Reader, delim byte) *lines {
	b, ok := r.(*bufio.Reader)
	if !ok {
		b = bufio.NewReaderSize(r, copySize)
	}
	return &lines{c: c, r: b, delim: delim}
}

// next returns the next line without its delimiter, valid until the next call,
// or false at the end or after an error.
func (l *lines) next() ([]byte, bool) {
	line, err := l.r.ReadSlice(l.delim)
	if err == bufio.ErrBufferFull {
		l.long = l.long[:0]
		for err == bufio.ErrBufferFull {
			if need := int64(2 * (len(l.long) + len(line))); need > l.charged {
				if e := l.c.reserve(need - l.charged); e != nil {
					l.err = e
					return nil, false
				}
				l.charged = need
			}
			l.long = append(l.long, line...)
			line, err = l.r.ReadSlice(l.delim)
		}
		l.long = append(l.long, line...)
		line = l.long
	}
	l.whole = err == nil
	if l.whole {
		return line[:len(line)-1], true
	}
	if err != io.EOF {
		l.err = err
		return nil, false
	}
	return line, len(line) > 0
}

// entry is a name in a directory and what it is.
type entry struct {
	name string
	abi.Stat
}

// readDir lists a directory by name, without "." and "..".
func (c *call) readDir(name string) (list []entry, err error) {
	f, e := c.fs.Open(c.ctx, nil, c.abs(name), abi.O_RDONLY|abi.O_DIRECTORY, 0)
	if e != abi.OK {
		return nil, e
	}
	defer f.Close()
	e = f.ReadDir(func(d abi.Dirent) bool {
		if d.Name != "." && d.Name != ".." {
			list = append(list, entry{name: d.Name})
		}
		return true
	})
	if e != abi.OK {
		return nil, e
	}
	kept := list[:0]
	for _, l := range list {
		n, e := c.fs.Lookup(f.Node(), l.name, false)
		if e == abi.OK { // not removed in between
			l.Stat = c.fs.Stat(n)
			kept = append(kept, l)
		}
	}
	slices.SortFunc(kept, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return kept, nil
}

// join is a name in a directory, as find and ls -R print it.
func join(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}
