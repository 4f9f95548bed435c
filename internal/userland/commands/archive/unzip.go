package archive

import (
	"archive/zip"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/glob"
)

// Unzip is Info-ZIP's unzip.
func Unzip(c *command.Call) int {
	o := c.Parse("l Z 1 q o n d= j p v t x= !u !f !C !a")
	if len(o.Args) == 0 {
		return c.Usage(10, "no archive was named")
	}
	name := o.Args[0]
	f, err := c.OpenFile(name, abi.O_RDONLY, 0)
	if err != nil {
		name += ".zip"
		f, err = c.OpenFile(name, abi.O_RDONLY, 0)
	}
	if err != nil {
		c.Warnf("unzip:  cannot find or open %s, %s or %s.ZIP.\n", o.Args[0], name, o.Args[0])
		return 9
	}
	defer f.Close()
	r, err := zip.NewReader(f, f.F.Stat().Size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		c.Warnf("[%s]\n  End-of-central-directory signature not found: this is not a zip file.\n", name)
		return 9
	}
	u := &unzipRun{c: c, o: o, globs: o.Args[1:], root: o.Value("d", "")}
	names := o.On("Z") || c.Name == "zipinfo"
	if names && !o.On("1") {
		return c.Die(10, "of zipinfo and -Z only -1 is available in this sandbox: unzip -l lists sizes and times")
	}
	if names {
		for _, m := range u.wanted(r) {
			c.Printf("%s\n", m.Name)
		}
		return c.Status
	}
	if !o.On("q") && !o.On("p") {
		c.Printf("Archive:  %s\n", name)
	}
	wanted := u.wanted(r)
	if o.On("l") || o.On("v") {
		u.list(wanted)
		return 0
	}
	for _, m := range wanted {
		if c.Stopped() {
			return 1
		}
		if err := u.extract(m); err != nil {
			c.Fail("%s: %s", m.Name, command.Text(err))
			if errors.Is(err, abi.ENOSPC) {
				return 50
			}
			c.Status = 3
		}
	}
	if len(wanted) == 0 && len(u.globs) > 0 {
		c.Warnf("caution: filename not matched:  %s\n", strings.Join(u.globs, "\ncaution: filename not matched:  "))
		return 11
	}
	if o.On("t") && c.Status == 0 {
		c.Printf("No errors detected in compressed data of %s.\n", name)
	}
	return c.Status
}

type unzipRun struct {
	c     *command.Call
	o     *command.Options
	globs []string
	root  string
}

// wanted returns the members that were named and not excluded.
func (u *unzipRun) wanted(r *zip.Reader) (list []*zip.File) {
	for _, m := range r.File {
		if (len(u.globs) == 0 || matches(u.globs, m.Name)) && !matches(u.o.Values("x"), m.Name) {
			list = append(list, m)
		}
	}
	return list
}

// matches reports whether one of the globs matches a name.
func matches(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return glob.Match(g, name) })
}

func (u *unzipRun) list(wanted []*zip.File) {
	c := u.c
	c.Print("  Length      Date    Time    Name\n---------  ---------- -----   ----\n")
	total := uint64(0)
	for _, m := range wanted {
		c.Printf("%9d  %s   %s\n", m.UncompressedSize64, m.Modified.In(c.Zone()).Format("2006-01-02 15:04"), m.Name)
		total += m.UncompressedSize64
	}
	c.Printf("---------                     -------\n%9d                     %d file%s\n", total, len(wanted), command.Plural(len(wanted)))
}

// extract writes one member, below the directory in any case.
func (u *unzipRun) extract(m *zip.File) error {
	c, o := u.c, u.o
	name := strings.TrimLeft(strings.ReplaceAll(m.Name, `\`, "/"), "/")
	name = strings.TrimPrefix(path.Clean("/"+name), "/") + strings.Repeat("/", command.Btoi(strings.HasSuffix(name, "/")))
	if o.On("j") {
		name = command.Base(name)
	}
	if name == "" || name == "/" {
		return nil
	}
	in, err := m.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	data := struct{ io.Reader }{c.Guarded(in)}
	switch {
	case o.On("p"):
		_, err = io.Copy(c.Out, data)
		return err
	case o.On("t"):
		_, err = io.Copy(io.Discard, data)
		if err == nil && !o.On("q") {
			c.Printf("    testing: %-22s   OK\n", m.Name)
		}
		return err
	}
	to := command.JoinPath(u.root, name)
	if throughLink(c, u.root, name) {
		return errors.New("it is behind a symbolic link that leads out of the directory")
	}
	if strings.HasSuffix(name, "/") || m.FileInfo().IsDir() {
		if !o.On("q") && !c.IsDir(to) {
			c.Printf("   creating: %s\n", to)
		}
		return c.MkdirAll(c.Abs(to))
	}
	if err := c.MkdirAll(c.Abs(command.Dir(to))); err != nil {
		return err
	}
	if st, err := c.Lstat(to); err == nil {
		if o.On("n") || !o.On("o") {
			if !o.On("n") {
				c.Warnf("%s is there already: it is kept; -o overwrites\n", to)
			}
			return nil
		}
		if !st.IsDir() {
			c.FS.Unlink(nil, c.Abs(to))
		}
	}
	return u.write(m, data, to)
}

// write extracts a file or a symbolic link.
func (u *unzipRun) write(m *zip.File, data io.Reader, to string) error {
	c, o := u.c, u.o
	verb := "  inflating"
	if m.Method == zip.Store {
		verb = " extracting"
	}
	if m.Mode()&fs.ModeSymlink != 0 {
		target, err := io.ReadAll(io.LimitReader(data, abi.PATH_MAX))
		if err != nil {
			return err
		}
		return c.FS.Symlink(string(target), nil, c.Abs(to)).Err()
	}
	perm := cmp.Or(uint32(m.Mode().Perm()), 0o644)
	f, err := c.OpenFile(to, abi.O_WRONLY|abi.O_CREAT|abi.O_TRUNC, perm)
	if err != nil {
		return err
	}
	n := f.F.Node()
	if err = f.Fill(data); err != nil {
		c.FS.Unlink(nil, c.Abs(to))
		return err
	}
	c.FS.SetTimes(n, abi.Timespec{Nsec: abi.UTIME_OMIT}, abi.NewTimespec(m.Modified))
	if !o.On("q") {
		c.Printf("%s: %s  \n", verb, to)
	}
	return nil
}
