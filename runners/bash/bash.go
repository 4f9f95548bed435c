// Package bash runs shell scripts: bash of internal/userland/shell with the commands of
// internal/userland/commands, on a file system and a process table of their own. There is no
// process of the host and nothing to fetch, so a run begins in microseconds.
//
// Python inside a script is the business of whoever opens the runner: see
// [Config.Python]. Scripts that start none do not wait for it.
package bash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"go.uber.org/zap"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/netpolicy"
	"coderunner/internal/userland/commands"
	"coderunner/internal/userland/shell"
	"coderunner/internal/userland/shell/parse"
	"coderunner/runners"
)

// Config configures a [Runner]. The zero value has no Python.
type Config struct {
	Policy runners.Policy
	Log    *zap.Logger // nil: none

	// Python, if not nil, makes what a script runs on that starts Python, has packages
	// or may use the network or directories of the host: with the packages that the
	// program of the request would have, which stands for all that the script shows of
	// Python. It does not run it. The error is a *[runners.NotInstalledError] if they
	// cannot be installed.
	Python func(ctx context.Context, req runners.Request) (*Machine, error)
}

// Machine is files and a table of processes that knows the shell, the commands and
// Python.
type Machine struct {
	FS       *memfs.FS
	Kernel   *kernel.Kernel
	Network  *netpolicy.Run    // that its processes have; nil: none
	Packages []runners.Package // that were installed
	Close    func()            // is called when the script has ended
}

// Runner runs scripts. It implements [runners.Runner].
type Runner struct {
	cfg Config
	bin func() (fs.FS, error)
}

var _ runners.Runner = (*Runner)(nil)

// New returns a runner.
func New(cfg Config) *Runner {
	return &Runner{cfg: cfg, bin: sync.OnceValues(func() (fs.FS, error) { return kernel.Bin(commands.Names()...) })}
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

// panicked logs a panic that ended a process.
func (r *Runner) panicked(err error) {
	if r.cfg.Log != nil {
		r.cfg.Log.Error("a process panicked", zap.Error(err))
	}
}

// check checks a request beyond what every runner does. A non-nil Outcome ends it.
func (r *Runner) check(req *runners.Request) (*runners.Outcome, error) {
	if req.Language != runners.Bash {
		return nil, runners.BadArgument("language", "is %q, which bash does not run: use bash.", req.Language)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	if len(req.Packages) == 0 || r.cfg.Python != nil {
		return nil, nil
	}
	failed := &runners.NotInstalledError{}
	for _, p := range req.Packages {
		failed.Add(p, "a bash script has no packages; its commands are built in, and Python's packages are for language python")
	}
	return failed.Outcome(), nil
}

// newFS returns the file system of a script without Python.
func newFS(memory int64) (*memfs.FS, error) {
	fsys := memfs.New(memfs.Options{MaxBytes: memory, NamesCount: true})
	if err := fsys.MakeDevices(); err != nil {
		return nil, fmt.Errorf("make /dev: %w", err)
	}
	return fsys, nil
}

// furnish makes the directories that scripts expect, with links to the working directory
// unless programs see files of the host.
func furnish(fsys *memfs.FS, host bool) error {
	for _, dir := range []string{home, "/tmp", "/var/tmp"} {
		if err := fsys.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if host {
		return nil
	}
	return kernel.LinkHome(fsys, home)
}
