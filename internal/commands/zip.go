package commands

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"coderunner/pyodide/abi"
)

// zipCommand is Info-ZIP's zip.
func zipCommand(c *call) int {
	o, status := c.options("r,recurse-paths q,quiet j,junk-paths 0 1 2 3 4 5 6 7 8 9 x,exclude= !i,include= d,delete !u,update !f,freshen !m,move v,verbose y,symlinks X,no-extra D,no-dir-entries g,grow @ T,test !e,encrypt !P,password= Z=")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.usage(16, "nothing to do")
	}
	archive := o.args[0]
	if archive != "-" && !strings.Contains(base(archive), ".") {
		archive += ".zip"
	}
	z := &zipRun{c: c, o: o, archive: archive, skip: o.values("x")}
	names := o.args[1:]
	// "-x a b" takes all that follows.
	if o.on("x") {
		at := slices.Index(c.args, "-x")
		if at >= 0 {
			var kept []string
			for _, n := range names {
				if i := slices.Index(c.args, n); i < at {
					kept = append(kept, n)
				} else {
					z.skip = append(z.skip, n)
				}
			}
			names = kept
		}
	}
	if o.on("@") {
		l := c.lines(c.in(), '\n')
		for line, ok := l.next(); ok; line, ok = l.next() {
			names = append(names, string(line))
		}
	}
	if err := z.run(names); err != nil {
		return c.die(15, "%s", text(err))
	}
	return c.status
}

type zipRun struct {
	c       *call
	o       *options
	archive string
	skip    []string
	w       *zip.Writer
	count   int
	names   map[string]bool
}

// run writes the archive beside the old one, whose other members are kept.
func (z *zipRun) run(names []string) error {
	c := z.c
	z.names = map[string]bool{}
	out, temp := io.Writer(c.out), z.archive+".tmp~"
	if z.archive != "-" {
		f, err := c.create(temp)
		if err != nil {
			return fmt.Errorf("Could not create output file (%s)", z.archive)
		}
		defer c.fs.Unlink(nil, c.abs(temp))
		defer f.Close()
		out = f
	}
	z.w = zip.NewWriter(out)
	var old *zip.Reader
	if f, err := c.openFile(z.archive, abi.O_RDONLY, 0); err == nil && z.archive != "-" {
		defer f.Close()
		if old, err = zip.NewReader(f, f.f.Stat().Size); err != nil {
			return fmt.Errorf("Zip file structure invalid (%s)", z.archive)
		}
		for _, m := range old.File {
			z.names[m.Name] = true
		}
	}
	added := map[string]bool{} // or deleted
	if z.o.on("d") {
		z.remove(old, names, added)
		names = nil
	}
	for _, n := range names {
		if err := z.add(n, added, 0); err != nil {
			return err
		}
	}
	if z.count == 0 {
		c.status = 12
		c.warnf("\nzip error: Nothing to do! (%s)\n", z.archive)
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
		return c.fs.Rename(nil, c.abs(temp), nil, c.abs(z.archive), 0).Err()
	}
	return nil
}

// remove notes the members that match as gone.
func (z *zipRun) remove(old *zip.Reader, globs []string, gone map[string]bool) {
	if old == nil {
		return
	}
	for _, m := range old.File {
		if slices.ContainsFunc(globs, func(g string) bool { return fnmatch(g, m.Name) }) {
			gone[m.Name] = true
			z.count++
			if !z.o.on("q") {
				z.c.printf("deleting: %s\n", m.Name)
			}
		}
	}
}

func (z *zipRun) add(name string, added map[string]bool, depth int) error {
	c := z.c
	if c.stopped() {
		return errStopped
	}
	st, err := c.statOf(name, !z.o.on("y"))
	if err != nil {
		c.warnf("\tzip warning: name not matched: %s\n", name)
		return nil
	}
	member := strings.TrimLeft(path.Clean(name), "/")
	if z.o.on("j") {
		member = base(member)
	}
	if st.IsDir() {
		member += "/"
	}
	skipped := slices.ContainsFunc(z.skip, func(p string) bool { return fnmatch(p, member) || fnmatch(p, name) })
	if !skipped && !(st.IsDir() && (z.o.on("j") || z.o.on("D") || member == "./")) {
		if err := z.member(name, member, &st, added); err != nil {
			return err
		}
	}
	if !st.IsDir() || !z.o.on("r") || depth > maxDepth {
		return nil
	}
	list, err := c.readDir(name)
	if err != nil {
		c.warnf("\tzip warning: could not open for reading: %s\n", name)
	}
	for _, e := range list {
		if err := z.add(join(name, e.name), added, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (z *zipRun) member(name, member string, st *abi.Stat, added map[string]bool) error {
	h := &zip.FileHeader{Name: member, Modified: st.Mtime.Time().In(z.c.zone()), Method: zip.Deflate}
	h.SetMode(abi.FileMode(st.Mode))
	h.Name = member
	if st.Size == 0 || st.IsDir() || z.o.on("0") {
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
		n, _ := z.c.lookup(name, false)
		target, _ := z.c.fs.Readlink(n)
		_, err = io.WriteString(w, target)
	case abi.S_IFREG:
		f, e := z.c.open(name)
		if e != nil {
			z.c.warnf("\tzip warning: could not open for reading: %s\n", name)
			return nil
		}
		defer f.Close()
		_, err = io.Copy(w, f)
	}
	if !z.o.on("q") && err == nil {
		verb := "  adding"
		if z.names[member] {
			verb = "updating"
		}
		how := "(stored 0%)"
		if h.Method == zip.Deflate {
			z.w.Flush()
			how = "(deflated)"
		}
		z.c.printf("%s: %s %s\n", verb, member, how)
	}
	return err
}

// unzip is Info-ZIP's unzip.
func unzip(c *call) int {
	o, status := c.options("l Z 1 q o n d= j p v t x= !u !f !C !a")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.usage(10, "no archive was named")
	}
	name := o.args[0]
	f, err := c.openFile(name, abi.O_RDONLY, 0)
	if err != nil {
		if f, err = c.openFile(name+".zip", abi.O_RDONLY, 0); err != nil {
			c.warnf("unzip:  cannot find or open %s, %s.zip or %s.ZIP.\n", name, name, name)
			return 9
		}
		name += ".zip"
	}
	defer f.Close()
	r, err := zip.NewReader(f, f.f.Stat().Size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		c.warnf("[%s]\n  End-of-central-directory signature not found: this is not a zip file.\n", name)
		return 9
	}
	u := &unzipRun{c: c, o: o, globs: o.args[1:], root: o.value("d", "")}
	if o.on("Z") {
		if !o.on("1") {
			return c.die(10, "of -Z only -Z1 is available in this sandbox: unzip -l lists sizes and times")
		}
		for _, m := range r.File {
			if u.wanted(m.Name) {
				c.printf("%s\n", m.Name)
			}
		}
		return c.status
	}
	if !o.on("q") && !o.on("p") {
		c.printf("Archive:  %s\n", name)
	}
	if o.on("l") || o.on("v") {
		u.list(r)
		return 0
	}
	for _, m := range r.File {
		if c.stopped() {
			return 1
		}
		if !u.wanted(m.Name) {
			continue
		}
		u.found = true
		if err := u.extract(m); err != nil {
			c.fail("%s: %s", m.Name, text(err))
			if errors.Is(err, abi.ENOSPC) {
				return 50
			}
			c.status = 3
		}
	}
	if !u.found && len(u.globs) > 0 {
		for _, g := range u.globs {
			c.warnf("caution: filename not matched:  %s\n", g)
		}
		return 11
	}
	if o.on("t") && c.status == 0 {
		c.printf("No errors detected in compressed data of %s.\n", name)
	}
	return c.status
}

type unzipRun struct {
	c     *call
	o     *options
	globs []string
	root  string
	found bool
}

func (u *unzipRun) wanted(name string) bool {
	if slices.ContainsFunc(u.o.values("x"), func(p string) bool { return fnmatch(p, name) }) {
		return false
	}
	return len(u.globs) == 0 || slices.ContainsFunc(u.globs, func(p string) bool { return fnmatch(p, name) })
}

func (u *unzipRun) list(r *zip.Reader) {
	c := u.c
	c.print("  Length      Date    Time    Name\n---------  ---------- -----   ----\n")
	total, count := uint64(0), 0
	for _, m := range r.File {
		if u.wanted(m.Name) {
			c.printf("%9d  %s   %s\n", m.UncompressedSize64, m.Modified.In(c.zone()).Format("2006-01-02 15:04"), m.Name)
			total += m.UncompressedSize64
			count++
		}
	}
	plural := "s"
	if count == 1 {
		plural = ""
	}
	c.printf("---------                     -------\n%9d                     %d file%s\n", total, count, plural)
}

// extract writes one member, below the directory in any case.
func (u *unzipRun) extract(m *zip.File) error {
	c, o := u.c, u.o
	name := strings.TrimLeft(strings.ReplaceAll(m.Name, `\`, "/"), "/")
	name = strings.TrimPrefix(path.Clean("/"+name), "/") + strings.Repeat("/", btoi(strings.HasSuffix(name, "/")))
	if o.on("j") {
		name = base(name)
	}
	if name == "" || name == "/" {
		return nil
	}
	in, err := m.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	data := struct{ io.Reader }{&guard{c, in}}
	switch {
	case o.on("p"):
		_, err = io.Copy(c.out, data)
		return err
	case o.on("t"):
		_, err = io.Copy(io.Discard, data)
		if err == nil && !o.on("q") {
			c.printf("    testing: %-22s   OK\n", m.Name)
		}
		return err
	}
	to := joinPath(u.root, name)
	if c.throughLink(u.root, name) {
		return errors.New("it is behind a symbolic link that leads out of the directory")
	}
	if strings.HasSuffix(name, "/") || m.FileInfo().IsDir() {
		if !o.on("q") && !c.isDir(to) {
			c.printf("   creating: %s\n", to)
		}
		return c.fs.MkdirAll(path.Clean(c.abs(to)), 0o755)
	}
	if err := c.fs.MkdirAll(path.Clean(c.abs(dir(to))), 0o755); err != nil {
		return err
	}
	if st, err := c.lstat(to); err == nil {
		if o.on("n") || !o.on("o") {
			if !o.on("n") {
				c.warnf("%s is there already: it is kept; -o overwrites\n", to)
			}
			return nil
		}
		if !st.IsDir() {
			c.fs.Unlink(nil, c.abs(to))
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
		return c.fs.Symlink(string(target), nil, c.abs(to)).Err()
	}
	perm := uint32(m.Mode().Perm())
	if perm == 0 {
		perm = 0o644
	}
	f, err := c.openFile(to, abi.O_WRONLY|abi.O_CREAT|abi.O_TRUNC, perm&^c.p.Umask)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, data, make([]byte, copySize))
	n := f.f.Node()
	f.Close()
	if err != nil {
		c.fs.Unlink(nil, c.abs(to))
		return err
	}
	c.fs.SetTimes(n, abi.Timespec{Nsec: abi.UTIME_OMIT}, abi.NewTimespec(m.Modified))
	if !o.on("q") {
		c.printf("%s: %s  \n", verb, to)
	}
	return nil
}
