package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/commands/file"
	"coderunner/internal/userland/glob"
)

// extract reads the archive: -x and -t.
func (t *tarRun) extract() error {
	c := t.c
	in, err := c.Open(t.archive)
	if err != nil {
		return fmt.Errorf("%s: Cannot open: %s", t.archive, command.Text(err))
	}
	defer in.Close()
	raw, err := unpacked(in)
	if err != nil {
		return fmt.Errorf("%s: %s", t.archive, command.Text(err))
	}
	t.matched = make([]bool, len(t.names))
	root := t.root()
	if root != "" && t.mode == "x" && !c.IsDir(root) {
		return fmt.Errorf("%s: Cannot open: No such file or directory", root)
	}
	r := tar.NewReader(raw)
	first := true
	var later []func() // times of directories, after their contents
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil && first && (errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF)) {
			t.fail("This does not look like a tar archive")
			return nil
		}
		first = false
		if err != nil {
			return tarError(err)
		}
		if c.Stopped() {
			return command.ErrStopped
		}
		if !t.wanted(h.Name) || t.excluded(h.Name) {
			continue
		}
		if t.mode == "t" {
			t.show(h)
			continue
		}
		if later, err = t.one(h, r, root, later); err != nil {
			return err
		}
	}
	for i := len(later) - 1; i >= 0; i-- {
		later[i]()
	}
	for i, ok := range t.matched {
		if !ok {
			t.fail("%s: Not found in archive", t.names[i])
		}
	}
	return nil
}

func (t *tarRun) root() string {
	dir := ""
	for _, w := range t.o.Values("C") {
		dir = command.JoinPath(dir, w)
	}
	return dir
}

func tarError(err error) error {
	switch {
	case errors.Is(err, tar.ErrHeader):
		return errors.New("This does not look like a tar archive")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("Unexpected EOF in archive")
	}
	return err
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
func (t *tarRun) one(h *tar.Header, r io.Reader, root string, later []func()) ([]func(), error) {
	c := t.c
	name, ok := t.inside(h.Name)
	if !ok {
		return later, nil
	}
	if t.o.On("O") {
		var err error
		if h.Typeflag == tar.TypeReg {
			_, err = io.Copy(c.Out, r)
		}
		return later, tarError(err)
	}
	if t.verbose > 0 {
		t.show(h)
	}
	to := command.JoinPath(root, name)
	if !t.o.On("P") && throughLink(c, root, name) {
		t.fail("%s: Cannot open: it is behind a symbolic link", h.Name)
		return later, nil
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
		later = append(later, func() { t.attributes(to, h, mode) })
	case tar.TypeReg:
		return later, t.regular(h, r, to, mode)
	case tar.TypeSymlink:
		c.FS.Unlink(nil, c.Abs(to))
		e = c.FS.Symlink(h.Linkname, nil, c.Abs(to))
	case tar.TypeLink:
		if target, ok := t.inside(h.Linkname); ok {
			c.FS.Unlink(nil, c.Abs(to))
			e = c.FS.Link(nil, c.Abs(command.JoinPath(root, target)), nil, c.Abs(to), false)
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
		return later, e
	}
	return later, nil
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
	if root == "" {
		root = "."
	}
	top := c.Real(root)
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

func (t *tarRun) regular(h *tar.Header, r io.Reader, to string, mode uint32) error {
	c := t.c
	if st, err := c.Lstat(to); err == nil {
		switch {
		case t.o.On("k"):
			t.fail("%s: Cannot open: File exists", h.Name)
			return nil
		case t.o.On("keep-newer-files") && !st.Mtime.Time().Before(h.ModTime):
			return nil
		case !st.IsDir():
			c.FS.Unlink(nil, c.Abs(to))
		}
	}
	f, err := c.OpenFile(to, abi.O_WRONLY|abi.O_CREAT|abi.O_TRUNC, mode|0o600)
	if err != nil {
		t.fail("%s: Cannot open: %s", h.Name, command.Text(err))
		return nil
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{r}, make([]byte, command.CopySize))
	f.Close()
	if err != nil {
		c.FS.Unlink(nil, c.Abs(to))
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return tarError(err)
		}
		return fmt.Errorf("%s: Cannot write: %w", h.Name, textError(err))
	}
	t.attributes(to, h, mode)
	return nil
}

// textError has the text of an error and is it.
func textError(err error) error { return wrapped{command.Text(err), err} }

type wrapped struct {
	text string
	err  error
}

func (w wrapped) Error() string { return w.text }
func (w wrapped) Unwrap() error { return w.err }

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
