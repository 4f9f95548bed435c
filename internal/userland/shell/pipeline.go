package shell

import (
	"fmt"
	"slices"
	"strconv"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/shell/files"
)

// pipes returns the commands of a pipeline, which is a chain to the left.
func pipes(st *syntax.Stmt) (list []stage) {
	all := false
	for {
		b, ok := st.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.Pipe && b.Op != syntax.PipeAll || len(st.Redirs) > 0 {
			break
		}
		list = append(list, stage{b.Y, all})
		st, all = b.X, b.Op == syntax.PipeAll
	}
	list = append(list, stage{st, all})
	slices.Reverse(list)
	return list
}

// stage is a command of a pipeline.
type stage struct {
	st     *syntax.Stmt
	errors bool // |&: its errors go into the pipe, too
}

// pipeline runs the commands of a pipeline at once, the last one in this process.
func (sh *shell) pipeline(list []stage) {
	var in *memfs.File
	children := make([]*kernel.Process, len(list)-1)
	status := make([]int, len(list))
	for i, s := range list[:len(list)-1] {
		sh.debugStage(s.st)
		r, w, e := sh.files.FS.Pipe(0)
		if e != abi.OK {
			sh.exhausted(fmt.Errorf("cannot make a pipe: %s", files.Message(e)))
			break
		}
		sub := sh.subshell()
		sub.execs = alone(s.st)
		sub.files.Replace(0, in)
		sub.files.Replace(1, w)
		if s.errors {
			sub.files.Replace(2, w.Ref())
		}
		in = r
		var err error
		if children[i], err = sh.spawn(sub, []*syntax.Stmt{s.st}); err != nil {
			sh.cannotFork(err)
			status[i] = 254
			break
		}
	}
	if !sh.stopped() {
		sh.last(list[len(list)-1].st, in)
	} else if in != nil {
		in.Close()
	}
	status[len(list)-1] = sh.status
	for i, c := range children {
		if c != nil {
			status[i] = sh.await(c.PID(), false)
		}
	}
	sh.pipeStatus = status
	if sh.opts.Pipefail {
		for _, n := range status {
			if n != 0 {
				sh.status = n
			}
		}
	}
}

// last runs the last command of a pipeline.
func (sh *shell) last(st *syntax.Stmt, in *memfs.File) {
	sh.debugStage(st)
	if sh.opts.Lastpipe {
		old := sh.files.FDs[0]
		sh.files.FDs[0] = in
		sh.stmt(st)
		in.Close()
		delete(sh.files.FDs, 0)
		if old != nil {
			sh.files.FDs[0] = old
		}
		return
	}
	sub := sh.subshell()
	sub.files.Replace(0, in)
	sh.status = sh.within(sub, []*syntax.Stmt{st})
}

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
