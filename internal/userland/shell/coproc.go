package shell

import (
	"fmt"
	"strconv"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/shell/files"
)

// coproc runs a command in the background, with pipes at its standard input and output
// whose other ends are descriptors of this shell alone.
func (sh *shell) coproc(c *syntax.CoprocClause) {
	name := "COPROC"
	if c.Name != nil {
		var err error
		if name, err = sh.ex.Literal(c.Name); err != nil {
			sh.discard(err)
			return
		}
	}
	if sh.files.Highest() < 12 {
		sh.exhausted(fmt.Errorf("coproc: Too many open files"))
		return
	}
	in, to, e := sh.files.FS.Pipe(0)
	if e != abi.OK {
		sh.exhausted(fmt.Errorf("cannot make a pipe: %s", files.Message(e)))
		return
	}
	from, out, e := sh.files.FS.Pipe(0)
	if e != abi.OK {
		in.Close()
		to.Close()
		sh.exhausted(fmt.Errorf("cannot make a pipe: %s", files.Message(e)))
		return
	}
	sub := sh.subshell()
	sub.files.Replace(0, in)
	sub.files.Replace(1, out)
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
		fd := sh.files.Highest()
		sh.files.Set(fd, f)
		sh.files.Coprocs = append(sh.files.Coprocs, fd)
		fds = append(fds, strconv.Itoa(fd))
	}
	if err = sh.vars.SetList(name, fds); err == nil {
		err = sh.vars.Set(name+"_PID", strconv.Itoa(p.PID()))
	}
	if sh.status = 0; err != nil {
		sh.report(err) // the program runs nevertheless, as in bash
	}
}
