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
	wire   func(*shell) // has the variables and expansions of a copy see that
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

// stopped reports whether no more commands are to be run.
func (sh *shell) stopped() bool { return sh.jump.kind != 0 || sh.ctx.Err() != nil }

// job is a background process of the shell.
type job struct {
	pid    int
	number int
	text   string
	hidden bool // a process substitution
	done   bool
	status int
	listed *atomic.Bool // $(jobs -p) has shown that it ended
}

// names are the names of all builtins, sorted.
var names []string

// commands are the builtins by name, those of package builtins among them. A builtin
// returns its status.
var commands map[string]func(*shell, []string) int
