// Package shell is bash: a [kernel.Program] that runs scripts on the files and
// processes of one program's kernel. It never sees the host.
//
// Texts are parsed by mvdan.cc/sh's syntax package; everything that is executed
// or expanded is done here, see RATIONALE.md. Commands that bash does not have
// itself are processes of the kernel: package commands, python3, scripts.
//
// A subshell in parentheses, a command substitution and the last command of a
// pipeline are copies of the shell in the same process; the other commands of a
// pipeline, what runs in the background and process substitutions are processes
// of their own.
//
// # Sources
//
// The manual of bash 5.2, and that version's messages and exit codes, with which
// the tests compare.
//
// # Locking
//
// A shell runs in one goroutine. Signals arrive in others: they are queued in the
// task, whose mutex is taken last.
//
// # Limits
//
// Job control (fg, bg, suspend), history and key bindings are refused by name. A
// script on standard input is read to its end before it runs. An operator of
// for ((…)) cannot come from a variable. What a script holds is charged to the
// program's memory; nested commands, braces and patterns are bounded.
package shell

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/builtins"
	"coderunner/internal/userland/shell/expand"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/options"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// shell is a shell or a subshell.
type shell struct {
	*task

	name   string // in error messages: $0, or bash
	script string // the file that is executed; "": -c or standard input
	src    *parse.Source
	line   int
	vars   *vars.Vars
	ex     *expand.Expander
	opts   options.Set
	files  files.Files
	state  builtins.State

	pid         int // $$
	depth       int // of subshells
	levels      int // of substitutions, eval and source
	loops       int
	lastArg     string // $_
	quiet       int    // > 0: failures are looked at, so that they end nothing
	calls       []call
	hinted      *sync.Map // what Instead returned and a message has said, in subshells too
	traps       map[string]string
	parentTraps map[string]string // what trap shows in a subshell that set none
	current     *syntax.Stmt      // what BASH_COMMAND shows
	currentSrc  *parse.Source     // which that is of
	trapping    bool
	trapStatus  int           // the status before the trap
	killed      kernel.Signal // that ends the shell, after its EXIT trap
	status      int
	before      int // the status before the command in progress
	substatus   int // of the last command substitution
	pipeStatus  []int
	jump        jump
	jobs        []*job
	parentJobs  []job  // what jobs shows in a subshell that has none
	pastJobs    []*job // that jobs does not show any more, but wait finds by their pids
	lastJob     int
	initial     map[string]string // variables that a session began with
	replaced    bool              // by exec
	cleanup     []func()          // at the end of the statement
	random      generator
	shared      bool // a subshell in the process of its parent
	alone       bool // a builtin that is a program
	execs       bool // the statement is all that the process has to do
}

// task is the process that shells run in, with what they hold of its memory.
type task struct {
	p   *kernel.Process
	ctx context.Context
	vars.Memory

	trapped   atomic.Uint64 // bits of signals that are queued
	untrapped atomic.Uint64 // those of them that end the shell
	mu        sync.Mutex
	pending   []kernel.Signal // guarded by mu
	wake      func()          // likewise: ends a wait
	// Likewise: a command is waited for in the foreground, and SIGINT came meanwhile.
	foreground, interrupted bool
}

// call is an entry of the call stack.
type call struct {
	name   string
	source string
	line   int // of the call
}

// jump is why statements are left without being run.
type jump struct {
	kind  jumpKind
	count int // of loops
}

type jumpKind uint8

const (
	_ jumpKind = iota
	breaks
	continues
	returns
	discards // the rest of the line, after an error of an expansion
	exits
)

// frame is what a command within another takes of the stack, in bytes: the most that
// TestDeep's programs need, twice.
const frame = 8 << 10

// newShell returns the first shell of a process.
func newShell(ctx context.Context, p *kernel.Process) *shell {
	sh := &shell{
		name: "bash", src: &parse.Source{First: 1},
		state: builtins.NewState(),
		opts:  options.Defaults, hinted: new(sync.Map),
		files: files.Files{FS: p.FS(), FDs: p.TakeFiles(), Dir: p.Dir, Umask: p.Umask}, pid: p.PID(), traps: map[string]string{},
		pipeStatus: []int{0}, random: generator{seed: rand.Uint32()},
	}
	sh.task = newTask(ctx, p)
	sh.vars = vars.New(&sh.task.Memory, variables{sh})
	sh.ex = expand.New(sh.vars, &sh.files, &sh.opts, expansions{sh})
	sh.environment(p.Env)
	return sh
}

func newTask(ctx context.Context, p *kernel.Process) *task {
	t := &task{p: p, ctx: ctx}
	t.Memory.FS = p.FS()
	p.Handle(t.signal)
	p.Reaps()
	return t
}

// environment makes variables of the environment, and those that bash sets.
func (sh *shell) environment(env []string) {
	for _, kv := range env {
		name, s, _ := strings.Cut(kv, "=")
		if f, ok := strings.CutPrefix(name, "BASH_FUNC_"); ok {
			sh.importFunction(strings.TrimSuffix(f, "%%"), s)
		} else if parse.ValidName(name) {
			sh.vars.Scope.Vars[name] = &vars.Variable{Attrs: vars.Exported, IsSet: true, Str: s}
		}
	}
	for name, s := range map[string]string{
		"IFS": " \t\n", "PS4": "+ ", "OPTIND": "1", "BASH": "/bin/bash", "BASH_VERSION": bashVersion, "HOSTNAME": "localhost",
		"HOSTTYPE": "wasm32", "MACHTYPE": machType, "OSTYPE": "linux-gnu",
	} {
		if v := sh.vars.Scope.Vars[name]; v == nil || name == "IFS" || name == "OPTIND" {
			sh.vars.Scope.Vars[name] = vars.Text(s)
		}
	}
	for name, s := range map[string]string{"UID": "0", "EUID": "0"} {
		sh.vars.Scope.Vars[name] = &vars.Variable{IsSet: true, Str: s, Attrs: vars.ReadOnly | vars.Integer}
	}
	sh.vars.Scope.Vars["BASH_VERSINFO"] = &vars.Variable{Kind: vars.Indexed, IsSet: true, List: sh.vars.NewArray(bashVersinfo), Attrs: vars.ReadOnly}
	if sh.vars.Scope.Vars["PATH"] == nil {
		sh.vars.Scope.Vars["PATH"] = vars.Text(kernel.DefaultPath)
	}
	if pwd := sh.vars.Scope.Vars["PWD"]; pwd == nil || pwd.Str != sh.files.Dir {
		sh.vars.Scope.Vars["PWD"] = &vars.Variable{Attrs: vars.Exported, IsSet: true, Str: sh.files.Dir}
	}
	level, _ := sh.ex.Evaluate(sh.vars.Get("SHLVL"))
	sh.vars.Scope.Vars["SHLVL"] = &vars.Variable{Attrs: vars.Exported, IsSet: true, Str: strconv.FormatInt(level+1, 10)}
}

// subshell returns a copy of the shell in the same process. It has to be closed.
func (sh *shell) subshell() *shell {
	if !sh.Room(sh.size()) { // until the statement ends
		sh.exhausted(vars.ErrMemory)
	}
	c := *sh
	c.vars = sh.vars.Fork(variables{&c})
	c.state = sh.state.Fork()
	c.files = sh.files.Fork()
	c.ex = expand.New(c.vars, &c.files, &c.opts, expansions{&c})
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

// stopped reports whether no more commands are to be run.
func (sh *shell) stopped() bool { return sh.jump.kind != 0 || sh.ctx.Err() != nil }

// finish runs the EXIT trap and returns the exit status.
func (sh *shell) finish() int {
	if sh.jump.kind != exits {
		sh.runTraps()
	}
	if s := sh.traps["EXIT"]; s != "" && sh.ctx.Err() == nil {
		delete(sh.traps, "EXIT")
		sh.jump = jump{}
		status := sh.status
		sh.trapping, sh.trapStatus = true, status
		sh.levels-- // the trap is no eval
		sh.evalText(s)
		if sh.jump.kind != exits {
			sh.status = status
		}
	}
	sh.files.Close()
	if sh.killed != 0 {
		return 128 + int(sh.killed)
	}
	return sh.status & 0xff
}
