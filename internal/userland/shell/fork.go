package shell

import (
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/vars"
	"context"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// subshell returns a copy of the shell in the same process. It has to be closed.
func (sh *shell) subshell() *shell {
	if !sh.Room(sh.size()) { // until the statement ends
		sh.exhausted(vars.ErrMemory)
	}
	c := *sh
	c.vars = sh.vars.Fork()
	c.state = sh.state.Fork()
	c.files = sh.files.Fork()
	c.wire(&c)
	c.traps = map[string]string{}
	for name, s := range sh.traps {
		if s == "" || name == "ERR" && sh.opts.Errtrace || name == "DEBUG" && sh.opts.Functrace {
			c.traps[name] = s
		}
	}
	if len(sh.traps) > 0 {
		c.parentTraps = sh.traps
	}
	c.parentJobs = slices.Clone(sh.parentJobs)
	if len(sh.jobs) > 0 {
		c.parentJobs = nil
		for _, j := range sh.jobs {
			c.parentJobs = append(c.parentJobs, *j)
		}
	}
	c.jobs, c.pastJobs, c.cleanup = nil, nil, nil
	c.depth++
	c.jump = jump{}
	c.loops = 0
	c.execs, c.shared, c.random.unseeded = false, true, true
	if !sh.opts.InheritErrexit {
		c.trapping = false
	}
	return &c
}

// size returns what a subshell copies, in bytes.
func (sh *shell) size() int64 {
	n := len(sh.state.Functions) + len(sh.state.Aliases) + len(sh.files.FDs) + len(sh.jobs)
	return 1024 + sh.vars.Size() + 64*int64(n)
}

// program returns the program of a process that goes on with a subshell.
func (sh *shell) program(f func(*shell)) kernel.Program {
	return func(ctx context.Context, p *kernel.Process) int {
		sh.task, sh.shared = newTask(ctx, p), false
		sh.vars.Memory = &sh.task.Memory
		sh.Room(sh.size())
		defer sh.Memory.End()
		f(sh)
		return sh.finish()
	}
}

// spawn starts a process that runs statements in a subshell, which it takes over. It
// ignores the signals.
func (sh *shell) spawn(sub *shell, list []*syntax.Stmt, ignored ...kernel.Signal) (*kernel.Process, error) {
	sub.calls = slices.Clip(sub.calls) // this shell goes on with its own meanwhile
	for _, fd := range sh.files.Coprocs {
		sub.files.Set(fd, nil)
	}
	c, err := sh.p.Start(kernel.Exec{
		Args: sh.p.Args, Env: sh.p.Env, Dir: sh.files.Dir, Umask: sh.files.Umask,
		Program: sub.program(func(sub *shell) {
			for _, s := range ignored {
				sub.p.Ignore(s, true)
			}
			sub.stmts(list)
		}),
	})
	if err != nil {
		sub.files.Close()
	}
	return c, err
}

// cannotFork reports that there is no process to be had. Bash would try again;
// here that helps nobody.
func (sh *shell) cannotFork(err error) {
	text, _, _ := strings.Cut(err.Error(), ": ")
	sh.errorf("fork: %s: %s", files.Message(abi.EAGAIN), text)
	sh.status, sh.jump = 254, jump{kind: exits}
}
