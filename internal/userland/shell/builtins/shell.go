package builtins

import (
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/expand"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/options"
	"coderunner/internal/userland/shell/vars"
	"context"
)

// Shell is what builtins see of the shell that runs them.
type Shell interface {
	Context() context.Context
	Process() *kernel.Process
	Vars() *vars.Vars
	Files() *files.Files
	Options() *options.Set
	Expander() *expand.Expander
	State() *State
	// Builtins returns the names of all builtins, sorted.
	Builtins() []string

	// Write writes to a descriptor, Print to stdout for a command, whose status it returns.
	Write(fd int, s string) bool
	Print(command, s string) int
	// Errorf, Report and ReportIn write messages; Discard ends the line or the shell, and
	// Exhausted the program.
	Errorf(format string, args ...any)
	Report(err error)
	ReportIn(command string, err error)
	Discard(err error)
	Exhausted(err error)
	// Trace shows a line of set -x, and TraceCommand the words of a command.
	Trace(s string)
	TraceCommand(words []string)

	// Run runs a builtin or a program, Eval a text, and AssignList the text of a list's
	// assignment.
	Run(args []string) int
	Eval(text string)
	AssignList(name, text string, add, assoc bool) error
	// Stopped reports whether no more commands are to be run, and JumpStatus returns the
	// status of what is in progress then. DropLine leaves the rest of the line, and reports
	// whether nothing else does.
	Stopped() bool
	JumpStatus() int
	DropLine() bool
}
