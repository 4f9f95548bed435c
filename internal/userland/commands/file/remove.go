package file

import (
	"errors"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/clock"
	"coderunner/internal/userland/commands/command"
)

// remover is a running rm.
type remover struct {
	c                           *command.Call
	recursive, force, ask, dirs bool
	verbose                     bool
}

// Rm removes files.
func Rm(c *command.Call) int {
	o := c.Parse("f,force i I interactive=? r,R,recursive d,dir v,verbose one-file-system no-preserve-root preserve-root=?")
	last := o.Last("f", "i", "I", "interactive")
	r := &remover{c: c, recursive: o.On("r"), force: last == "f", ask: last == "i" || last == "interactive" && o.Value("interactive", "") != "never", dirs: o.On("d"), verbose: o.On("v")}
	if len(o.Args) == 0 && !r.force {
		return c.Usage(1, "missing operand")
	}
	for _, name := range o.Args {
		if c.Stopped() {
			break
		}
		switch b := command.Base(name); {
		case (b == "." || b == "..") && r.recursive:
			c.Fail("refusing to remove '.' or '..' directory: skipping %s", command.Quote(name))
			continue
		case c.Real(name) == "/" && r.recursive && !o.On("no-preserve-root"):
			c.Errorf("it is dangerous to operate recursively on %s", command.Quote(name))
			c.Fail("use --no-preserve-root to override this failsafe")
			continue
		}
		r.remove(name, 0)
	}
	return c.Status
}

// remove removes a name, and with -r what is below it.
func (r *remover) remove(name string, depth int) bool {
	c := r.c
	st, err := c.Lstat(name)
	switch {
	case err != nil:
		if !r.force || !errors.Is(err, abi.ENOENT) && !errors.Is(err, abi.ENOTDIR) {
			c.Fail("cannot remove %s: %s", command.Quote(name), command.Text(err))
			return false
		}
		return true
	case st.IsDir() && !r.recursive && !r.dirs:
		c.Fail("cannot remove %s: Is a directory", command.Quote(name))
		return false
	case r.ask:
		kind := "regular file"
		if st.IsDir() {
			kind = "directory"
		} else if st.Size == 0 {
			kind = "regular empty file"
		}
		c.Warnf("rm: remove %s %s? ", kind, command.Quote(name))
		if !Yes(c) {
			return false
		}
	}
	if st.IsDir() {
		if r.recursive && !r.contents(name, depth) {
			return false
		}
		if e := c.FS.Rmdir(nil, c.Abs(strings.TrimRight(name, "/"))); e != abi.OK {
			c.Fail("cannot remove %s: %s", command.Quote(name), command.Text(e))
			return false
		}
		if r.verbose {
			c.Printf("removed directory %s\n", command.Quote(name))
		}
		return true
	}
	if e := c.FS.Unlink(nil, c.Abs(name)); e != abi.OK {
		c.Fail("cannot remove %s: %s", command.Quote(name), command.Text(e))
		return false
	}
	if r.verbose {
		c.Printf("removed %s\n", command.Quote(name))
	}
	return true
}

func (r *remover) contents(name string, depth int) bool {
	list, err := r.c.ReadDir(name)
	if err != nil || depth > command.MaxDepth {
		r.c.Fail("cannot remove %s: %s", command.Quote(name), command.Text(err))
		return false
	}
	ok := true
	for _, e := range list {
		if r.c.Stopped() {
			return false
		}
		ok = r.remove(command.Join(name, e.Name), depth+1) && ok
	}
	return ok
}

// Unlink removes a file.
func Unlink(c *command.Call) int {
	o := c.Parse("", 1)
	if e := c.FS.Unlink(nil, c.Abs(o.Args[0])); e != abi.OK {
		return c.Die(1, "cannot unlink %s: %s", command.Quote(o.Args[0]), command.Text(e))
	}
	return 0
}

// Mkdir makes directories.
func Mkdir(c *command.Call) int {
	o := c.Parse("m,mode= p,parents v,verbose !Z,context", 1)
	perm := newMode(c, o, 0o777)
	for _, name := range o.Args {
		if o.On("p") {
			mkdirParents(c, o, name, perm)
			continue
		}
		if e := c.FS.Mkdir(nil, c.Abs(name), perm); e != abi.OK {
			c.Fail("cannot create directory %s: %s", command.Quote(name), command.Text(e))
		} else if o.On("v") {
			c.Printf("mkdir: created directory %s\n", command.Quote(name))
		}
	}
	return c.Status
}

// newMode returns the mode of what is made, by option m.
func newMode(c *command.Call, o *command.Options, all uint32) uint32 {
	m := o.Value("m", "")
	if m == "" {
		return all &^ c.Process.Umask
	}
	change, ok := ParseMode(m)
	if !ok {
		c.Exit(1, "invalid mode %s", command.Quote(m))
	}
	return change(all, all == 0o777, c.Process.Umask)
}

// Mkfifo makes named pipes.
func Mkfifo(c *command.Call) int {
	o := c.Parse("m,mode= !Z,context", 1)
	perm := newMode(c, o, 0o666)
	for _, name := range o.Args {
		if e := c.FS.Mknod(nil, c.Abs(name), abi.S_IFIFO|perm); e != abi.OK {
			c.Fail("cannot create fifo %s: %s", command.Quote(name), command.Text(e))
		}
	}
	return c.Status
}

func mkdirParents(c *command.Call, o *command.Options, name string, perm uint32) {
	for i := 1; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		part := name[:i]
		mode := 0o777&^c.Process.Umask | 0o300
		if strings.Trim(name[i:], "/") == "" {
			mode = perm
		}
		switch e := c.FS.Mkdir(nil, c.Abs(part), mode); {
		case e == abi.OK:
			if o.On("v") {
				c.Printf("mkdir: created directory %s\n", command.Quote(part))
			}
		case errors.Is(e, abi.EEXIST) && c.IsDir(part), part == "/":
		case errors.Is(e, abi.EEXIST) && strings.Trim(name[i:], "/") != "":
			c.Fail("cannot create directory %s: %s", command.Quote(part), command.Text(abi.ENOTDIR))
			return
		default:
			c.Fail("cannot create directory %s: %s", command.Quote(part), command.Text(e))
			return
		}
	}
}

// Rmdir removes empty directories.
func Rmdir(c *command.Call) int {
	o := c.Parse("p,parents v,verbose ignore-fail-on-non-empty", 1)
	for _, name := range o.Args {
		for name = strings.TrimRight(name, "/"); ; {
			if o.On("v") {
				c.Printf("rmdir: removing directory, %s\n", command.Quote(name))
			}
			if e := c.FS.Rmdir(nil, c.Abs(name)); e != abi.OK {
				if !o.On("ignore-fail-on-non-empty") || !errors.Is(e, abi.ENOTEMPTY) {
					c.Fail("failed to remove %s: %s", command.Quote(name), command.Text(e))
				}
				break
			}
			if name = command.Dir(name); !o.On("p") || name == "." || name == "/" {
				break
			}
		}
	}
	return c.Status
}

// Touch sets the times of files, and makes those that are missing.
func Touch(c *command.Call) int {
	o := c.Parse("a c,no-create d,date= f h,no-dereference m r,reference= t= time=")
	if len(o.Args) == 0 {
		return c.Usage(1, "missing file operand")
	}
	at, mt := abi.Timespec{Nsec: abi.UTIME_NOW}, abi.Timespec{Nsec: abi.UTIME_NOW}
	switch {
	case o.On("r"):
		st, err := c.Stat(o.Value("r", ""))
		c.Need(err, 1, "failed to get attributes of %s", command.Quote(o.Value("r", "")))
		at, mt = st.Atime, st.Mtime
	case o.On("d"), o.On("t"):
		text, read := o.Value("t", ""), clock.TouchTime
		if o.On("d") {
			text, read = o.Value("d", ""), clock.ParseDate
		}
		t, ok := read(text, c.Zone())
		if !ok {
			return c.Die(1, "invalid date format %s", command.Quote(text))
		}
		at, mt = abi.NewTimespec(t), abi.NewTimespec(t)
	}
	what := o.Value("time", "")
	if onlyA := o.On("a") || strings.HasPrefix(what, "a") || what == "use"; onlyA && !o.On("m") {
		mt = abi.Timespec{Nsec: abi.UTIME_OMIT}
	} else if (o.On("m") || strings.HasPrefix(what, "m")) && !o.On("a") {
		at = abi.Timespec{Nsec: abi.UTIME_OMIT}
	}
	for _, name := range o.Args {
		n, e := c.Lookup(name, !o.On("h"))
		if errors.Is(e, abi.ENOENT) && !o.On("c") && !o.On("h") {
			f, err := c.OpenFile(name, abi.O_WRONLY|abi.O_CREAT, 0o666)
			if err != nil {
				c.Fail("cannot touch %s: %s", command.Quote(name), command.Text(err))
				continue
			}
			n, e = f.F.Node(), abi.OK
			f.Close()
		}
		if e == abi.OK {
			e = c.FS.SetTimes(n, at, mt)
		}
		if e != abi.OK && !(o.On("c") && errors.Is(e, abi.ENOENT)) {
			c.Fail("cannot touch %s: %s", command.Quote(name), command.Text(e))
		}
	}
	return c.Status
}

// Truncate sets the size of files.
func Truncate(c *command.Call) int {
	o := c.Parse("c,no-create !o,io-blocks r,reference= s,size=")
	if len(o.Args) == 0 {
		return c.Usage(1, "missing file operand")
	}
	sign, want := truncateSize(c, o)
	for _, name := range o.Args {
		flags := abi.O_WRONLY | abi.O_CREAT
		if o.On("c") {
			flags = abi.O_WRONLY
		}
		f, err := c.OpenFile(name, flags, 0o666)
		if err != nil {
			if !o.On("c") || !errors.Is(err, abi.ENOENT) {
				c.Fail("cannot open %s for writing: %s", command.Quote(name), command.Text(err))
			}
			continue
		}
		n := newSize(sign, f.F.Stat().Size, want)
		if e := f.F.Truncate(n); e != abi.OK {
			c.Fail("failed to truncate %s at %d bytes: %s", command.Quote(name), n, command.Text(e))
		}
		f.Close()
	}
	return c.Status
}

// truncateSize reads -s and -r.
func truncateSize(c *command.Call, o *command.Options) (sign byte, want int64) {
	spec := o.Value("s", "")
	if spec == "" && !o.On("r") {
		c.Refuse(1, "you must specify either '--size' or '--reference'")
	}
	if o.On("r") {
		st, err := c.Stat(o.Value("r", ""))
		c.Need(err, 1, "cannot stat %s", command.Quote(o.Value("r", "")))
		want = st.Size
	}
	if spec == "" {
		return 0, want
	}
	number := spec
	if strings.IndexByte("+-<>/%", spec[0]) >= 0 {
		sign, number = spec[0], spec[1:]
	}
	want, ok := command.Size(number)
	if !ok {
		c.Exit(1, "Invalid number: %s", command.Quote(spec))
	}
	return sign, want
}

// newSize applies a size with a sign to the size that a file has.
func newSize(sign byte, now, want int64) int64 {
	switch sign {
	case '+':
		return now + want
	case '-':
		return max(0, now-want)
	case '<':
		return min(now, want)
	case '>':
		return max(now, want)
	case '/':
		return now / max(1, want) * want
	case '%':
		return (now + want - 1) / max(1, want) * want
	}
	return want
}
