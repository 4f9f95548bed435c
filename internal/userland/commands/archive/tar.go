// Package archive has the commands that pack and compress: tar, zip, unzip, gzip
// and their relatives.
package archive

import (
	"archive/tar"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/clock"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/commands/file"
	"coderunner/internal/userland/commands/sed"
	"coderunner/internal/userland/glob"
)

const tarOptions = "A,catenate c,create d,diff delete r,append t,list u,update x,extract,get f,file= z,gzip,gunzip,ungzip j,bzip2 J,xz a,auto-compress v,verbose C,directory= O,to-stdout k,keep-old-files keep-newer-files overwrite p,preserve-permissions,same-permissions no-same-permissions same-owner no-same-owner o P,absolute-names h,dereference strip-components= exclude= X,exclude-from= T,files-from= null no-recursion recursion wildcards no-wildcards !anchored no-anchored transform,xform= owner= group= !mode= mtime= sort= format= numeric-owner one-file-system m,touch !w,interactive !I,use-compress-program= b,blocking-factor= !W,verify ignore-failed-read no-xattrs xattrs no-acls no-selinux warning= checkpoint=? !totals=? !remove-files show-transformed-names U,unlink-first !zstd !lzma !newer= !N= S,sparse !i,ignore-zeros full-time utc"

const tarHint = "Try 'tar --help' or 'tar --usage' for more information."

// packerOptions are the formats by the options that choose them.
var packerOptions = map[string]string{"z": "gzip", "j": "bzip2", "J": "xz"}

// tarRun is a running tar.
type tarRun struct {
	c        *command.Call
	o        *command.Options
	mode     string
	names    []string
	dirs     []string // the -C before each name
	exclude  []string
	strip    int
	verbose  int
	listing  io.Writer
	status   int
	matched  []bool
	w        *tar.Writer
	archive  string
	links    map[[2]uint64]string
	members  map[string]time.Time // for -u, when those in the archive were changed
	stripped bool                 // a leading slash was removed

	rename func(string) string // --transform; nil: none
	root   string              // where it is extracted
	later  []func()            // times of directories, after their contents
}

// Tar makes, lists and extract archives.
func Tar(c *command.Call) int {
	c.Args = tarArgs(c.Args)
	t := &tarRun{c: c, links: map[[2]uint64]string{}, members: map[string]time.Time{}, listing: c.Out}
	// -C counts for the names after it, so that options are read in order.
	o := c.Parse(tarOptions)
	t.o = o
	modes := slices.DeleteFunc([]string{"A", "c", "d", "delete", "r", "t", "u", "x"}, func(m string) bool { return !o.On(m) })
	switch len(modes) {
	case 0:
		return c.Die(2, "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options\n%s", tarHint)
	case 1:
		t.mode = modes[0]
	default:
		return c.Die(2, "You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option\n%s", tarHint)
	}
	for _, s := range []string{"owner", "group"} {
		if v := o.Value(s, "0"); v != "0" && v != "root" && v != "root:0" {
			return c.Die(2, "option '--%s' is not available in this sandbox: everything belongs to root", s)
		}
	}
	t.archive = o.Value("f", "-")
	t.verbose = len(o.Values("v"))
	t.exclude = o.Values("exclude")
	t.strip, _ = command.Atoi(o.Value("strip-components", "0"))
	t.names, t.dirs = t.operands()
	t.exclude = append(t.exclude, strings.Fields(t.file(o.Value("X", "")))...)
	for n := range strings.SplitSeq(t.file(o.Value("T", "")), string(command.LineEnd(o.On("null")))) {
		if n != "" {
			t.names, t.dirs = append(t.names, n), append(t.dirs, o.Value("C", ""))
		}
	}
	if o.On("transform") {
		t.rename = sed.Renaming(c, strings.Join(o.Values("transform"), ";"))
	}
	var run func()
	switch t.mode {
	case "c":
		run = t.create
	case "r", "u":
		if o.Last("z", "j", "J") != "" {
			return c.Die(2, "%s\n%s", errCompressed, tarHint)
		}
		run = t.append
	case "t", "x":
		run = t.extract
	default:
		return c.Die(2, "the mode '%s' is not available in this sandbox: use -c, -r, -t, -u and -x", t.mode)
	}
	if err := c.Catch(run); err != nil && !errors.Is(err, command.ErrStopped) && c.Ctx.Err() == nil {
		c.Errorf("%s", command.Text(err))
		c.Errorf("Error is not recoverable: exiting now")
		return 2
	}
	if t.status != 0 {
		c.Errorf("Exiting with failure status due to previous errors")
	}
	return t.status
}

// file returns what is in a file that an option names.
func (t *tarRun) file(name string) string {
	if name == "" {
		return ""
	}
	data, err := t.c.ReadFile(name)
	t.c.Need(err, 2, "%s", name)
	return string(data)
}

// tarArgs puts a dash before the old form: tar czf file.
func tarArgs(args []string) []string {
	if len(args) == 0 || args[0] == "" || args[0][0] == '-' {
		return args
	}
	out, rest := []string{}, args[1:]
	for _, f := range args[0] {
		out = append(out, "-"+string(f))
		if strings.ContainsRune("fCTXbI", f) && len(rest) > 0 {
			out, rest = append(out, rest[0]), rest[1:]
		}
	}
	return append(out, rest...)
}

// operands returns the names and for each the directory that -C named before it.
func (t *tarRun) operands() (names, dirs []string) {
	names = t.o.Args
	where := t.o.Values("C")
	if len(where) <= 1 || t.mode != "c" && t.mode != "r" {
		return names, slices.Repeat([]string{t.directory()}, len(names))
	}
	// Find the names on the command line again to see what -C came before.
	dir, next := "", 0
	for i := 0; i < len(t.c.Args) && next < len(names); i++ {
		a := t.c.Args[i]
		switch {
		case a == "-C" && i+1 < len(t.c.Args):
			i++
			dir = command.JoinPath(dir, t.c.Args[i])
		case strings.HasPrefix(a, "--directory="):
			dir = command.JoinPath(dir, a[12:])
		case a == names[next]:
			dirs = append(dirs, dir)
			next++
		}
	}
	for len(dirs) < len(names) {
		dirs = append(dirs, dir)
	}
	return names, dirs
}

// excluded reports whether --exclude matches a name or a directory above it.
func (t *tarRun) excluded(name string) bool {
	name = strings.TrimSuffix(name, "/")
	for _, p := range t.exclude {
		p = strings.TrimSuffix(p, "/")
		if glob.Match(p, name) || strings.HasSuffix(name, "/"+p) {
			return true
		}
		for i, ch := range []byte(name) {
			if ch == '/' && glob.Match(p, name[i+1:]) {
				return true
			}
		}
	}
	return false
}

func (t *tarRun) fail(format string, args ...any) {
	t.c.Errorf(format, args...)
	t.status = 2
}

func (t *tarRun) create() {
	c, o := t.c, t.o
	if len(t.names) == 0 {
		c.Exit(2, "Cowardly refusing to create an empty archive\n%s", tarHint)
	}
	var out io.Writer = c.Out
	if t.archive != "-" {
		f, err := c.Create(t.archive)
		if err != nil {
			c.Throw("%s: Cannot open: %s", t.archive, command.Text(err))
		}
		defer f.Close()
		b := command.NewWriter(f)
		defer b.Flush()
		out = b
	} else {
		t.listing = c.Process.Stderr(c.Ctx)
	}
	format := packerOptions[o.Last("z", "j", "J")]
	if format == "" && o.On("a") {
		for name, p := range packers {
			if slices.ContainsFunc(p.suffixes, func(s string) bool { return strings.HasSuffix(t.archive, "."+s) }) {
				format = name
			}
		}
	}
	if format != "" {
		if packers[format].writer == nil {
			c.Throw("%s can only be read in this sandbox, not written: use -z or -J", format)
		}
		z, err := packers[format].writer(out, 6, "", time.Time{})
		c.Check(err)
		defer z.Close()
		out = z
	}
	t.write(out)
}

// write writes the members, and the end of the archive.
func (t *tarRun) write(out io.Writer) {
	t.w = tar.NewWriter(out)
	for i, name := range t.names {
		t.add(name, t.dirs[i], 0)
	}
	if err := t.w.Close(); err != nil {
		t.c.Throw("%s: Wrote only part: %s", t.archive, command.Text(err))
	}
}

// member is a file's name in the archive: without a leading slash.
func (t *tarRun) member(name string) string {
	if t.o.On("P") {
		return name
	}
	short := strings.TrimLeft(name, "/")
	for strings.HasPrefix(short, "../") {
		short = short[3:]
	}
	if short != name && !t.stripped {
		t.stripped = true
		t.c.Errorf("Removing leading `%s' from member names", name[:len(name)-len(short)])
	}
	return t.transformed(cmp.Or(short, "./"))
}

func (t *tarRun) add(name, dir string, depth int) {
	c := t.c
	c.Proceed()
	if t.excluded(name) {
		return
	}
	at := command.JoinPath(dir, name)
	st, err := c.StatOf(at, t.o.On("h"))
	if err != nil {
		t.fail("%s: Cannot stat: %s", name, command.Text(err))
		return
	}
	h := &tar.Header{
		Name: t.member(name), Mode: int64(st.Mode & 0o7777), ModTime: st.Mtime.Time().Truncate(time.Second),
		Uid: int(st.UID), Gid: int(st.GID), Uname: file.UserName(st.UID, false), Gname: file.UserName(st.GID, false), Format: tar.FormatGNU,
	}
	if m := t.o.Value("mtime", ""); m != "" {
		if at, ok := clock.ParseDate(m, c.Zone()); ok {
			h.ModTime = at
		}
	}
	f, ok := t.kind(h, at, name, &st)
	if !ok {
		return
	}
	if f != nil {
		defer f.Close()
	}
	current := t.current(h)
	if current && f != nil {
		return
	}
	if !current {
		if err := t.w.WriteHeader(h); err != nil {
			c.Throw("%s: Cannot write: %s", t.archive, command.Text(err))
		}
		t.show(h)
	}
	if f != nil {
		t.contents(f, name, h.Size)
	}
	if h.Typeflag != tar.TypeDir || t.o.On("no-recursion") || depth > command.MaxDepth {
		return
	}
	list, err := c.ReadDir(at)
	if err != nil {
		t.fail("%s: Cannot open: %s", name, command.Text(err))
	}
	for _, e := range list {
		t.add(command.Join(name, e.Name), dir, depth+1)
	}
}

// kind fills in what depends on the type of a file, and opens one with contents.
// ok is false for a file that is left out.
func (t *tarRun) kind(h *tar.Header, at, name string, st *abi.Stat) (f io.ReadCloser, ok bool) {
	c := t.c
	id := [2]uint64{uint64(st.Dev), st.Ino}
	switch st.Mode & abi.S_IFMT {
	case abi.S_IFDIR:
		h.Typeflag, h.Name = tar.TypeDir, strings.TrimSuffix(h.Name, "/")+"/"
	case abi.S_IFLNK:
		h.Linkname, _ = c.Readlink(at)
		h.Typeflag = tar.TypeSymlink
	case abi.S_IFIFO:
		h.Typeflag = tar.TypeFifo
	case abi.S_IFREG:
		if first := t.links[id]; st.Nlink > 1 && first != "" {
			h.Typeflag, h.Linkname = tar.TypeLink, first
			break
		}
		if st.Nlink > 1 {
			t.links[id] = h.Name
		}
		h.Typeflag, h.Size = tar.TypeReg, st.Size
		f, err := c.Open(at)
		if err != nil {
			t.fail("%s: Cannot open: %s", name, command.Text(err))
		}
		return f, err == nil
	default:
		c.Errorf("%s: Unknown file type; file ignored", name)
		return nil, false
	}
	return nil, true
}

// contents writes a file's bytes, and zeros if it shrank, as GNU does.
func (t *tarRun) contents(f io.Reader, name string, size int64) {
	n, err := io.Copy(t.w, io.LimitReader(f, size))
	if err == nil && n < size {
		_, err = io.CopyN(t.w, command.Zeros{}, size-n)
		t.fail("%s: File shrank by %d bytes; padding with zeros", name, size-n)
	}
	if err != nil {
		t.c.Throw("%s: Cannot write: %s", t.archive, command.Text(err))
	}
}
