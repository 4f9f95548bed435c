// Package bash runs shell scripts: bash of internal/shell with the commands of
// internal/commands, on a file system and a process table of their own. There is no
// process of the host and nothing to fetch, so a run begins in microseconds.
//
// Python inside a script is the business of whoever opens the runner: see
// [Config.Python].
package bash

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"coderunner/internal/commands"
	"coderunner/internal/kernel"
	"coderunner/internal/shell"
	"coderunner/pyodide/memfs"
	"coderunner/runners"
)

// Config configures a [Runner]. The zero value has no Python.
type Config struct {
	Policy runners.Policy

	// Python, if not nil, returns the programs of a run that are Python's (python3,
	// pip), by name, and what ends them. It is called once for each run, and fetches
	// nothing: that is for a program's start.
	Python func(fsys *memfs.FS, limits runners.Limits) (lookup func(name string) (kernel.Program, bool), end func())
	// PythonNames are the names of those programs.
	PythonNames []string
}

// Runner runs scripts. It implements [runners.Runner].
type Runner struct {
	cfg Config
	bin func() (fs.FS, error)
}

var _ runners.Runner = (*Runner)(nil)

// New returns a runner.
func New(cfg Config) *Runner {
	return &Runner{cfg: cfg, bin: sync.OnceValues(func() (fs.FS, error) {
		names := append([]string{"bash", "sh"}, commands.Names()...)
		return kernel.Bin(append(names, cfg.PythonNames...)...)
	})}
}

// Lock implements [runners.Runner]: a script has no packages.
func (r *Runner) Lock(context.Context, runners.Request) (*runners.Locked, error) {
	return nil, runners.BadArgument("language", "has no packages that could be locked: bash has its commands built in.")
}

// Warm implements [runners.Runner]: there is nothing to prepare.
func (r *Runner) Warm(context.Context, []string, runners.ProgressFunc) error { return nil }

// Versions returns the version of bash whose behaviour scripts find.
func (r *Runner) Versions() map[string]string { return map[string]string{"bash": shell.Version} }

// Close implements [runners.Runner].
func (r *Runner) Close() error { return nil }

// check checks a request beyond what every runner does. A non-nil Outcome ends it.
func (r *Runner) check(req *runners.Request) (*runners.Outcome, error) {
	if req.Language != runners.Bash {
		return nil, runners.BadArgument("language", "is %q, which bash does not run: use bash.", req.Language)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	if len(req.Packages) == 0 {
		return nil, nil
	}
	failed := &runners.NotInstalledError{}
	for _, p := range req.Packages {
		failed.Add(p, "a bash script has no packages; its commands are built in, and Python's packages are for language python")
	}
	return failed.Outcome(), nil
}

// makeFS returns the file system of a run: a home directory, /tmp, /dev and the few
// files of /etc that scripts look at.
func (r *Runner) makeFS(memory int64) (*memfs.FS, error) {
	fsys := memfs.New(memfs.Options{MaxBytes: memory, NamesCount: true})
	for _, dir := range []string{home, "/tmp", "/etc", "/var/tmp"} {
		if err := fsys.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	for name, text := range map[string]string{
		"/etc/passwd":     "root:x:0:0:root:" + home + ":/bin/bash\n",
		"/etc/group":      "root:x:0:\n",
		"/etc/hostname":   "localhost\n",
		"/etc/hosts":      "127.0.0.1\tlocalhost\n",
		"/etc/os-release": "NAME=\"coderunner\"\nID=coderunner\nPRETTY_NAME=\"coderunner's sandbox\"\n",
	} {
		if err := fsys.WriteFile(name, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	if err := fsys.MakeDevices(); err != nil {
		return nil, fmt.Errorf("make /dev: %w", err)
	}
	return fsys, nil
}
