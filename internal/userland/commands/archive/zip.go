package archive

import (
	"archive/zip"
	"io"
	"path"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
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
		for line := range l.All() {
			names = append(names, string(line))
		}
	}
	if err := c.Catch(func() { z.run(names) }); err != nil {
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
func (z *zipRun) run(names []string) {
	c := z.c
	out, temp := io.Writer(c.Out), z.archive+".tmp~"
	if z.archive != "-" {
		f, err := c.Create(temp)
		if err != nil {
			c.Throw("Could not create output file (%s)", z.archive)
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
			c.Throw("Zip file structure invalid (%s)", z.archive)
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
		z.add(n, added, 0)
	}
	if z.count == 0 {
		c.Status = 12
		c.Warnf("\nzip error: Nothing to do! (%s)\n", z.archive)
		return
	}
	if old != nil {
		for _, m := range old.File {
			if !added[m.Name] {
				c.Check(z.w.Copy(m))
			}
		}
	}
	c.Check(z.w.Close())
	if z.archive != "-" {
		c.Check(c.FS.Rename(nil, c.Abs(temp), nil, c.Abs(z.archive), 0).Err())
	}
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

func (z *zipRun) add(name string, added map[string]bool, depth int) {
	c := z.c
	c.Proceed()
	st, err := c.StatOf(name, !z.o.On("y"))
	if err != nil {
		c.Warnf("\tzip warning: name not matched: %s\n", name)
		return
	}
	member := strings.TrimLeft(path.Clean(name), "/")
	if z.o.On("j") {
		member = command.Base(member)
	}
	if st.IsDir() {
		member += "/"
	}
	if !matches(z.skip, member) && !matches(z.skip, name) && !(st.IsDir() && (z.o.On("j") || z.o.On("D") || member == "./")) {
		z.member(name, member, &st, added)
	}
	if !st.IsDir() || !z.o.On("r") || depth > command.MaxDepth {
		return
	}
	list, err := c.ReadDir(name)
	if err != nil {
		c.Warnf("\tzip warning: could not open for reading: %s\n", name)
	}
	for _, e := range list {
		z.add(command.Join(name, e.Name), added, depth+1)
	}
}

func (z *zipRun) member(name, member string, st *abi.Stat, added map[string]bool) {
	h := &zip.FileHeader{Name: member, Modified: st.Mtime.Time().In(z.c.Zone()), Method: zip.Deflate}
	h.SetMode(abi.FileMode(st.Mode))
	if st.Size == 0 || st.IsDir() || z.o.On("0") {
		h.Method = zip.Store
	}
	w, err := z.w.CreateHeader(h)
	z.c.Check(err)
	z.count++
	added[member] = true
	switch st.Mode & abi.S_IFMT {
	case abi.S_IFLNK:
		target, _ := z.c.Readlink(name)
		_, err = io.WriteString(w, target)
	case abi.S_IFREG:
		f, e := z.c.Open(name)
		if e != nil {
			z.c.Warnf("\tzip warning: could not open for reading: %s\n", name)
			return
		}
		defer f.Close()
		_, err = io.Copy(w, f)
	}
	z.c.Check(err)
	if !z.o.On("q") {
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
}
