// Package bash runs shell scripts: bash of internal/userland/shell with the commands of
// internal/userland/commands, on a file system and a process table of their own. There is no
// process of the host and nothing to fetch, so a run begins in microseconds.
//
// Python inside a script is the business of whoever opens the runner: see
// [Config.Machine]. It is made ready when a script's process first executes it.
package bash

import (
	"context"
	"errors"
	"time"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/commands"
	"coderunner/internal/userland/shell"
	"coderunner/internal/userland/shell/parse"
	"coderunner/runners"
)

// Config configures a [Runner].
type Config struct {
	Policy runners.Policy

	// Machine makes what a script runs on, with Python, the network and directories of
	// the host. The error is a *[runners.NotInstalledError] if the script's packages
	// cannot be installed.
	Machine func(ctx context.Context, s Script) (*Machine, error)
}

// Script is what a [Machine] is told of its script.
type Script struct {
	// Request has the limits, the packages and whom to ask about the network.
	Request runners.Request

	// Program returns a program of Python that imports what all that the script shows of
	// Python imports, and the commands that packages bring and the script names. Nothing
	// needs it before a process of the script executes one of them, or Python.
	Program func() (req runners.Request, commands []string)

	// Imports are modules of the library that each process of Python imports.
	Imports []string

	// Placeholders are those of the session that the script continues.
	Placeholders map[string]string

	// Hold stops the script's clock until release is called.
	Hold func() (release func())
}

// Machine is files and a table of processes that knows the shell, the commands and
// Python.
type Machine struct {
	FS      *memfs.FS
	Kernel  *kernel.Kernel
	Network runners.Contacter // that its processes have
	Close   func()            // is called when the script has ended

	Placeholders map[string]string // variables by which it uses secrets

	// Prepared returns the time that Python and its packages took, the packages, and why
	// they could not be had.
	Prepared func() (time.Duration, []runners.Package, error)
}

// Runner runs scripts. It implements [runners.Runner].
type Runner struct{ cfg Config }

var _ runners.Runner = (*Runner)(nil)

// New returns a runner.
func New(cfg Config) *Runner { return &Runner{cfg} }

// Guest describes programs of another language that run as scripts do: each as the main
// process of a machine.
type Guest struct {
	Language runners.Language
	File     string   // name of a program that nobody named
	Imports  []string // modules of the library that its processes of Python import
	// Data returns the contents of a program's file; nil: its text. The error is a
	// *[runners.RequestError].
	Data func(code string) ([]byte, error)
	// Prepare makes ready what the program needs, before its time begins. Data is its file's
	// contents.
	Prepare func(ctx context.Context, req *runners.Request, data []byte) error
	// Main returns the main process of a program by the path of its file.
	Main func(name string, req *runners.Request) Main
}

// Main is the main process of a program.
type Main struct {
	Path    string
	Args    []string       // with the name as the first
	Program kernel.Program // nil: the one at Path
	// Ended adds to the Outcome of a program that has ended by itself; nil: nothing.
	Ended func(o *runners.Outcome, fsys *memfs.FS)
	// Continued returns what the program has kept of its session besides files, nil: nothing.
	Continued func() *runners.Continued
}

// Lock implements [runners.Runner]: a script has no packages.
func (r *Runner) Lock(context.Context, runners.Request) (*runners.Locked, error) {
	return nil, errors.New("a bash script has no packages; its commands are built in")
}

// Warm implements [runners.Runner]: there is nothing to prepare.
func (r *Runner) Warm(context.Context, []string, runners.ProgressFunc) error { return nil }

// Versions returns the version of bash whose behaviour scripts find.
func (r *Runner) Versions() map[string]string { return map[string]string{"bash": shell.Version} }

// Incomplete reports whether a text is the beginning of statements that go on in the
// next line.
func Incomplete(text string) bool { return parse.Incomplete(text) }

// Commands returns the names of the commands that scripts find.
func Commands() []string { return commands.Names() }

// Close implements [runners.Runner].
func (r *Runner) Close() error { return nil }
