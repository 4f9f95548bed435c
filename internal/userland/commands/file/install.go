package file

import (
	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// Install copies files, makes directories and sets modes.
func Install(c *command.Call) int {
	o := c.Parse("b backup=? c C,compare d,directory D g,group= m,mode= o,owner= p,preserve-timestamps s,strip !strip-program= S,suffix= t,target-directory= T,no-target-directory v,verbose !Z,context", 1)
	mode := uint32(0o755)
	if o.On("m") {
		mode = newMode(c, o, 0)
	}
	if o.On("d") {
		for _, name := range o.Args {
			mkdirParents(c, &command.Options{}, name, mode)
		}
		return c.Status
	}
	k := &copier{c: c, o: &command.Options{}, keep: o.On("p"), links: map[[2]uint64]string{}}
	if !o.On("t") && len(o.Args) == 1 {
		c.Refuse(1, "missing destination file operand after %s", command.Quote(o.Args[0]))
	}
	sources, target := o.Args, o.Value("t", "")
	if !o.On("t") {
		last := len(sources) - 1
		sources, target = sources[:last], sources[last]
	}
	dir := target
	if !o.On("t") {
		dir = command.Dir(target)
	}
	if o.On("D") {
		mkdirParents(c, &command.Options{}, dir, 0o755)
	}
	into := !o.On("T") && (o.On("t") || c.IsDir(target))
	if !into && len(sources) > 1 {
		_, err := c.Stat(target)
		if err == nil {
			err = abi.ENOTDIR
		}
		return c.Die(1, "target %s: %s", command.Quote(target), command.Text(err))
	}
	for _, from := range sources {
		to := target
		if into {
			to = command.Join(target, command.Base(from))
		}
		install(k, from, to, mode)
		if o.On("v") {
			c.Printf("%s -> %s\n", command.Quote(from), command.Quote(to))
		}
	}
	return c.Status
}

// install copies one file, in the place of what is there.
func install(k *copier, from, to string, mode uint32) {
	c := k.c
	st, err := c.Stat(from)
	if err != nil {
		c.Fail("cannot stat %s: %s", command.Quote(from), command.Text(err))
		return
	}
	if st.IsDir() {
		c.Fail("omitting directory %s", command.Quote(from))
		return
	}
	if dst, err := c.Lstat(to); err == nil && !dst.IsDir() {
		if dst.Ino == st.Ino && dst.Dev == st.Dev {
			c.Fail("%s and %s are the same file", command.Quote(from), command.Quote(to))
			return
		}
		c.FS.Unlink(nil, c.Abs(to))
	}
	if !k.regular(from, to, st) {
		return
	}
	n, e := c.Lookup(to, true)
	if e == abi.OK {
		e = c.FS.Chmod(n, mode)
	}
	if e != abi.OK {
		c.Fail("cannot change permissions of %s: %s", command.Quote(to), command.Text(e))
	}
}
