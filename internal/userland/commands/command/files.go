package command

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/order"
)

// File is an open file as Go's interfaces want it. Its offset is the open file
// description's, so what is not read is left for others that share it.
type File struct {
	c *Call
	F *memfs.File
}

// Wrap returns an open file as one of the command.
func (c *Call) Wrap(f *memfs.File) *File { return &File{c, f} }

func (f *File) Read(b []byte) (int, error) {
	n, e := f.F.Read(f.c.Ctx, b)
	if e != abi.OK {
		return n, e
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (f *File) Write(b []byte) (done int, err error) {
	for done < len(b) {
		n, e := f.F.Write(f.c.Ctx, b[done:])
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

func (f *File) ReadAt(b []byte, off int64) (done int, err error) {
	for done < len(b) {
		n, e := f.F.Pread(f.c.Ctx, b[done:], off+int64(done))
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

func (f *File) Seek(off int64, whence int) (int64, error) {
	n, e := f.F.SeekTo(off, whence)
	return n, e.Err()
}

func (f *File) Close() error { return f.F.Close().Err() }

// OpenFile opens a file with the abi.O_ flags. One that it creates has the permission
// bits that the umask leaves.
func (c *Call) OpenFile(name string, flags, perm uint32) (*File, error) {
	if f := c.descriptor(name); f != nil {
		return c.Wrap(f.Ref()), nil
	}
	f, e := c.FS.Open(c.Ctx, nil, c.Abs(name), flags, perm&^c.Process.Umask)
	if e != abi.OK {
		return nil, e
	}
	return c.Wrap(f), nil
}

// MkdirAll makes a directory and those above it, by its absolute name.
func (c *Call) MkdirAll(name string) error {
	return c.FS.MkdirAll(path.Clean(name), 0o777&^c.Process.Umask|0o300)
}

// descriptor returns the open file that a name of /dev stands for, or nil.
func (c *Call) descriptor(name string) *memfs.File {
	if number, ok := strings.CutPrefix(name, "/dev/fd/"); ok {
		if fd, err := strconv.Atoi(number); err == nil {
			return c.Process.File(fd)
		}
	}
	if fd := slices.Index([]string{"/dev/stdin", "/dev/stdout", "/dev/stderr"}, name); fd >= 0 {
		return c.Process.File(fd)
	}
	return nil
}

// Open opens a file for reading; "-" is standard input. A directory is EISDIR.
func (c *Call) Open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return stdin{c.In()}, nil
	}
	f, err := c.OpenFile(name, abi.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	if st := f.F.Stat(); st.IsDir() {
		f.Close()
		return nil, abi.EISDIR
	}
	return struct {
		io.Reader
		io.Closer
	}{c.Guarded(f), f}, nil
}

// stdin is standard input, which stays open.
type stdin struct{ *bufio.Reader }

func (stdin) Close() error { return nil }

// Create opens a file for writing and truncates it; "/dev/stdout" is standard
// output.
func (c *Call) Create(name string) (*File, error) {
	return c.OpenFile(name, abi.O_WRONLY|abi.O_CREAT|abi.O_TRUNC, 0o666)
}

// CreateOr is Create, or opens the file to append to it.
func (c *Call) CreateOr(name string, append bool) (*File, error) {
	if append {
		return c.OpenFile(name, abi.O_WRONLY|abi.O_CREAT|abi.O_APPEND, 0o666)
	}
	return c.Create(name)
}

// Input opens a file that the command cannot do without; it is closed at the end.
func (c *Call) Input(name string) io.Reader {
	r, err := c.Open(name)
	c.Need(err, 1, "%s", Quotef(name))
	c.Files = append(c.Files, r)
	return r
}

// Output creates the file that the command writes to instead of standard output;
// without a name it is that. The prefix is of the message when it cannot be created,
// which ends the command with the status.
func (c *Call) Output(name string, status int, prefix string) *bufio.Writer {
	if name == "" {
		return c.Out
	}
	f, err := c.Create(name)
	if err != nil {
		c.Exit(status, "%s%s: %s", prefix, Quotef(name), Text(err))
	}
	w := NewWriter(f)
	c.Files = append(c.Files, output{w, f})
	return w
}

// output is a file that is flushed when it is closed.
type output struct {
	*bufio.Writer
	f *File
}

func (o output) Close() error { return cmp.Or(o.Flush(), o.f.Close()) }

// Each runs f on every named file, on standard input if none is named, and
// reports the files that cannot be read.
func (c *Call) Each(names []string, f func(name string, r io.Reader) error) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		r, err := c.Open(name)
		if err == nil {
			err = f(name, r)
			r.Close()
		}
		if c.Stopped() {
			return
		}
		if r == nil && (c.Name == "head" || c.Name == "tail") {
			c.Fail("cannot open %s for reading: %s", Quote(name), Text(err))
			continue
		}
		c.Failed(name, err)
	}
}

// EachLine runs f on every line of the named files.
func (c *Call) EachLine(names []string, delim byte, f func(line []byte, whole bool)) {
	c.Each(names, func(_ string, r io.Reader) error {
		l := c.Lines(r, delim)
		for line := range l.All() {
			f(line, l.Whole)
		}
		return l.Err
	})
}

// Concat is all named files as one reader; files that cannot be opened are
// reported.
func (c *Call) Concat(names []string) io.Reader {
	if len(names) == 0 {
		return c.In()
	}
	return &chain{c: c, names: names}
}

type chain struct {
	c     *Call
	names []string
	r     io.ReadCloser
}

func (ch *chain) Read(b []byte) (int, error) {
	for {
		if ch.r == nil {
			if len(ch.names) == 0 {
				return 0, io.EOF
			}
			r, err := ch.c.Open(ch.names[0])
			if err != nil {
				ch.c.Failed(ch.names[0], err)
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
			if errors.Is(err, ErrStopped) {
				return 0, err
			}
			if err != io.EOF {
				ch.c.Failed(ch.names[0], err)
			}
			ch.r, ch.names = nil, ch.names[1:]
		}
	}
}

// ReadAll reads everything and charges it to the memory budget.
func (c *Call) ReadAll(r io.Reader) (data []byte, err error) {
	for {
		if len(data) == cap(data) {
			if err := c.Reserve(int64(max(cap(data), 512))); err != nil {
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

// ReadLines reads a whole file and charges it and its lines to the memory budget.
func (c *Call) ReadLines(name string, delim byte) (lines [][]byte, err error) {
	data, err := c.ReadFile(name)
	if err != nil {
		return nil, err
	}
	count := bytes.Count(data, []byte{delim}) + 1
	if err := c.Reserve(int64(24 * count)); err != nil {
		return nil, err
	}
	lines = make([][]byte, 0, count)
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{delim})
		lines, data = append(lines, line), rest
	}
	return lines, nil
}

// ReadFile reads a whole file and charges it to the memory budget.
func (c *Call) ReadFile(name string) ([]byte, error) {
	r, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return c.ReadAll(r)
}

// Entry is a name in a directory and what it is.
type Entry struct {
	Name string
	abi.Stat
}

// ReadDir lists a directory by name, without "." and "..".
func (c *Call) ReadDir(name string) (list []Entry, err error) {
	f, e := c.FS.Open(c.Ctx, nil, c.Abs(name), abi.O_RDONLY|abi.O_DIRECTORY, 0)
	if e != abi.OK {
		return nil, e
	}
	defer f.Close()
	e = f.ReadDir(func(d abi.Dirent) bool {
		if d.Name != "." && d.Name != ".." {
			list = append(list, Entry{Name: d.Name})
		}
		return true
	})
	if e != abi.OK {
		return nil, e
	}
	kept := list[:0]
	for _, l := range list {
		n, e := c.FS.Lookup(f.Node(), l.Name, false)
		if e == abi.OK { // not removed in between
			l.Stat = c.FS.Stat(n)
			kept = append(kept, l)
		}
	}
	order.By(kept, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return kept, nil
}

// Join is a name in a directory, as find and ls -R print it.
func Join(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

// NewWriter buffers writes to a file.
func NewWriter(w io.Writer) *bufio.Writer { return bufio.NewWriterSize(w, CopySize) }

// Readlink returns what a symbolic link refers to.
func (c *Call) Readlink(name string) (string, error) {
	n, e := c.Lookup(name, false)
	if e != abi.OK {
		return "", e
	}
	target, e := c.FS.Readlink(n)
	return target, e.Err()
}

// Fill copies what r has into a file, and closes it.
func (f *File) Fill(r io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{r}, make([]byte, CopySize))
	return cmp.Or(err, f.Close())
}

// Zeros is an endless reader of zeros.
type Zeros struct{}

func (Zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
