package commands

import (
	"errors"
	"strings"

	"coderunner/pyodide/abi"
)

// remover is a running rm.
type remover struct {
	c                           *call
	recursive, force, ask, dirs bool
	verbose                     bool
	failed                      bool
}

func rm(c *call) int {
	o, status := c.options("f,force i I interactive=? r,R,recursive d,dir v,verbose one-file-system no-preserve-root preserve-root=?")
	if o == nil {
		return status
	}
	last := o.last("f", "i", "I", "interactive")
	r := &remover{c: c, recursive: o.on("r"), force: last == "f", ask: last == "i" || last == "interactive" && o.value("interactive", "") != "never", dirs: o.on("d"), verbose: o.on("v")}
	if len(o.args) == 0 && !r.force {
		return c.usage(1, "missing operand")
	}
	for _, name := range o.args {
		if c.stopped() {
			break
		}
		switch b := base(name); {
		case (b == "." || b == "..") && r.recursive:
			r.fail("refusing to remove '.' or '..' directory: skipping %s", quote(name))
			continue
		case c.real(name) == "/" && r.recursive && !o.on("no-preserve-root"):
			c.errorf("it is dangerous to operate recursively on %s", quote(name))
			r.fail("use --no-preserve-root to override this failsafe")
			continue
		}
		r.remove(name, 0)
	}
	if r.failed {
		return 1
	}
	return 0
}

func (r *remover) fail(format string, args ...any) {
	r.failed = true
	r.c.errorf(format, args...)
}

// remove removes a name, and with -r what is below it.
func (r *remover) remove(name string, depth int) bool {
	c := r.c
	st, err := c.lstat(name)
	switch {
	case err != nil:
		if !r.force || !errors.Is(err, abi.ENOENT) && !errors.Is(err, abi.ENOTDIR) {
			r.fail("cannot remove %s: %s", quote(name), text(err))
			return false
		}
		return true
	case st.IsDir() && !r.recursive && !r.dirs:
		r.fail("cannot remove %s: Is a directory", quote(name))
		return false
	case r.ask:
		kind := "regular file"
		if st.IsDir() {
			kind = "directory"
		} else if st.Size == 0 {
			kind = "regular empty file"
		}
		c.warnf("rm: remove %s %s? ", kind, quote(name))
		if !c.yes() {
			return false
		}
	}
	if st.IsDir() {
		if r.recursive && !r.contents(name, depth) {
			return false
		}
		if e := c.fs.Rmdir(nil, c.abs(strings.TrimRight(name, "/"))); e != abi.OK {
			r.fail("cannot remove %s: %s", quote(name), text(e))
			return false
		}
		if r.verbose {
			c.printf("removed directory %s\n", quote(name))
		}
		return true
	}
	if e := c.fs.Unlink(nil, c.abs(name)); e != abi.OK {
		r.fail("cannot remove %s: %s", quote(name), text(e))
		return false
	}
	if r.verbose {
		c.printf("removed %s\n", quote(name))
	}
	return true
}

func (r *remover) contents(name string, depth int) bool {
	list, err := r.c.readDir(name)
	if err != nil || depth > maxDepth {
		r.fail("cannot remove %s: %s", quote(name), text(err))
		return false
	}
	ok := true
	for _, e := range list {
		if r.c.stopped() {
			return false
		}
		ok = r.remove(join(name, e.name), depth+1) && ok
	}
	return ok
}

func unlink(c *call) int {
	o, status := c.options("")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.missing(o)
	}
	if e := c.fs.Unlink(nil, c.abs(o.args[0])); e != abi.OK {
		return c.die(1, "cannot unlink %s: %s", quote(o.args[0]), text(e))
	}
	return 0
}

func mkdir(c *call) int {
	o, status := c.options("m,mode= p,parents v,verbose !Z,context")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.missing(o)
	}
	perm, ok := c.newMode(o, 0o777)
	if !ok {
		return 1
	}
	for _, name := range o.args {
		if o.on("p") {
			mkdirParents(c, o, name, perm)
			continue
		}
		if e := c.fs.Mkdir(nil, c.abs(name), perm); e != abi.OK {
			c.fail("cannot create directory %s: %s", quote(name), text(e))
		} else if o.on("v") {
			c.printf("mkdir: created directory %s\n", quote(name))
		}
	}
	return c.status
}

// newMode returns the mode of what is made, by option m.
func (c *call) newMode(o *options, all uint32) (perm uint32, ok bool) {
	m := o.value("m", "")
	if m == "" {
		return all &^ c.p.Umask, true
	}
	change, ok := parseMode(m)
	if !ok {
		c.errorf("invalid mode %s", quote(m))
		return 0, false
	}
	return change(all, all == 0o777, c.p.Umask), true
}

// mkfifo makes named pipes.
func mkfifo(c *call) int {
	o, status := c.options("m,mode= !Z,context")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.missing(o)
	}
	perm, ok := c.newMode(o, 0o666)
	if !ok {
		return 1
	}
	for _, name := range o.args {
		if e := c.fs.Mknod(nil, c.abs(name), abi.S_IFIFO|perm); e != abi.OK {
			c.fail("cannot create fifo %s: %s", quote(name), text(e))
		}
	}
	return c.status
}

func mkdirParents(c *call, o *options, name string, perm uint32) {
	for i := 1; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		part := name[:i]
		mode := 0o777&^c.p.Umask | 0o300
		if strings.Trim(name[i:], "/") == "" {
			mode = perm
		}
		switch e := c.fs.Mkdir(nil, c.abs(part), mode); {
		case e == abi.OK:
			if o.on("v") {
				c.printf("mkdir: created directory %s\n", quote(part))
			}
		case errors.Is(e, abi.EEXIST) && c.isDir(part), part == "/":
		case errors.Is(e, abi.EEXIST) && strings.Trim(name[i:], "/") != "":
			c.fail("cannot create directory %s: %s", quote(part), text(abi.ENOTDIR))
			return
		default:
			c.fail("cannot create directory %s: %s", quote(part), text(e))
			return
		}
	}
}

func rmdir(c *call) int {
	o, status := c.options("p,parents v,verbose ignore-fail-on-non-empty")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.missing(o)
	}
	for _, name := range o.args {
		for name = strings.TrimRight(name, "/"); ; {
			if o.on("v") {
				c.printf("rmdir: removing directory, %s\n", quote(name))
			}
			if e := c.fs.Rmdir(nil, c.abs(name)); e != abi.OK {
				if !o.on("ignore-fail-on-non-empty") || !errors.Is(e, abi.ENOTEMPTY) {
					c.fail("failed to remove %s: %s", quote(name), text(e))
				}
				break
			}
			if name = dir(name); !o.on("p") || name == "." || name == "/" {
				break
			}
		}
	}
	return c.status
}

func touch(c *call) int {
	o, status := c.options("a c,no-create d,date= f h,no-dereference m r,reference= t= time=")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.usage(1, "missing file operand")
	}
	at, mt := abi.Timespec{Nsec: abi.UTIME_NOW}, abi.Timespec{Nsec: abi.UTIME_NOW}
	switch {
	case o.on("r"):
		st, err := c.stat(o.value("r", ""))
		if err != nil {
			return c.die(1, "failed to get attributes of %s: %s", quote(o.value("r", "")), text(err))
		}
		at, mt = st.Atime, st.Mtime
	case o.on("d"):
		t, ok := parseDate(o.value("d", ""), c.zone())
		if !ok {
			return c.die(1, "invalid date format %s", quote(o.value("d", "")))
		}
		at, mt = abi.NewTimespec(t), abi.NewTimespec(t)
	case o.on("t"):
		t, ok := touchTime(o.value("t", ""), c.zone())
		if !ok {
			return c.die(1, "invalid date format %s", quote(o.value("t", "")))
		}
		at, mt = abi.NewTimespec(t), abi.NewTimespec(t)
	}
	what := o.value("time", "")
	if onlyA := o.on("a") || strings.HasPrefix(what, "a") || what == "use"; onlyA && !o.on("m") {
		mt = abi.Timespec{Nsec: abi.UTIME_OMIT}
	} else if (o.on("m") || strings.HasPrefix(what, "m")) && !o.on("a") {
		at = abi.Timespec{Nsec: abi.UTIME_OMIT}
	}
	for _, name := range o.args {
		n, e := c.lookup(name, !o.on("h"))
		if errors.Is(e, abi.ENOENT) && !o.on("c") && !o.on("h") {
			f, err := c.openFile(name, abi.O_WRONLY|abi.O_CREAT, 0o666&^c.p.Umask)
			if err != nil {
				c.fail("cannot touch %s: %s", quote(name), text(err))
				continue
			}
			n, e = f.f.Node(), abi.OK
			f.Close()
		}
		if e == abi.OK {
			e = c.fs.SetTimes(n, at, mt)
		}
		if e != abi.OK && !(o.on("c") && errors.Is(e, abi.ENOENT)) {
			c.fail("cannot touch %s: %s", quote(name), text(e))
		}
	}
	return c.status
}

func truncate(c *call) int {
	o, status := c.options("c,no-create !o,io-blocks r,reference= s,size=")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.usage(1, "missing file operand")
	}
	spec, sign := o.value("s", ""), byte(0)
	var want int64
	if o.on("r") {
		st, err := c.stat(o.value("r", ""))
		if err != nil {
			return c.die(1, "cannot stat %s: %s", quote(o.value("r", "")), text(err))
		}
		want = st.Size
	}
	if spec != "" {
		number := spec
		if strings.IndexByte("+-<>/%", spec[0]) >= 0 {
			sign, number = spec[0], spec[1:]
		}
		n, ok := size(number)
		if !ok {
			return c.die(1, "Invalid number: %s", quote(spec))
		}
		want = n
	} else if !o.on("r") {
		return c.usage(1, "you must specify either '--size' or '--reference'")
	}
	for _, name := range o.args {
		flags := abi.O_WRONLY | abi.O_CREAT
		if o.on("c") {
			flags = abi.O_WRONLY
		}
		f, err := c.openFile(name, flags, 0o666&^c.p.Umask)
		if err != nil {
			if !o.on("c") || !errors.Is(err, abi.ENOENT) {
				c.fail("cannot open %s for writing: %s", quote(name), text(err))
			}
			continue
		}
		n, now := want, f.f.Stat().Size
		switch sign {
		case '+':
			n = now + want
		case '-':
			n = max(0, now-want)
		case '<':
			n = min(now, want)
		case '>':
			n = max(now, want)
		case '/':
			n = now / max(1, want) * want
		case '%':
			n = (now + want - 1) / max(1, want) * want
		}
		if e := f.f.Truncate(n); e != abi.OK {
			c.fail("failed to truncate %s at %d bytes: %s", quote(name), n, text(e))
		}
		f.Close()
	}
	return c.status
}
