package shell

import (
	"fmt"
	"maps"
	"strconv"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// coproc runs a command in the background, with pipes at its standard input and output
// whose other ends are descriptors of this shell alone.
func (sh *shell) coproc(c *syntax.CoprocClause) {
	name := "COPROC"
	if c.Name != nil {
		var err error
		if name, err = sh.literal(c.Name); err != nil {
			sh.discard(err)
			return
		}
	}
	if sh.highest() < 12 {
		sh.exhausted(fmt.Errorf("coproc: Too many open files"))
		return
	}
	in, to, e := sh.fs.Pipe(0)
	if e != abi.OK {
		sh.exhausted(fmt.Errorf("cannot make a pipe: %s", message(e)))
		return
	}
	from, out, e := sh.fs.Pipe(0)
	if e != abi.OK {
		in.Close()
		to.Close()
		sh.exhausted(fmt.Errorf("cannot make a pipe: %s", message(e)))
		return
	}
	sub := sh.subshell()
	sub.setFile(0, in)
	sub.setFile(1, out)
	sub.execs = alone(c.Stmt)
	p, err := sh.spawn(sub, []*syntax.Stmt{c.Stmt})
	if err != nil {
		from.Close()
		to.Close()
		sh.cannotFork(err)
		return
	}
	sh.addJob(p.PID(), sh.src.Of(c))
	var fds []string
	for _, f := range []*memfs.File{from, to} {
		fd := sh.highest()
		sh.setFD(fd, f)
		sh.coprocs = append(sh.coprocs, fd)
		fds = append(fds, strconv.Itoa(fd))
	}
	if err = sh.vars.SetList(name, fds); err == nil {
		err = sh.vars.Set(name+"_PID", strconv.Itoa(p.PID()))
	}
	if sh.status = 0; err != nil {
		sh.report(err) // the program runs nevertheless, as in bash
	}
}

// highest returns the highest free descriptor below 64, 0 if there is none.
func (sh *shell) highest() int {
	fd := 63
	for fd > 9 && sh.fds[fd] != nil {
		fd--
	}
	if fd == 9 {
		return 0
	}
	return fd
}

// inherited returns the descriptors that another program gets.
func (sh *shell) inherited() map[int]*memfs.File {
	if len(sh.coprocs) == 0 {
		return sh.fds
	}
	files := maps.Clone(sh.fds)
	for _, fd := range sh.coprocs {
		delete(files, fd)
	}
	return files
}
