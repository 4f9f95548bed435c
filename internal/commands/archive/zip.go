package archive

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"coderunner/internal/commands/command"
	"coderunner/internal/glob"
	"coderunner/pyodide/abi"
)

// Zip is Info-ZIP's zip.
func Zip(c *command.Call) int {
	o := c.Parse("r,recurse-paths q,quiet j,junk-paths 0 1 2 3 4 5 6 7 8 9 x,exclude= !i,include= d,delete !u,update !f,freshen !m,move v,verbose y,symlinks X,no-extra D,no-dir-entries g,grow @ T,test !e,encrypt !P,password= Z=")
	if len(o.Args) == 0 {
		return c.Usage(16, "nothing to do")
	}
	archive := o.Args[0]
	if archive != "-" && !strings.Contains(command.Base(archive), ".") {
		archive += ".zip"
	}
	z := &zipRun{c: c, o: o, archive: archive, skip: o.Values("x"), names: map[string]bool{}}
	names := o.Args[1:]
	// "-x a b" takes all that follows.
	if at := slices.Index(c.Args, "-x"); at >= 0 {
		var kept []string
		for _, n := range names {
			if slices.Index(c.Args, n) < at {
				kept = append(kept, n)
			} else {
				z.skip = append(z.skip, n)
			}
		}
		names = kept
	}
	if o.On("@") {
		l := c.Lines(c.In(), '\n')
		for line, ok := l.Next(); ok; line, ok = l.Next() {
			names = append(names, string(line))
		}
	}
	if err := z.run(names); err != nil {
		return c.Die(15, "%s", command.Text(err))
	}
	return c.Status
}

type zipRun struct {
	c       *command.Call
	o       *command.Options
	archive string
	skip    []string
	w       *zip.Writer
	count   int
	names   map[string]bool
}

// run writes the archive beside the old one, whose other members are kept.
func (z *zipRun) run(names []string) error {
	c := z.c
	out, temp := io.Writer(c.Out), z.archive+".tmp~"
	if z.archive != "-" {
		f, err := c.Create(temp)
		if err != nil {
			return fmt.Errorf("Could not create output file (%s)", z.archive)
		}
		defer c.FS.Unlink(nil, c.Abs(temp))
		defer f.Close()
		out = f
	}
	z.w = zip.NewWriter(out)
	var old *zip.Reader
	if f, err := c.OpenFile(z.archive, abi.O_RDONLY, 0); err == nil && z.archive != "-" {
		defer f.Close()
		if old, err = zip.NewReader(f, f.F.Stat().Size); err != nil {
			return fmt.Errorf("Zip file structure invalid (%s)", z.archive)
		}
		for _, m := range old.File {
			z.names[m.Name] = true
		}
	}
	added := map[string]bool{} // or deleted
	if z.o.On("d") {
		z.remove(old, names, added)
		names = nil
	}
	for _, n := range names {
		if err := z.add(n, added, 0); err != nil {
			return err
		}
	}
	if z.count == 0 {
		c.Status = 12
		c.Warnf("\nzip error: Nothing to do! (%s)\n", z.archive)
		return nil
	}
	if old != nil {
		for _, m := range old.File {
			if !added[m.Name] {
				if err := z.w.Copy(m); err != nil {
					return err
				}
			}
		}
	}
	if err := z.w.Close(); err != nil {
		return err
	}
	if z.archive != "-" {
		return c.FS.Rename(nil, c.Abs(temp), nil, c.Abs(z.archive), 0).Err()
	}
	return nil
}

// remove notes the members that match as gone.
func (z *zipRun) remove(old *zip.Reader, globs []string, gone map[string]bool) {
	if old == nil {
		return
	}
	for _, m := range old.File {
		if matches(globs, m.Name) {
			gone[m.Name] = true
			z.count++
			if !z.o.On("q") {
				z.c.Printf("deleting: %s\n", m.Name)
			}
		}
	}
}

func (z *zipRun) add(name string, added map[string]bool, depth int) error {
	c := z.c
	if c.Stopped() {
		return command.ErrStopped
	}
	st, err := c.StatOf(name, !z.o.On("y"))
	if err != nil {
		c.Warnf("\tzip warning: name not matched: %s\n", name)
		return nil
	}
	member := strings.TrimLeft(path.Clean(name), "/")
	if z.o.On("j") {
		member = command.Base(member)
	}
	if st.IsDir() {
		member += "/"
	}
	if !matches(z.skip, member) && !matches(z.skip, name) && !(st.IsDir() && (z.o.On("j") || z.o.On("D") || member == "./")) {
		if err := z.member(name, member, &st, added); err != nil {
			return err
		}
	}
	if !st.IsDir() || !z.o.On("r") || depth > command.MaxDepth {
		return nil
	}
	list, err := c.ReadDir(name)
	if err != nil {
		c.Warnf("\tzip warning: could not open for reading: %s\n", name)
	}
	for _, e := range list {
		if err := z.add(command.Join(name, e.Name), added, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (z *zipRun) member(name, member string, st *abi.Stat, added map[string]bool) error {
	h := &zip.FileHeader{Name: member, Modified: st.Mtime.Time().In(z.c.Zone()), Method: zip.Deflate}
	h.SetMode(abi.FileMode(st.Mode))
	if st.Size == 0 || st.IsDir() || z.o.On("0") {
		h.Method = zip.Store
	}
	w, err := z.w.CreateHeader(h)
	if err != nil {
		return err
	}
	z.count++
	added[member] = true
	switch st.Mode & abi.S_IFMT {
	case abi.S_IFLNK:
		n, _ := z.c.Lookup(name, false)
		target, _ := z.c.FS.Readlink(n)
		_, err = io.WriteString(w, target)
	case abi.S_IFREG:
		f, e := z.c.Open(name)
		if e != nil {
			z.c.Warnf("\tzip warning: could not open for reading: %s\n", name)
			return nil
		}
		defer f.Close()
		_, err = io.Copy(w, f)
	}
	if !z.o.On("q") && err == nil {
		verb := "  adding"
		if z.names[member] {
			verb = "updating"
		}
		how := "(stored 0%)"
		if h.Method == zip.Deflate {
			z.w.Flush()
			how = "(deflated)"
		}
		z.c.Printf("%s: %s %s\n", verb, member, how)
	}
	return err
}

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
	plural := strings.Repeat("s", command.Btoi(len(wanted) != 1))
	c.Printf("---------                     -------\n%9d                     %d file%s\n", total, len(wanted), plural)
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
	perm := uint32(m.Mode().Perm())
	if perm == 0 {
		perm = 0o644
	}
	f, err := c.OpenFile(to, abi.O_WRONLY|abi.O_CREAT|abi.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, data, make([]byte, command.CopySize))
	n := f.F.Node()
	f.Close()
	if err != nil {
		c.FS.Unlink(nil, c.Abs(to))
		return err
	}
	c.FS.SetTimes(n, abi.Timespec{Nsec: abi.UTIME_OMIT}, abi.NewTimespec(m.Modified))
	if !o.On("q") {
		c.Printf("%s: %s  \n", verb, to)
	}
	return nil
}
