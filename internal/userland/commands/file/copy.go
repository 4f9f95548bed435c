package file

import (
	"errors"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// copier is a running cp or mv.
type copier struct {
	c         *command.Call
	o         *command.Options
	move      bool
	recursive bool
	deref     string // "L" all, "H" operands, "P" none
	keep      bool   // mode and times
	update    bool
	links     map[[2]uint64]string // copies of files with several names, for -a
}

const copyOptions = "a,archive b backup=? d f,force i,interactive H l,link L,dereference n,no-clobber P,no-dereference p preserve=? !no-preserve= parents R,r,recursive remove-destination s,symbolic-link S,suffix= t,target-directory= T,no-target-directory u,update=~ v,verbose x,one-file-system !attributes-only reflink=? sparse= !strip-trailing-slashes !Z,context !copy-contents"

// Cp copies files.
func Cp(c *command.Call) int { return copyOrMove(c, false) }
func Mv(c *command.Call) int { return copyOrMove(c, true) }

func copyOrMove(c *command.Call, move bool) int {
	o := c.Parse(copyOptions)
	k := &copier{c: c, o: o, move: move, recursive: o.On("R") || o.On("a"), update: o.On("u"), links: map[[2]uint64]string{}}
	k.keep = o.On("a") || o.On("p") || o.On("preserve") || move
	k.deref = o.Last("L", "H", "P", "d", "a")
	if k.deref == "d" || k.deref == "a" || k.deref == "" && k.recursive || move {
		k.deref = "P"
	}
	sources, target := k.operands()
	into := target
	isDir := !o.On("T") && (o.On("t") || c.IsDir(target))
	if o.On("T") && len(sources) > 1 {
		return c.Extra(sources[1])
	}
	if !isDir && (len(sources) > 1 || o.On("t")) {
		_, err := c.Stat(target)
		if err == nil {
			err = abi.ENOTDIR
		} else if !o.On("t") {
			err = abi.ENOENT
		}
		return c.Die(1, "target %s: %s", command.Quote(target), command.Text(err))
	}
	if o.On("parents") && !isDir {
		return c.Usage(1, "with --parents, the destination must be a directory")
	}
	if strings.HasSuffix(target, "/") && !isDir {
		if st, err := c.Stat(sources[0]); err == nil && !st.IsDir() {
			return k.slashed(sources[0], target)
		}
	}
	for _, s := range sources {
		if c.Stopped() {
			break
		}
		if isDir {
			name := command.Base(s)
			if o.On("parents") {
				name = strings.TrimLeft(s, "/")
				c.MkdirAll(c.Abs(command.Join(target, command.Dir(name))))
			}
			into = command.Join(target, name)
			if command.Base(s) == ".." || command.Base(s) == "." && !o.On("parents") {
				into = target
			}
		}
		k.one(s, into)
	}
	return c.Status
}

// slashed refuses a file for a target that ends with a slash and is not a directory.
func (k *copier) slashed(source, target string) int {
	c, reason := k.c, abi.ENOTDIR
	_, err := c.Stat(strings.TrimRight(target, "/"))
	_, above := c.Stat(command.Dir(target))
	switch {
	case err == nil || errors.Is(err, abi.ENOTDIR):
		return c.Die(1, "cannot stat %s: %s", command.Quote(target), command.Text(reason))
	case above != nil:
		reason = abi.ENOENT
	}
	if k.move {
		return c.Die(1, "cannot move %s to %s: %s", command.Quote(source), command.Quote(target), command.Text(reason))
	}
	return c.Die(1, "cannot create regular file %s: %s", command.Quote(target), command.Text(reason))
}

func (k *copier) operands() (sources []string, target string) {
	c, o := k.c, k.o
	if len(o.Args) == 0 {
		c.Refuse(1, "missing file operand")
	}
	if o.On("t") {
		return o.Args, o.Value("t", "")
	}
	if len(o.Args) == 1 {
		c.Refuse(1, "missing destination file operand after %s", command.Quote(o.Args[0]))
	}
	n := len(o.Args) - 1
	return o.Args[:n], o.Args[n]
}

// one copies or moves one operand.
func (k *copier) one(from, to string) {
	c := k.c
	st, err := c.StatOf(from, k.deref != "P")
	if err != nil {
		c.Fail("cannot stat %s: %s", command.Quote(from), command.Text(err))
		return
	}
	if st.IsDir() && !k.recursive && !k.move {
		c.Fail("-r not specified; omitting directory %s", command.Quote(from))
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
	dst, err := c.StatOf(to, !k.move)
	if err != nil {
		return true
	}
	switch {
	case dst.Ino == st.Ino && dst.Dev == st.Dev && !k.o.On("remove-destination") && !k.o.On("l"):
		if k.move && st.Nlink > 1 && c.Real(from) != c.Real(to) {
			return true
		}
		c.Fail("%s and %s are the same file", command.Quote(from), command.Quote(to))
		return false
	case k.o.Last("n", "f", "i") == "n":
		return false
	case k.update && !dst.Mtime.Before(st.Mtime) && !st.IsDir():
		return false
	case k.o.Last("n", "f", "i") == "i" && !dst.IsDir():
		c.Warnf("%s: overwrite %s? ", c.Name, command.Quote(to))
		if !Yes(c) {
			return false
		}
	}
	if !dst.IsDir() && (k.o.On("b") || k.o.On("backup")) {
		c.FS.Rename(nil, c.Abs(to), nil, c.Abs(to+k.o.Value("S", "~")), 0)
	}
	return true
}

// Yes reads an answer.
func Yes(c *command.Call) bool {
	line, _ := c.In().ReadString('\n')
	return strings.HasPrefix(strings.ToLower(line), "y")
}

func (k *copier) rename(from, to string, st abi.Stat) {
	c := k.c
	if dst, err := c.Lstat(to); err == nil {
		switch {
		case st.IsDir() && !dst.IsDir():
			c.Fail("cannot overwrite non-directory %s with directory %s", command.Quote(to), command.Quote(from))
			return
		case !st.IsDir() && dst.IsDir():
			c.Fail("cannot overwrite directory %s with non-directory %s", command.Quote(to), command.Quote(from))
			return
		case dst.Ino == st.Ino && dst.Dev == st.Dev:
			c.FS.Unlink(nil, c.Abs(from))
			return
		}
	}
	from2 := strings.TrimRight(from, "/")
	switch e := c.FS.Rename(nil, c.Abs(from2), nil, c.Abs(strings.TrimRight(to, "/")), 0); {
	case e == abi.OK:
		k.say("renamed %s -> %s", from, to)
	case errors.Is(e, abi.EXDEV) || errors.Is(e, abi.EROFS):
		k.copy(from, to, st, 0)
		if c.Status == 0 {
			(&remover{c: c, recursive: true}).remove(from, 0)
		}
	case errors.Is(e, abi.EINVAL) && st.IsDir():
		c.Fail("cannot move %s to a subdirectory of itself, %s", command.Quote(from), command.Quote(to))
	default:
		c.Fail("cannot move %s to %s: %s", command.Quote(from), command.Quote(to), command.Text(e))
	}
}

func (k *copier) say(format string, from, to string) {
	if k.o.On("v") {
		k.c.Printf(format+"\n", command.Quote(from), command.Quote(to))
	}
}

// copy copies one file of any type.
func (k *copier) copy(from, to string, st abi.Stat, depth int) {
	c := k.c
	if k.o.On("a") && st.Nlink > 1 && !st.IsDir() {
		id := [2]uint64{uint64(st.Dev), st.Ino}
		if first, ok := k.links[id]; ok {
			c.FS.Unlink(nil, c.Abs(to))
			if e := c.FS.Link(nil, c.Abs(first), nil, c.Abs(to), false); e == abi.OK {
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
			c.FS.Unlink(nil, c.Abs(to))
			err = c.FS.Mknod(nil, c.Abs(to), abi.S_IFIFO|st.Mode&0o777).Err()
			break
		}
		fallthrough
	default:
		if !k.regular(from, to, st) {
			return
		}
	}
	if err != nil {
		c.Fail("cannot create %s: %s", command.Quote(to), command.Text(err))
		return
	}
	k.say("%s -> %s", from, to)
}

func (k *copier) link(from, to string) error {
	target, _ := k.c.Readlink(from)
	if st, err := k.c.Lstat(to); err == nil && !st.IsDir() {
		k.c.FS.Unlink(nil, k.c.Abs(to))
	}
	return k.c.FS.Symlink(target, nil, k.c.Abs(to)).Err()
}

// regular copies the contents of a file.
func (k *copier) regular(from, to string, st abi.Stat) bool {
	c := k.c
	if dst, err := c.Stat(to); err == nil && dst.IsDir() {
		c.Fail("cannot overwrite directory %s with non-directory %s", command.Quote(to), command.Quote(from))
		return false
	}
	if k.o.On("l") || k.o.On("s") {
		if k.o.On("f") {
			c.FS.Unlink(nil, c.Abs(to))
		}
		e := abi.OK
		if k.o.On("l") {
			e = c.FS.Link(nil, c.Abs(from), nil, c.Abs(to), false)
		} else {
			e = c.FS.Symlink(from, nil, c.Abs(to))
		}
		if e != abi.OK {
			c.Fail("cannot create link %s to %s: %s", command.Quote(to), command.Quote(from), command.Text(e))
		}
		return e == abi.OK
	}
	in, err := c.OpenFile(from, abi.O_RDONLY, 0)
	if err != nil {
		c.Fail("cannot open %s for reading: %s", command.Quote(from), command.Text(err))
		return false
	}
	defer in.Close()
	if k.o.On("remove-destination") {
		c.FS.Unlink(nil, c.Abs(to))
	}
	flags := abi.O_WRONLY | abi.O_CREAT | abi.O_TRUNC
	out, err := c.OpenFile(to, flags, st.Mode&0o777)
	if errors.Is(err, abi.EACCES) && k.o.On("f") {
		c.FS.Unlink(nil, c.Abs(to))
		out, err = c.OpenFile(to, flags, st.Mode&0o777)
	}
	if err != nil {
		c.Fail("cannot create regular file %s: %s", command.Quote(to), command.Text(err))
		return false
	}
	if err = out.Fill(c.Guarded(in)); err != nil {
		c.Fail("error writing %s: %s", command.Quote(to), command.Text(err))
		return false
	}
	if k.keep {
		k.attributes(to, st)
	}
	return true
}

// attributes gives a copy the mode and the times of the original.
func (k *copier) attributes(to string, st abi.Stat) {
	if n, e := k.c.Lookup(to, true); e == abi.OK {
		k.c.FS.Chmod(n, st.Mode&0o7777)
		k.c.FS.SetTimes(n, st.Atime, st.Mtime)
	}
}

func (k *copier) directory(from, to string, st abi.Stat, depth int) {
	c := k.c
	if depth > command.MaxDepth {
		c.Fail("cannot copy %s: File name too long", command.Quote(from))
		return
	}
	if depth == 0 && k.inside(from, to) {
		c.Fail("cannot copy a directory, %s, into itself, %s", command.Quote(from), command.Quote(to))
		return
	}
	list, err := c.ReadDir(from)
	if err != nil {
		c.Fail("cannot access %s: %s", command.Quote(from), command.Text(err))
		return
	}
	if dst, err := c.Stat(to); err != nil {
		if e := c.FS.Mkdir(nil, c.Abs(to), st.Mode&0o777&^c.Process.Umask|0o700); e != abi.OK {
			c.Fail("cannot create directory %s: %s", command.Quote(to), command.Text(e))
			return
		}
		k.say("%s -> %s", from, to)
	} else if !dst.IsDir() {
		c.Fail("cannot overwrite non-directory %s with directory %s", command.Quote(to), command.Quote(from))
		return
	}
	for _, e := range list {
		if c.Stopped() {
			return
		}
		name, target := command.Join(from, e.Name), command.Join(to, e.Name)
		est := e.Stat
		if k.deref == "L" {
			if est, err = c.Stat(name); err != nil {
				c.Fail("cannot stat %s: %s", command.Quote(name), command.Text(err))
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
	source := k.c.Real(from)
	target := k.c.Real(command.Dir(to))
	return source != "" && (target == source || strings.HasPrefix(target, strings.TrimSuffix(source, "/")+"/"))
}
