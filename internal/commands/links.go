package commands

import (
	"errors"
	"math/rand/v2"
	"path"
	"strings"

	"coderunner/pyodide/abi"
)

func ln(c *call) int {
	o, status := c.options("b backup=? f,force !i,interactive L,logical n,no-dereference P,physical r,relative s,symbolic S,suffix= t,target-directory= T,no-target-directory v,verbose d,F,directory")
	if o == nil {
		return status
	}
	names := o.args
	if len(names) == 0 {
		return c.usage(1, "missing file operand")
	}
	target := "."
	switch {
	case o.on("t"):
		target = o.value("t", "")
	case len(names) > 1:
		target, names = names[len(names)-1], names[:len(names)-1]
	case o.on("T"):
		return c.usage(1, "missing destination file operand after %s", quote(names[0]))
	}
	st, err := c.statOf(target, !o.on("n"))
	into := err == nil && st.IsDir() && !o.on("T")
	if len(names) > 1 && !into {
		return c.die(1, "target %s: %s", quote(target), text(abi.ENOTDIR))
	}
	for _, from := range names {
		to := target
		if into {
			to = join(strings.TrimSuffix(target, "/"), base(from))
			if target == "." && len(o.args) == 1 {
				to = "./" + base(from)
			}
		}
		link(c, o, from, to)
	}
	return c.status
}

func link(c *call, o *options, from, to string) {
	kind := "hard"
	if o.on("s") {
		kind = "symbolic"
	}
	st, err := c.lstat(from)
	switch {
	case kind == "hard" && err != nil:
		c.fail("failed to access %s: %s", quote(from), text(err))
		return
	case kind == "hard" && st.IsDir():
		c.fail("%s: hard link not allowed for directory", from)
		return
	}
	if dst, err := c.lstat(to); err == nil && (o.on("f") || o.on("b") || o.on("backup")) {
		if kind == "hard" && dst.Ino == st.Ino {
			c.fail("%s and %s are the same file", quote(from), quote(to))
			return
		}
		if o.on("b") || o.on("backup") {
			c.fs.Rename(nil, c.abs(to), nil, c.abs(to+o.value("S", "~")), 0)
		} else {
			c.fs.Unlink(nil, c.abs(to))
		}
	}
	var e abi.Errno
	if kind == "symbolic" {
		if o.on("r") {
			from = relative(c.canonical(from, false), path.Clean(c.abs(dir(to))))
		}
		e = c.fs.Symlink(from, nil, c.abs(to))
	} else {
		e = c.fs.Link(nil, c.abs(from), nil, c.abs(to), o.on("L"))
	}
	show := strings.TrimPrefix(to, "./")
	switch {
	case e == abi.OK:
		if o.on("v") {
			arrow := "=>"
			if kind == "symbolic" {
				arrow = "->"
			}
			c.printf("%s %s %s\n", quote(to), arrow, quote(from))
		}
	case errors.Is(e, abi.EEXIST):
		c.fail("failed to create %s link %s: File exists", kind, quote(show))
	case kind == "hard":
		c.fail("failed to create hard link %s => %s: %s", quote(show), quote(from), text(e))
	default:
		c.fail("failed to create symbolic link %s: %s", quote(show), text(e))
	}
}

// relative is the path of a file as seen from a directory.
func relative(name, dir string) string {
	a, b := strings.Split(strings.Trim(name, "/"), "/"), strings.Split(strings.Trim(dir, "/"), "/")
	if strings.Trim(dir, "/") == "" {
		b = nil
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if parts := append(strings.Split(strings.Repeat("..,", len(b)), ",")[:len(b)], a...); len(parts) > 0 {
		return strings.Join(parts, "/")
	}
	return "."
}

// canonical resolves symbolic links. Components that are not there stay; with
// exist set the result is then "".
func (c *call) canonical(name string, exist bool) string {
	resolved := "/"
	rest := strings.Split(c.abs(name), "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			resolved = path.Dir(resolved)
			continue
		}
		next := join(resolved, part)
		n, e := c.fs.Lookup(nil, next, false)
		if e != abi.OK {
			if exist {
				return ""
			}
			resolved = next
			continue
		}
		if n.Type() == abi.S_IFLNK {
			target, _ := c.fs.Readlink(n)
			if links++; links > 40 {
				return ""
			}
			if strings.HasPrefix(target, "/") {
				resolved = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		}
		resolved = next
	}
	return resolved
}

func readlink(c *call) int {
	o, status := c.options("f,canonicalize e,canonicalize-existing m,canonicalize-missing n,no-newline q,quiet s,silent v,verbose z,zero")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.missing(o)
	}
	for i, name := range o.args {
		out := ""
		var err error
		switch o.last("f", "e", "m") {
		case "":
			n, e := c.lookup(name, false)
			if e == abi.OK {
				out, e = c.fs.Readlink(n)
			}
			err = e.Err()
		case "m":
			out = c.canonical(name, false)
		case "e":
			if out = c.canonical(name, true); out == "" {
				err = abi.ENOENT
			}
		default:
			out, err = c.canonicalParent(name)
		}
		if err != nil {
			if o.on("v") {
				c.errorf("%s: %s", quotef(name), text(err))
			}
			c.status = 1
			continue
		}
		c.print(out)
		if !o.on("n") || i < len(o.args)-1 {
			c.out.WriteByte(lineEnd(o.on("z")))
		}
	}
	return c.status
}

// canonicalParent resolves a name of which all but the last component exist.
func (c *call) canonicalParent(name string) (string, error) {
	out := c.canonical(name, false)
	if out == "" {
		return "", abi.ELOOP
	}
	n, e := c.fs.Lookup(nil, path.Dir(out), true)
	if e == abi.OK && !n.IsDir() {
		e = abi.ENOTDIR
	}
	return out, e.Err()
}

func realpath(c *call) int {
	o, status := c.options("e,canonicalize-existing m,canonicalize-missing L,logical P,physical q,quiet relative-to= !relative-base= s,strip,no-symlinks z,zero")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.missing(o)
	}
	for _, name := range o.args {
		var out string
		var err error
		switch {
		case name == "":
			err = abi.ENOENT
		case o.on("s"):
			out = path.Clean(c.abs(name))
		case o.on("m"):
			out = c.canonical(name, false)
		case o.on("e"):
			if out = c.canonical(name, true); out == "" {
				err = abi.ENOENT
			}
		default:
			out, err = c.canonicalParent(name)
		}
		if err != nil {
			if !o.on("q") {
				c.errorf("%s: %s", quotef(name), text(err))
			}
			c.status = 1
			continue
		}
		if to := o.value("relative-to", ""); to != "" {
			out = relative(out, c.canonical(to, false))
		}
		c.print(out)
		c.out.WriteByte(lineEnd(o.on("z")))
	}
	return c.status
}

func mktemp(c *call) int {
	o, status := c.options("d,directory u,dry-run q,quiet p,tmpdir=? suffix= t")
	if o == nil {
		return status
	}
	// -p takes its argument separated, too.
	if o.on("p") && o.value("p", "") == "" && len(o.args) > 0 && strings.HasPrefix(strings.Join(c.args, " "), "-p ") {
		o.set = append(o.set, option{"p", o.args[0]})
		o.args = o.args[1:]
	}
	template, where := "tmp.XXXXXXXXXX", ""
	if len(o.args) > 1 {
		return c.die(1, "too many templates")
	}
	if len(o.args) == 0 || o.on("p") || o.on("t") {
		if where = o.value("p", ""); where == "" {
			where = c.env("TMPDIR")
		}
		if where == "" {
			where = "/tmp"
		}
	}
	if len(o.args) == 1 {
		template = o.args[0]
	}
	template += o.value("suffix", "")
	end := strings.LastIndexByte(template, 'X') + 1
	start := end
	for start > 0 && template[start-1] == 'X' {
		start--
	}
	if end-start < 3 {
		return c.die(1, "too few X's in template %s", quote(template))
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for range 100 {
		name := []byte(template)
		for i := start; i < end; i++ {
			name[i] = letters[rand.IntN(len(letters))]
		}
		full := string(name)
		if where != "" {
			full = join(where, full)
		}
		e := c.makeTemporary(full, o)
		if e == abi.OK {
			c.printf("%s\n", full)
			return 0
		}
		if !errors.Is(e, abi.EEXIST) {
			if o.on("q") {
				return 1
			}
			kind := "file"
			if o.on("d") {
				kind = "directory"
			}
			return c.die(1, "failed to create %s via template %s: %s", kind, quote(template), text(e))
		}
	}
	return 1
}

// makeTemporary makes what mktemp names, or with -u only looks.
func (c *call) makeTemporary(name string, o *options) (e abi.Errno) {
	switch {
	case o.on("u"):
		if _, err := c.lstat(name); err == nil {
			return abi.EEXIST
		}
		return abi.OK
	case o.on("d"):
		return c.fs.Mkdir(nil, c.abs(name), 0o700)
	}
	f, err := c.openFile(name, abi.O_RDWR|abi.O_CREAT|abi.O_EXCL, 0o600)
	if err == nil {
		f.Close()
	} else {
		errors.As(err, &e)
	}
	return e
}
