package shell

import (
	"os"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/arith"
	"coderunner/internal/userland/shell/builtins"
)

func (sh *shell) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		if sh.stopped() {
			return
		}
		sh.stmt(st)
	}
}

// stmt runs a statement, with what belongs to each: traps, the line, errexit, and
// the memory that its expansions took.
func (sh *shell) stmt(st *syntax.Stmt) {
	sh.runTraps()
	if sh.stopped() || sh.opts.Noexec {
		return
	}
	transient, cleanup := sh.Transient, sh.cleanup
	sh.cleanup = nil
	if !sh.p.Stack.Enter(frame) || !sh.Room(1024) {
		sh.errorf("commands are nested too deeply: a function that calls itself without end?")
		sh.status, sh.jump = 2, jump{kind: exits}
		return
	}
	defer func() {
		for _, f := range sh.cleanup {
			f()
		}
		sh.cleanup, sh.Transient = cleanup, transient
		sh.p.Stack.Leave(frame)
		sh.Release()
	}()
	if st.Background {
		sh.background(st)
		return
	}
	sh.line = sh.lineOf(st.Pos())
	sh.debug(st)
	if st.Negated {
		sh.quiet++
	}
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && len(st.Redirs) == 0 && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
		sh.pipeline(pipes(st))
	} else if st.Cmd == nil || len(st.Redirs) > 0 {
		sh.redirected(st)
	} else {
		sh.command(st.Cmd)
	}
	if _, ok := st.Cmd.(*syntax.Subshell); ok && !sh.trapping { // what failed in it is its own
		sh.current, sh.currentSrc = st, sh.src
	}
	if st.Negated {
		sh.quiet--
		if sh.jump.kind != exits && sh.jump.kind != discards {
			sh.status = int(arith.Truth(sh.status == 0))
		}
	} else {
		sh.failed(st)
	}
	if sh.jump.kind == 0 { // before a loop's variable moves on
		sh.runTraps()
	}
}

// debug notes a command that is executed next, and runs the DEBUG trap.
func (sh *shell) debug(st *syntax.Stmt) {
	if sh.trapping || !counted(st.Cmd) {
		return
	}
	sh.current, sh.currentSrc = st, sh.src
	if s := sh.traps["DEBUG"]; s != "" {
		sh.trap(s)
	}
}

// debugStage is debug for a command of a pipeline, in the shell that starts it: its own does
// not inherit the trap.
func (sh *shell) debugStage(st *syntax.Stmt) {
	if sh.traps["DEBUG"] != "" && !sh.opts.Functrace && !sh.opts.Lastpipe {
		sh.line = sh.lineOf(st.Pos())
		sh.debug(st)
	}
}

// failed ends the shell if a command failed and that matters.
func (sh *shell) failed(st *syntax.Stmt) {
	if counts(st.Cmd) {
		sh.ended()
	}
}

// ended is failed for a command whose failure is its own.
func (sh *shell) ended() {
	if sh.status == 0 || sh.quiet > 0 || sh.jump.kind != 0 {
		return
	}
	if s := sh.traps["ERR"]; s != "" && !sh.trapping {
		sh.trap(s)
	}
	if sh.opts.Errexit && sh.jump.kind == 0 {
		sh.jump = jump{kind: exits}
	}
}

// counts reports whether the failure of a command is its own, and not one of a
// command in it.
func counts(c syntax.Command) bool {
	switch c := c.(type) {
	case *syntax.BinaryCmd:
		return c.Op == syntax.Pipe || c.Op == syntax.PipeAll
	case *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause, *syntax.TimeClause, *syntax.FuncDecl:
		return false
	}
	return true
}

// counted reports whether a command is one that BASH_COMMAND and the DEBUG trap see.
func counted(c syntax.Command) bool {
	switch c.(type) {
	case *syntax.CallExpr, *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause, *syntax.DeclClause:
		return true
	}
	return false
}

// redirected runs a command with redirections.
func (sh *shell) redirected(st *syntax.Stmt) {
	c, simple := st.Cmd.(*syntax.CallExpr)
	if simple {
		sh.simple(c, st.Redirs)
		return
	}
	undo, err := sh.redirect(st.Redirs)
	switch {
	case err != nil:
		sh.line = sh.lineOf(st.Redirs[0].Pos()) // of a loop: where it ends
		sh.report(err)
		sh.status = 1
	case st.Cmd != nil:
		sh.command(st.Cmd)
	default:
		sh.status = 0
	}
	sh.files.Restore(undo)
	if err != nil && st.Cmd != nil && !counts(st.Cmd) { // no command in it failed
		sh.ended()
	}
}

func (sh *shell) command(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		sh.simple(c, nil)
	case *syntax.Block:
		sh.stmts(c.Stmts)
	case *syntax.Subshell:
		sh.inSubshell(c.Stmts)
	case *syntax.BinaryCmd:
		sh.andOr(c)
	case *syntax.IfClause:
		sh.ifClause(c)
	case *syntax.WhileClause:
		sh.while(c)
	case *syntax.ForClause:
		sh.forClause(c)
	case *syntax.CaseClause:
		sh.caseClause(c)
	case *syntax.FuncDecl:
		sh.declare(c)
	case *syntax.ArithmCmd:
		n, err := sh.arithmCommand(c.X, func() string { return sh.src.Between(c.Left, c.Right) })
		sh.status = int(arith.Truth(n == 0))
		if err != nil {
			sh.status = 1
			sh.reportIn("((", err)
		}
	case *syntax.LetClause:
		sh.let(c)
	case *syntax.TestClause:
		sh.test(c)
	case *syntax.DeclClause:
		sh.substatus = 0
		sh.status = builtins.DeclareClause(face{sh}, c)
	case *syntax.TimeClause:
		sh.time(c)
	case *syntax.CoprocClause:
		sh.coproc(c)
	default:
		sh.errorf("%T is not supported", c)
		sh.status = 2
	}
}

func (sh *shell) inSubshell(list []*syntax.Stmt) {
	sh.status = sh.within(sh.subshell(), list)
	sh.pipeStatus = []int{sh.status}
}

// within runs statements in a subshell and returns its status. A subshell that looks
// at its own pid is a process.
func (sh *shell) within(sub *shell, list []*syntax.Stmt) (status int) {
	if !sh.execs && slices.ContainsFunc(list, func(st *syntax.Stmt) bool { return strings.Contains(sh.src.Of(st), "BASHPID") }) {
		c, err := sh.spawn(sub, list)
		if err != nil {
			sh.cannotFork(err)
			return sh.status
		}
		return sh.await(c.PID(), false)
	}
	mark := sh.Variables
	sub.stmts(list)
	status = sub.finish()
	sh.Variables = mark
	sh.trapSignals()
	return status
}

// andOr runs a && b || c, which is a chain to the left.
func (sh *shell) andOr(c *syntax.BinaryCmd) {
	chain := []*syntax.BinaryCmd{c}
	for {
		x := chain[len(chain)-1].X
		b, ok := x.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.AndStmt && b.Op != syntax.OrStmt || x.Negated || len(x.Redirs) > 0 {
			break
		}
		chain = append(chain, b)
	}
	sh.quiet++
	sh.stmt(chain[len(chain)-1].X)
	for i, b := range slices.Backward(chain) {
		if i == 0 {
			sh.quiet--
		}
		if (sh.status == 0) == (b.Op == syntax.AndStmt) && !sh.stopped() {
			sh.stmt(b.Y)
		}
	}
}

// background starts a statement that ends with &.
func (sh *shell) background(st *syntax.Stmt) {
	sub := sh.subshell()
	if f, e := sh.files.Open(sh.ctx, os.DevNull, abi.O_RDONLY, 0); e == abi.OK && !redirectsInput(st) {
		sub.files.Replace(0, f)
	}
	bare := *st
	bare.Background = false
	sub.execs = alone(st)
	c, err := sh.spawn(sub, []*syntax.Stmt{&bare}, kernel.SIGINT)
	if err != nil {
		sh.cannotFork(err)
		return
	}
	text, ok := sh.src.Printed(st)
	if !ok {
		text = sh.src.Of(st)
	}
	sh.addJob(c.PID(), text)
	sh.status = 0
}

func redirectsInput(st *syntax.Stmt) bool {
	return slices.ContainsFunc(st.Redirs, func(r *syntax.Redirect) bool {
		return r.N == nil && (r.Op == syntax.RdrIn || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc)
	})
}

// alone reports whether a statement is one simple command, whose program may
// replace the process that was made for it, or a subshell, which is that process.
func alone(st *syntax.Stmt) bool {
	switch st.Cmd.(type) {
	case *syntax.CallExpr, *syntax.Subshell:
		return !st.Negated
	}
	return false
}
