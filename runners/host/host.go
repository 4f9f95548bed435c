// Package host runs programs of languages whose interpreter the host has, such as
// Perl and Ruby, for those that the server's owner names. None is by default.
//
// A program is one process, confined as Deno is (internal/sandbox): a private directory, no
// network, no other process, the host's libraries readable and nothing else. There is no
// second wall such as Deno's permissions, so these languages are refused where the kernel
// cannot confine them fully. Each run starts a process of its own. Packages are those that
// the host has installed.
package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coderunner/internal/procdir"
	"coderunner/internal/sandbox"
	"coderunner/runners"
)

// Runner runs programs of one language. It implements [runners.Runner].
type Runner struct {
	language runners.Language
	binary   string // its interpreter, without links
	args     []string
	ending   string
	dirs     *procdir.Dir
}

var _ runners.Runner = (*Runner)(nil)

// New returns a runner of a language, named as in CODE_RUNNER_HOST_LANGUAGES:
// NAME, or NAME=PATH of its interpreter. The error says why it cannot be run here.
func New(name string) (*Runner, error) {
	name, path, _ := strings.Cut(strings.TrimSpace(name), "=")
	l := runners.ParseLanguage(name)
	if why := refused[strings.ToLower(name)]; why != "" {
		return nil, fmt.Errorf("the host's %s cannot be confined: %s", name, why)
	}
	known, ok := interpreters[l]
	if !ok {
		return nil, fmt.Errorf("the host's %s cannot be run; these can: %s", name, names())
	}
	if level := sandbox.Probe(); level.Name != sandbox.Full {
		return nil, fmt.Errorf("the host's %s cannot be confined on this system (%v)", l, level)
	}
	binary, err := find(l, known.programs, path)
	if err != nil {
		return nil, err
	}
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("locate the directory for runs: %w", err)
	}
	dirs, err := procdir.Make(temp, "coderunner-host-")
	if err != nil {
		return nil, err
	}
	return &Runner{l, binary, known.args, known.ending, dirs}, nil
}

// Language returns the runner's language.
func (r *Runner) Language() runners.Language { return r.language }

// Lock implements [runners.Runner]: there is nothing to lock.
func (r *Runner) Lock(context.Context, runners.Request) (*runners.Locked, error) {
	return nil, fmt.Errorf("a program for the host's %s has no packages; it uses what is installed there", r.language)
}

// Warm implements [runners.Runner]: there is nothing to prepare.
func (r *Runner) Warm(context.Context, []string, runners.ProgressFunc) error { return nil }

// Versions returns the interpreter's path: asking it for its version would run it.
func (r *Runner) Versions() map[string]string {
	return map[string]string{string(r.language): r.binary}
}

// Close removes the directory of the runs.
func (r *Runner) Close() error {
	if err := r.dirs.Remove(); err != nil {
		return fmt.Errorf("remove the directory for runs: %w", err)
	}
	return nil
}

// errPackages is why packages cannot be installed.
var errPackages = errors.New("the packages of this language are those that the server's host has installed")
