package file

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"path"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// Ln makes links.
func Ln(c *command.Call) int {
	o := c.Parse("b backup=? f,force !i,interactive L,logical n,no-dereference P,physical r,relative s,symbolic S,suffix= t,target-directory= T,no-target-directory v,verbose d,F,directory")
	names := o.Args
	if len(names) == 0 {
		return c.Usage(1, "missing file operand")
	}
	target := "."
	switch {
	case o.On("t"):
		target = o.Value("t", "")
	case len(names) > 1:
		target, names = names[len(names)-1], names[:len(names)-1]
	case o.On("T"):
		return c.Usage(1, "missing destination file operand after %s", command.Quote(names[0]))
	}
	st, err := c.StatOf(target, !o.On("n"))
	into := err == nil && st.IsDir() && !o.On("T")
	if len(names) > 1 && !into {
		return c.Die(1, "target %s: %s", command.Quote(target), command.Text(abi.ENOTDIR))
	}
	for _, from := range names {
		to := target
		if into {
			to = command.Join(strings.TrimSuffix(target, "/"), command.Base(from))
			if target == "." && len(o.Args) == 1 {
				to = "./" + command.Base(from)
			}
		}
		link(c, o, from, to)
	}
	return c.Status
}

func link(c *command.Call, o *command.Options, from, to string) {
	kind := "hard"
	if o.On("s") {
		kind = "symbolic"
	}
	st, err := c.Lstat(from)
	switch {
	case kind == "hard" && err != nil:
		c.Fail("failed to access %s: %s", command.Quote(from), command.Text(err))
		return
	case kind == "hard" && st.IsDir():
		c.Fail("%s: hard link not allowed for directory", from)
		return
	}
	if dst, err := c.Lstat(to); err == nil && (o.On("f") || o.On("b") || o.On("backup")) {
		if kind == "hard" && dst.Ino == st.Ino {
			c.Fail("%s and %s are the same file", command.Quote(from), command.Quote(to))
			return
		}
		if o.On("b") || o.On("backup") {
			c.FS.Rename(nil, c.Abs(to), nil, c.Abs(to+o.Value("S", "~")), 0)
		} else {
			c.FS.Unlink(nil, c.Abs(to))
		}
	}
	var e abi.Errno
	if kind == "symbolic" {
		if o.On("r") {
			from = relative(c.Canonical(from, false), path.Clean(c.Abs(command.Dir(to))))
		}
		e = c.FS.Symlink(from, nil, c.Abs(to))
	} else {
		e = c.FS.Link(nil, c.Abs(from), nil, c.Abs(to), o.On("L"))
	}
	show := strings.TrimPrefix(to, "./")
	switch {
	case e == abi.OK:
		if o.On("v") {
			arrow := "=>"
			if kind == "symbolic" {
				arrow = "->"
			}
			c.Printf("%s %s %s\n", command.Quote(to), arrow, command.Quote(from))
		}
	case errors.Is(e, abi.EEXIST):
		c.Fail("failed to create %s link %s: File exists", kind, command.Quote(show))
	case kind == "hard":
		c.Fail("failed to create hard link %s => %s: %s", command.Quote(show), command.Quote(from), command.Text(e))
	default:
		c.Fail("failed to create symbolic link %s: %s", command.Quote(show), command.Text(e))
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

// canonical resolves a name as the options ask: all components exist with e, none
// has to with m, otherwise all but the last one do.
func canonical(c *command.Call, name, how string) (out string, err error) {
	switch how {
	case "m":
		return c.Canonical(name, false), nil
	case "e":
		if out = c.Canonical(name, true); out == "" {
			err = abi.ENOENT
		}
		return out, err
	}
	if out = c.Canonical(name, false); out == "" {
		return "", abi.ELOOP
	}
	n, e := c.FS.Lookup(nil, path.Dir(out), true)
	if e == abi.OK && !n.IsDir() {
		e = abi.ENOTDIR
	}
	return out, e.Err()
}

// Readlink prints what symbolic links refer to.
func Readlink(c *command.Call) int {
	o := c.Parse("f,canonicalize e,canonicalize-existing m,canonicalize-missing n,no-newline q,quiet s,silent v,verbose z,zero", 1)
	for i, name := range o.Args {
		out := ""
		var err error
		if how := o.Last("f", "e", "m"); how != "" {
			out, err = canonical(c, name, how)
		} else {
			out, err = c.Readlink(name)
		}
		if err != nil {
			if o.On("v") {
				c.Errorf("%s: %s", command.Quotef(name), command.Text(err))
			}
			c.Status = 1
			continue
		}
		c.Print(out)
		if !o.On("n") || i < len(o.Args)-1 {
			c.Out.WriteByte(command.LineEnd(o.On("z")))
		}
	}
	return c.Status
}

// Realpath prints absolute paths without symbolic links.
func Realpath(c *command.Call) int {
	o := c.Parse("e,canonicalize-existing m,canonicalize-missing L,logical P,physical q,quiet relative-to= !relative-base= s,strip,no-symlinks z,zero", 1)
	for _, name := range o.Args {
		var out string
		var err error
		switch {
		case name == "":
			err = abi.ENOENT
		case o.On("s"):
			out = path.Clean(c.Abs(name))
		default:
			out, err = canonical(c, name, o.Last("e", "m"))
		}
		if err != nil {
			if !o.On("q") {
				c.Errorf("%s: %s", command.Quotef(name), command.Text(err))
			}
			c.Status = 1
			continue
		}
		if to := o.Value("relative-to", ""); to != "" {
			out = relative(out, c.Canonical(to, false))
		}
		c.Printf("%s%c", out, command.LineEnd(o.On("z")))
	}
	return c.Status
}

// Mktemp makes a temporary file or directory.
func Mktemp(c *command.Call) int {
	o := c.Parse("d,directory u,dry-run q,quiet p= tmpdir=? suffix= t")
	template, where := "tmp.XXXXXXXXXX", ""
	if len(o.Args) > 1 {
		return c.Die(1, "too many templates")
	}
	if in := o.Last("p", "tmpdir"); len(o.Args) == 0 || in != "" || o.On("t") {
		where = cmp.Or(o.Value(in, ""), c.Env("TMPDIR"), "/tmp")
	}
	if len(o.Args) == 1 {
		template = o.Args[0]
	}
	template += o.Value("suffix", "")
	end := strings.LastIndexByte(template, 'X') + 1
	start := end
	for start > 0 && template[start-1] == 'X' {
		start--
	}
	if end-start < 3 {
		return c.Die(1, "too few X's in template %s", command.Quote(template))
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for range 100 {
		name := []byte(template)
		for i := start; i < end; i++ {
			name[i] = letters[rand.IntN(len(letters))]
		}
		full := string(name)
		if where != "" {
			full = command.Join(where, full)
		}
		e := makeTemporary(c, full, o)
		if e == abi.OK {
			c.Printf("%s\n", full)
			return 0
		}
		if !errors.Is(e, abi.EEXIST) {
			if o.On("q") {
				return 1
			}
			kind := "file"
			if o.On("d") {
				kind = "directory"
			}
			return c.Die(1, "failed to create %s via template %s: %s", kind, command.Quote(template), command.Text(e))
		}
	}
	return 1
}

// makeTemporary makes what mktemp names, or with -u only looks.
func makeTemporary(c *command.Call, name string, o *command.Options) (e abi.Errno) {
	switch {
	case o.On("u"):
		if _, err := c.Lstat(name); err == nil {
			return abi.EEXIST
		}
		return abi.OK
	case o.On("d"):
		return c.FS.Mkdir(nil, c.Abs(name), 0o700)
	}
	f, err := c.OpenFile(name, abi.O_RDWR|abi.O_CREAT|abi.O_EXCL, 0o600)
	if err == nil {
		f.Close()
	} else {
		errors.As(err, &e)
	}
	return e
}
