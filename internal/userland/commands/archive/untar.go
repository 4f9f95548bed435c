package archive

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/commands/file"
	"coderunner/internal/userland/glob"
)

// notTar is what is said of a file that is no archive.
const notTar = "This does not look like a tar archive"

// extract reads the archive: -x and -t.
func (t *tarRun) extract() {
	c := t.c
	in, err := c.Open(t.archive)
	if err != nil {
		c.Throw("%s: Cannot open: %s", t.archive, command.Text(err))
	}
	defer in.Close()
	raw, err := unpacked(in)
	if err != nil {
		c.Throw("%s: %s", t.archive, command.Text(err))
	}
	t.matched = make([]bool, len(t.names))
	if t.root = t.directory(); t.root != "" && t.mode == "x" && !c.IsDir(t.root) {
		c.Throw("%s: Cannot open: No such file or directory", t.root)
	}
	r := tar.NewReader(raw)
	for first := true; ; first = false {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil && first && (errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF)) {
			t.fail(notTar)
			return
		}
		t.check(err)
		c.Proceed()
		if !t.wanted(h.Name) || t.excluded(h.Name) {
			continue
		}
		if t.mode == "t" {
			t.show(h)
		} else {
			t.one(h, r)
		}
	}
	for _, f := range slices.Backward(t.later) {
		f()
	}
	for i, ok := range t.matched {
		if !ok {
			t.fail("%s: Not found in archive", t.names[i])
		}
	}
}

// directory returns where -C sends what is extracted.
func (t *tarRun) directory() string {
	dir := ""
	for _, w := range t.o.Values("C") {
		dir = command.JoinPath(dir, w)
	}
	return dir
}

// check throws an error of reading the archive.
func (t *tarRun) check(err error) {
	switch {
	case errors.Is(err, tar.ErrHeader):
		t.c.Throw(notTar)
	case errors.Is(err, io.ErrUnexpectedEOF):
		t.c.Throw("Unexpected EOF in archive")
	}
	t.c.Check(err)
}

// wanted reports whether a member was named, or is in a directory that was.
func (t *tarRun) wanted(name string) bool {
	if len(t.names) == 0 {
		return true
	}
	name = strings.TrimSuffix(name, "/")
	any := false
	for i, want := range t.names {
		want = strings.TrimSuffix(want, "/")
		if name == want || strings.HasPrefix(name, want+"/") || t.o.On("wildcards") && glob.Match(want, name) {
			t.matched[i], any = true, true
		}
	}
	return any
}

// one extracts one member. Names that lead out of the directory are refused, and
// so are those that a symbolic link would lead out.
func (t *tarRun) one(h *tar.Header, r io.Reader) {
	c := t.c
	name, ok := t.inside(h.Name)
	if !ok {
		return
	}
	if t.o.On("O") {
		if h.Typeflag == tar.TypeReg {
			_, err := io.Copy(c.Out, r)
			t.check(err)
		}
		return
	}
	if t.verbose > 0 {
		t.show(h)
	}
	to := command.JoinPath(t.root, name)
	if !t.o.On("P") && throughLink(c, t.root, name) {
		t.fail("%s: Cannot open: it is behind a symbolic link", h.Name)
		return
	}
	if parent := command.Dir(to); parent != "." {
		c.MkdirAll(c.Abs(parent))
	}
	var e abi.Errno
	mode := uint32(h.Mode & 0o7777)
	if t.o.On("no-same-permissions") { // as for everybody but root
		mode &^= c.Process.Umask
	}
	switch h.Typeflag {
	case tar.TypeDir:
		to = strings.TrimRight(to, "/")
		if e = c.FS.Mkdir(nil, c.Abs(to), mode|0o700); errors.Is(e, abi.EEXIST) && c.IsDir(to) {
			e = abi.OK
		}
		t.later = append(t.later, func() { t.attributes(to, h, mode) })
	case tar.TypeReg:
		t.regular(h, r, to, mode)
	case tar.TypeSymlink:
		c.FS.Unlink(nil, c.Abs(to))
		e = c.FS.Symlink(h.Linkname, nil, c.Abs(to))
	case tar.TypeLink:
		if target, ok := t.inside(h.Linkname); ok {
			c.FS.Unlink(nil, c.Abs(to))
			e = c.FS.Link(nil, c.Abs(command.JoinPath(t.root, target)), nil, c.Abs(to), false)
		}
	case tar.TypeFifo:
		e = c.FS.Mknod(nil, c.Abs(to), abi.S_IFIFO|mode&0o777)
	default:
		t.fail("%s: Cannot mknod: Operation not permitted", h.Name)
	}
	if e != abi.OK {
		t.fail("%s: Cannot create: %s", h.Name, command.Text(e))
	}
	if errors.Is(e, abi.ENOSPC) {
		c.Check(e)
	}
}

// inside is a member's name below the directory: without leading slashes and
// stripped components. ok is false for one that is to be skipped.
func (t *tarRun) inside(name string) (string, bool) {
	if !t.o.On("P") {
		short := strings.TrimLeft(name, "/")
		if short != name && !t.stripped {
			t.stripped = true
			t.c.Errorf("Removing leading `/' from member names")
		}
		name = short
		for part := range strings.SplitSeq(name, "/") {
			if part == ".." {
				t.fail("%s: Member name contains '..'", name)
				return "", false
			}
		}
	}
	name = t.transformed(name)
	for range t.strip {
		_, rest, ok := strings.Cut(strings.TrimLeft(name, "/"), "/")
		if !ok {
			return "", false
		}
		name = rest
	}
	return name, name != ""
}

// throughLink reports whether a directory on the way to name, below root, is a
// symbolic link that leads out of root.
func throughLink(c *command.Call, root, name string) bool {
	top := c.Real(cmp.Or(root, "."))
	for at := range len(name) {
		if name[at] != '/' {
			continue
		}
		if real := c.Real(command.JoinPath(root, name[:at])); real != "" && real != top && !strings.HasPrefix(real, strings.TrimSuffix(top, "/")+"/") {
			return true
		}
	}
	return false
}

func (t *tarRun) regular(h *tar.Header, r io.Reader, to string, mode uint32) {
	c := t.c
	if st, err := c.Lstat(to); err == nil {
		switch {
		case t.o.On("k"):
			t.fail("%s: Cannot open: File exists", h.Name)
			return
		case t.o.On("keep-newer-files") && !st.Mtime.Time().Before(h.ModTime):
			return
		case !st.IsDir():
			c.FS.Unlink(nil, c.Abs(to))
		}
	}
	f, err := c.OpenFile(to, abi.O_WRONLY|abi.O_CREAT|abi.O_TRUNC, mode|0o600)
	if err != nil {
		t.fail("%s: Cannot open: %s", h.Name, command.Text(err))
		return
	}
	if err = f.Fill(r); err != nil {
		c.FS.Unlink(nil, c.Abs(to))
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, command.ErrStopped) {
			t.check(err)
		}
		c.Throw("%s: Cannot write: %s", h.Name, command.Text(err))
	}
	t.attributes(to, h, mode)
}

func (t *tarRun) attributes(to string, h *tar.Header, mode uint32) {
	n, e := t.c.Lookup(to, true)
	if e != abi.OK {
		return
	}
	t.c.FS.Chmod(n, mode)
	if !t.o.On("m") {
		stamp := abi.NewTimespec(h.ModTime)
		t.c.FS.SetTimes(n, abi.Timespec{Nsec: abi.UTIME_OMIT}, stamp)
	}
}

// show prints a member's line for -v and -t.
func (t *tarRun) show(h *tar.Header) {
	level := t.verbose
	if t.mode == "t" {
		level++
	}
	switch {
	case level == 0:
	case level == 1:
		fmt.Fprintf(t.listing, "%s\n", h.Name)
	default:
		mode := uint32(h.Mode&0o7777) | map[byte]uint32{tar.TypeDir: abi.S_IFDIR, tar.TypeSymlink: abi.S_IFLNK, tar.TypeFifo: abi.S_IFIFO}[h.Typeflag]
		owner := h.Uname + "/" + h.Gname
		if h.Uname == "" || t.o.On("numeric-owner") {
			owner = fmt.Sprintf("%d/%d", h.Uid, h.Gid)
		}
		name, kind := h.Name, file.ModeString(mode)
		switch h.Typeflag {
		case tar.TypeSymlink:
			name += " -> " + h.Linkname
		case tar.TypeLink:
			name, kind = name+" link to "+h.Linkname, "h"+kind[1:]
		}
		size := fmt.Sprint(h.Size)
		fmt.Fprintf(t.listing, "%s %s %*s %s %s\n", kind, owner, max(len(size), 18-len(owner)), size, h.ModTime.In(t.c.Zone()).Format("2006-01-02 15:04"), name)
	}
}
