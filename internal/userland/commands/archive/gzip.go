package archive

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/ulikunitz/xz"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// packer is a format of compressed files.
type packer struct {
	suffixes []string // of file names, without the dot
	magic    string
	reader   func(io.Reader) (io.Reader, error)
	writer   func(w io.Writer, level int, name string, t time.Time) (io.WriteCloser, error) // nil: there is none
}

// xzMemory bounds the dictionary of an xz file that is read.
const xzMemory = 64 << 20

var packers = map[string]packer{
	"gzip": {[]string{"gz", "tgz", "z"}, "\x1f\x8b", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }, func(w io.Writer, level int, name string, t time.Time) (io.WriteCloser, error) {
		z, err := gzip.NewWriterLevel(w, level)
		if err == nil {
			z.Name, z.ModTime, z.OS = name, t, 3
		}
		return z, err
	}},
	"bzip2": {[]string{"bz2", "tbz2", "tbz"}, "BZh", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }, nil},
	"xz": {[]string{"xz", "txz"}, "\xfd7zXZ\x00", func(r io.Reader) (io.Reader, error) {
		return xz.ReaderConfig{DictCap: xzMemory}.NewReader(r)
	}, func(w io.Writer, _ int, _ string, _ time.Time) (io.WriteCloser, error) {
		return xz.WriterConfig{DictCap: 8 << 20}.NewWriter(w)
	}},
}

// packerNames are the commands by the format that they are for.
var packerNames = map[string]string{
	"gzip": "gzip", "gunzip": "gzip", "zcat": "gzip", "bzip2": "bzip2", "bunzip2": "bzip2", "bzcat": "bzip2",
	"xz": "xz", "unxz": "xz", "xzcat": "xz",
}

// Gzip is gzip, bzip2 and xz, and the commands that undo them.
func Gzip(c *command.Call) int {
	o := c.Parse("1,fast 2 3 4 5 6 7 8 9,best c,stdout,to-stdout d,decompress,uncompress f,force h k,keep l,list n,no-name !N,name q,quiet r,recursive S,suffix= t,test v,verbose z,compress T,threads= e,extreme rsyncable")
	format := packerNames[c.Name]
	g := &gzipRun{c: c, o: o, format: format, packer: packers[format], level: 6}
	g.undo = o.On("d") || o.On("t") || o.On("l") || strings.HasPrefix(c.Name, "un") || strings.HasPrefix(c.Name, "gun") || strings.HasPrefix(c.Name, "bun") || strings.HasSuffix(c.Name, "cat")
	g.stdout = o.On("c") || strings.HasSuffix(c.Name, "cat")
	if format == "gzip" {
		c.Name = format // in messages
	}
	if l := o.Last("1", "2", "3", "4", "5", "6", "7", "8", "9"); l != "" {
		g.level = int(l[0] - '0')
	}
	g.suffix = "." + g.packer.suffixes[0]
	if s := o.Value("S", ""); s != "" {
		g.suffix = "." + strings.TrimPrefix(s, ".")
	}
	if !g.undo && g.packer.writer == nil {
		return c.Die(1, "%s can only be read in this sandbox, not written: use gzip or xz", format)
	}
	if len(o.Args) == 0 {
		o.Args = []string{"-"}
	}
	if o.On("l") {
		c.Print("         compressed        uncompressed  ratio uncompressed_name\n")
	}
	for _, name := range o.Args {
		if c.Stopped() {
			break
		}
		g.file(name)
	}
	return c.Status
}

type gzipRun struct {
	c            *command.Call
	o            *command.Options
	format       string
	packer       packer
	undo, stdout bool
	level        int
	suffix       string
}

func (g *gzipRun) file(name string) {
	c := g.c
	if name == "-" {
		g.report("stdin", g.stream(c.Out, c.In(), "", time.Time{}))
		return
	}
	st, err := c.Stat(name)
	if err != nil && g.undo && !strings.HasSuffix(name, g.suffix) {
		name += g.suffix
		st, err = c.Stat(name)
	}
	switch {
	case err != nil:
		c.Fail("%s: %s", name, command.Text(err))
		return
	case st.IsDir() && g.o.On("r"):
		list, _ := c.ReadDir(name)
		for _, e := range list {
			g.file(command.Join(name, e.Name))
		}
		return
	case st.IsDir():
		c.Errorf("%s is a directory -- ignored", name)
		c.Status = max(c.Status, 2)
		return
	}
	to, ok := g.target(name)
	if !ok {
		return
	}
	in, err := c.Open(name)
	if err != nil {
		c.Failed(name, err)
		return
	}
	defer in.Close()
	switch {
	case g.o.On("l"):
		g.list(name, to, in, st.Size)
	case g.stdout || g.o.On("t"):
		g.report(name, g.stream(c.Out, in, name, st.Mtime.Time()))
	default:
		g.replace(name, to, in, st)
	}
}

// list prints the sizes of a file and of what it unpacks to.
func (g *gzipRun) list(name, to string, in io.Reader, size int64) {
	n, err := g.copy(io.Discard, in)
	if err != nil {
		g.report(name, err)
		return
	}
	ratio := 0.0
	if n > 0 {
		ratio = 100 * (1 - float64(size-18-int64(len(to))-1)/float64(n))
	}
	g.c.Printf("%19d %19d %5.1f%% %s\n", size, n, ratio, to)
}

// replace writes a new file in the place of the old one.
func (g *gzipRun) replace(name, to string, in io.Reader, st abi.Stat) {
	c := g.c
	if _, err := c.Lstat(to); err == nil && !g.o.On("f") {
		c.Errorf("%s already exists;\tnot overwritten", to)
		c.Status = max(c.Status, 2)
		return
	}
	out, err := c.Create(to)
	if err != nil {
		c.Failed(to, err)
		return
	}
	w := command.NewWriter(out)
	if err = g.stream(w, in, command.Base(name), st.Mtime.Time()); err == nil {
		err = w.Flush()
	}
	out.Close()
	if err != nil {
		c.FS.Unlink(nil, c.Abs(to))
		g.report(name, err)
		return
	}
	if n, e := c.Lookup(to, true); e == abi.OK {
		c.FS.Chmod(n, st.Mode&0o7777)
		c.FS.SetTimes(n, st.Atime, st.Mtime)
	}
	if !g.o.On("k") {
		c.FS.Unlink(nil, c.Abs(name))
	}
}

// target is the name of the file to write.
func (g *gzipRun) target(name string) (string, bool) {
	if !g.undo {
		if strings.HasSuffix(name, g.suffix) && !g.o.On("f") {
			g.c.Errorf("%s already has %s suffix -- unchanged", name, g.suffix)
			return "", false
		}
		return name + g.suffix, true
	}
	for i, s := range append([]string{g.suffix[1:]}, g.packer.suffixes...) {
		if to, ok := strings.CutSuffix(name, "."+s); ok && to != "" {
			if i > 1 && s[0] == 't' {
				to += ".tar"
			}
			return to, true
		}
	}
	if g.stdout || g.o.On("t") || g.o.On("l") {
		return name, true
	}
	g.c.Errorf("%s: unknown suffix -- ignored", name)
	g.c.Status = max(g.c.Status, 2)
	return "", false
}

func (g *gzipRun) report(name string, err error) {
	if err == nil || errors.Is(err, command.ErrStopped) || g.c.Ctx.Err() != nil {
		return
	}
	what := command.Text(err)
	switch {
	case errors.Is(err, gzip.ErrHeader):
		what = "not in gzip format"
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		what = "unexpected end of file"
	case errors.Is(err, gzip.ErrChecksum):
		what = "invalid compressed data--crc error"
	}
	g.c.Warnf("\n%s: %s: %s\n", g.c.Name, name, what)
	g.c.Status = 1
}

// stream compresses or decompresses.
func (g *gzipRun) stream(w io.Writer, r io.Reader, name string, t time.Time) error {
	if g.undo {
		if g.o.On("t") {
			w = io.Discard
		}
		_, err := g.copy(w, r)
		return err
	}
	if g.o.On("n") {
		name, t = "", time.Time{}
	}
	z, err := g.packer.writer(w, g.level, name, t)
	if err != nil {
		return err
	}
	if _, err := io.Copy(z, r); err != nil {
		return err
	}
	return z.Close()
}

// copy decompresses. zcat -f passes other data through.
func (g *gzipRun) copy(w io.Writer, r io.Reader) (int64, error) {
	b := bufio.NewReaderSize(r, command.CopySize)
	start, _ := b.Peek(len(g.packer.magic))
	if !bytes.HasPrefix(start, []byte(g.packer.magic)) {
		if g.o.On("f") {
			return io.Copy(w, b)
		}
		if len(start) == 0 {
			return 0, io.ErrUnexpectedEOF
		}
		return 0, errors.New("not in " + g.format + " format")
	}
	z, err := g.packer.reader(b)
	if err != nil {
		return 0, err
	}
	return io.Copy(w, z)
}

// unpacked returns a reader of what is inside a compressed stream, as its first
// bytes say, or the stream itself.
func unpacked(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, command.CopySize)
	start, _ := b.Peek(6)
	for _, p := range packers {
		if bytes.HasPrefix(start, []byte(p.magic)) {
			return p.reader(b)
		}
	}
	return b, nil
}
