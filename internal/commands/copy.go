package commands

import (
	"errors"
	"io"
	"strings"

	"coderunner/pyodide/abi"
)

// copier is a running cp or mv.
type copier struct {
	c         *call
	o         *options
	move      bool
	recursive bool
	deref     string // "L" all, "H" operands, "P" none
	keep      bool   // mode and times
	update    bool
	links     map[[2]uint64]string // copies of files with several names, for -a
	failed    bool
}

const copyOptions = "a,archive b backup=? d f,force i,interactive H l,link L,dereference n,no-clobber P,no-dereference p preserve=? !no-preserve= parents R,r,recursive remove-destination s,symbolic-link S,suffix= t,target-directory= T,no-target-directory u,update=? v,verbose x,one-file-system !attributes-only reflink=? sparse= !strip-trailing-slashes !Z,context !copy-contents"

func cp(c *call) int { return copyOrMove(c, false) }
func mv(c *call) int { return copyOrMove(c, true) }

func copyOrMove(c *call, move bool) int {
	o, status := c.options(copyOptions)
	if o == nil {
		return status
	}
	k := &copier{c: c, o: o, move: move, recursive: o.on("R") || o.on("a"), update: o.on("u"), links: map[[2]uint64]string{}}
	k.keep = o.on("a") || o.on("p") || o.on("preserve") || move
	k.deref = o.last("L", "H", "P", "d", "a")
	if k.deref == "d" || k.deref == "a" || k.deref == "" && k.recursive || move {
		k.deref = "P"
	}
	sources, target, ok := k.operands()
	if !ok {
		return 1
	}
	into := target
	isDir := !o.on("T") && (o.on("t") || c.isDir(target))
	if o.on("T") && len(sources) > 1 {
		return c.extra(sources[1])
	}
	if !isDir && (len(sources) > 1 || o.on("t")) {
		if _, err := c.stat(target); err == nil || o.on("t") {
			if err == nil {
				err = abi.ENOTDIR
			}
			return c.die(1, "target %s: %s", quote(target), text(err))
		}
		return c.die(1, "target %s: %s", quote(target), text(abi.ENOENT))
	}
	if o.on("parents") && !isDir {
		return c.usage(1, "with --parents, the destination must be a directory")
	}
	if strings.HasSuffix(target, "/") && !isDir {
		if st, err := c.stat(sources[0]); err == nil && !st.IsDir() {
			if move {
				return c.die(1, "cannot move %s to %s: Not a directory", quote(sources[0]), quote(target))
			}
			return c.die(1, "cannot create regular file %s: Not a directory", quote(target))
		}
	}
	for _, s := range sources {
		if c.stopped() {
			break
		}
		if isDir {
			name := base(s)
			if o.on("parents") {
				name = strings.TrimLeft(s, "/")
				c.fs.MkdirAll(c.abs(join(target, dir(name))), 0o755)
			}
			into = join(target, name)
			if base(s) == ".." || base(s) == "." && !o.on("parents") {
				into = target
			}
		}
		k.one(s, into)
	}
	if k.failed {
		return 1
	}
	return c.status
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (k *copier) operands() (sources []string, target string, ok bool) {
	c, o := k.c, k.o
	if len(o.args) == 0 {
		c.usage(1, "missing file operand")
		return nil, "", false
	}
	if o.on("t") {
		return o.args, o.value("t", ""), true
	}
	if len(o.args) == 1 {
		c.usage(1, "missing destination file operand after %s", quote(o.args[0]))
		return nil, "", false
	}
	n := len(o.args) - 1
	return o.args[:n], o.args[n], true
}

func (k *copier) fail(format string, args ...any) {
	k.failed = true
	k.c.errorf(format, args...)
}

// one copies or moves one operand.
func (k *copier) one(from, to string) {
	c := k.c
	st, err := c.statOf(from, k.deref != "P")
	if err != nil {
		k.fail("cannot stat %s: %s", quote(from), text(err))
		return
	}
	if st.IsDir() && !k.recursive && !k.move {
		k.fail("-r not specified; omitting directory %s", quote(from))
		return
	}
	if !k.allowed(from, to, st) {
		return
	}
	if k.move {
		k.rename(from, to, st)
		return
	}
	k.copy(from, to, st, 0)
}

// allowed looks at what the destination is, and asks for -n, -u and -i.
func (k *copier) allowed(from, to string, st abi.Stat) bool {
	c := k.c
	dst, err := c.statOf(to, !k.move)
	if err != nil {
		return true
	}
	switch {
	case dst.Ino == st.Ino && dst.Dev == st.Dev && k.o.on("remove-destination") == false && !k.o.on("l"):
		if k.move && st.Nlink > 1 && c.real(from) != c.real(to) {
			return true
		}
		k.fail("%s and %s are the same file", quote(from), quote(to))
		return false
	case k.o.last("n", "f", "i") == "n":
		return false
	case k.update && !dst.Mtime.Before(st.Mtime) && !st.IsDir():
		return false
	case k.o.last("n", "f", "i") == "i" && !dst.IsDir():
		c.warnf("%s: overwrite %s? ", c.name, quote(to))
		if !c.yes() {
			return false
		}
	}
	if !dst.IsDir() && (k.o.on("b") || k.o.on("backup")) {
		c.fs.Rename(nil, c.abs(to), nil, c.abs(to+k.o.value("S", "~")), 0)
	}
	return true
}

// yes reads an answer.
func (c *call) yes() bool {
	line, _ := c.in().ReadString('\n')
	return strings.HasPrefix(strings.ToLower(line), "y")
}

// real is the path of a file without symbolic links.
func (c *call) real(name string) string {
	n, e := c.lookup(name, true)
	if e != abi.OK {
		return ""
	}
	return c.fs.NameOf(n)
}

func (k *copier) rename(from, to string, st abi.Stat) {
	c := k.c
	if dst, err := c.lstat(to); err == nil {
		switch {
		case st.IsDir() && !dst.IsDir():
			k.fail("cannot overwrite non-directory %s with directory %s", quote(to), quote(from))
			return
		case !st.IsDir() && dst.IsDir():
			k.fail("cannot overwrite directory %s with non-directory %s", quote(to), quote(from))
			return
		case dst.Ino == st.Ino && dst.Dev == st.Dev:
			c.fs.Unlink(nil, c.abs(from))
			return
		}
	}
	from2 := strings.TrimRight(from, "/")
	switch e := c.fs.Rename(nil, c.abs(from2), nil, c.abs(strings.TrimRight(to, "/")), 0); {
	case e == abi.OK:
		k.say("renamed %s -> %s", from, to)
	case errors.Is(e, abi.EXDEV) || errors.Is(e, abi.EROFS):
		k.copy(from, to, st, 0)
		if !k.failed {
			r := &remover{c: c, recursive: true}
			r.remove(from, 0)
			k.failed = r.failed
		}
	case errors.Is(e, abi.EINVAL) && st.IsDir():
		k.fail("cannot move %s to a subdirectory of itself, %s", quote(from), quote(to))
	default:
		k.fail("cannot move %s to %s: %s", quote(from), quote(to), text(e))
	}
}

func (k *copier) say(format string, from, to string) {
	if k.o.on("v") {
		k.c.printf(format+"\n", quote(from), quote(to))
	}
}

// copy copies one file of any type.
func (k *copier) copy(from, to string, st abi.Stat, depth int) {
	c := k.c
	if k.o.on("a") && st.Nlink > 1 && !st.IsDir() {
		id := [2]uint64{uint64(st.Dev), st.Ino}
		if first, ok := k.links[id]; ok {
			c.fs.Unlink(nil, c.abs(to))
			if e := c.fs.Link(nil, c.abs(first), nil, c.abs(to), false); e == abi.OK {
				return
			}
		}
		k.links[id] = to
	}
	var err error
	switch st.Mode & abi.S_IFMT {
	case abi.S_IFDIR:
		k.directory(from, to, st, depth)
		return
	case abi.S_IFLNK:
		err = k.link(from, to)
	case abi.S_IFIFO:
		if k.recursive || k.move {
			c.fs.Unlink(nil, c.abs(to))
			err = c.fs.Mknod(nil, c.abs(to), abi.S_IFIFO|st.Mode&0o777).Err()
			break
		}
		fallthrough
	default:
		if !k.regular(from, to, st) {
			return
		}
	}
	if err != nil {
		k.fail("cannot create %s: %s", quote(to), text(err))
		return
	}
	k.say("%s -> %s", from, to)
}

func (k *copier) link(from, to string) error {
	n, e := k.c.lookup(from, false)
	if e != abi.OK {
		return e
	}
	target, e := k.c.fs.Readlink(n)
	if e != abi.OK {
		return e
	}
	if st, err := k.c.lstat(to); err == nil && !st.IsDir() {
		k.c.fs.Unlink(nil, k.c.abs(to))
	}
	return k.c.fs.Symlink(target, nil, k.c.abs(to)).Err()
}

// regular copies the contents of a file.
func (k *copier) regular(from, to string, st abi.Stat) bool {
	c := k.c
	if dst, err := c.stat(to); err == nil && dst.IsDir() {
		k.fail("cannot overwrite directory %s with non-directory %s", quote(to), quote(from))
		return false
	}
	if k.o.on("l") || k.o.on("s") {
		if k.o.on("f") {
			c.fs.Unlink(nil, c.abs(to))
		}
		e := abi.OK
		if k.o.on("l") {
			e = c.fs.Link(nil, c.abs(from), nil, c.abs(to), false)
		} else {
			e = c.fs.Symlink(from, nil, c.abs(to))
		}
		if e != abi.OK {
			k.fail("cannot create link %s to %s: %s", quote(to), quote(from), text(e))
		}
		return e == abi.OK
	}
	in, err := c.openFile(from, abi.O_RDONLY, 0)
	if err != nil {
		k.fail("cannot open %s for reading: %s", quote(from), text(err))
		return false
	}
	defer in.Close()
	if k.o.on("remove-destination") {
		c.fs.Unlink(nil, c.abs(to))
	}
	flags := abi.O_WRONLY | abi.O_CREAT | abi.O_TRUNC
	out, err := c.openFile(to, flags, st.Mode&0o777&^c.p.Umask)
	if errors.Is(err, abi.EACCES) && k.o.on("f") {
		c.fs.Unlink(nil, c.abs(to))
		out, err = c.openFile(to, flags, st.Mode&0o777&^c.p.Umask)
	}
	if err != nil {
		k.fail("cannot create regular file %s: %s", quote(to), text(err))
		return false
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{&guard{c, in}}, make([]byte, copySize))
	out.Close()
	if err != nil {
		k.fail("error writing %s: %s", quote(to), text(err))
		return false
	}
	if k.keep {
		k.attributes(to, st)
	}
	return true
}

// attributes gives a copy the mode and the times of the original.
func (k *copier) attributes(to string, st abi.Stat) {
	if n, e := k.c.lookup(to, true); e == abi.OK {
		k.c.fs.Chmod(n, st.Mode&0o7777)
		k.c.fs.SetTimes(n, st.Atime, st.Mtime)
	}
}

func (k *copier) directory(from, to string, st abi.Stat, depth int) {
	c := k.c
	if depth > maxDepth {
		k.fail("cannot copy %s: File name too long", quote(from))
		return
	}
	if depth == 0 && k.inside(from, to) {
		k.fail("cannot copy a directory, %s, into itself, %s", quote(from), quote(to))
		return
	}
	list, err := c.readDir(from)
	if err != nil {
		k.fail("cannot access %s: %s", quote(from), text(err))
		return
	}
	if dst, err := c.stat(to); err != nil {
		if e := c.fs.Mkdir(nil, c.abs(to), st.Mode&0o777|0o700); e != abi.OK {
			k.fail("cannot create directory %s: %s", quote(to), text(e))
			return
		}
		k.say("%s -> %s", from, to)
	} else if !dst.IsDir() {
		k.fail("cannot overwrite non-directory %s with directory %s", quote(to), quote(from))
		return
	}
	for _, e := range list {
		if c.stopped() {
			return
		}
		name, target := join(from, e.name), join(to, e.name)
		est := e.Stat
		if k.deref == "L" {
			if est, err = c.stat(name); err != nil {
				k.fail("cannot stat %s: %s", quote(name), text(err))
				continue
			}
		}
		if est.IsDir() || k.allowed(name, target, est) {
			k.copy(name, target, est, depth+1)
		}
	}
	if k.keep {
		k.attributes(to, st)
	}
}

// inside reports whether a directory would be copied into itself.
func (k *copier) inside(from, to string) bool {
	source := k.c.real(from)
	target := k.c.real(dir(to))
	return source != "" && (target == source || strings.HasPrefix(target, strings.TrimSuffix(source, "/")+"/"))
}
