package shell

import (
	"fmt"
	"slices"

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
