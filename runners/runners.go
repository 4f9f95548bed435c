// Package runners defines what a run is: a [Request] goes in, an [Outcome]
// comes out, and each language family implements [Runner] in a directory of
// its own.
//
// It knows no protocol, no language and no package registry, and of ours imports
// only internal/netpolicy. internal/server and the command line call it; runners/deno,
// runners/python, runners/bash and runners/host implement it; runners/runnertest tests
// them against the same promises.
//
// A program that fails is an Outcome. An error means that we failed, or, when
// it is a *[RequestError], that the request makes no sense.
package runners

import (
	"context"
	"strings"
)

// Runner runs programs of one language family. All methods are safe for
// concurrent use.
type Runner interface {
	// Run checks the request, installs its packages, runs its program and
	// reports how it went. It returns when the program has ended and everything
	// it held is released, except for a Read of the request's Stdin that still
	// blocks. Cancelling ctx stops it at once, with the status Cancelled.
	Run(ctx context.Context, req Request) (*Outcome, error)

	// Lock resolves the packages of the request's program and writes them into
	// its text. The program is not run. The error is a *[NotInstalledError]
	// when packages cannot be installed.
	Lock(ctx context.Context, req Request) (*Locked, error)

	// Warm fetches and prepares the runtime and the given packages.
	Warm(ctx context.Context, packages []string, progress ProgressFunc) error

	// Versions returns the versions of the runtime by name ("deno", "pyodide",
	// "cpython"). It does not fetch anything.
	Versions() map[string]string

	// Close releases what the runner holds. No Run may be in progress.
	Close() error
}

// Locked is a program with its lock.
type Locked struct {
	Text     string    // the program's text with the lock in it
	Packages []Package // what the lock names
}

// ExplainLanguage adds to the error of a program that cannot be read the
// language that its text seems to be in, if that is another one.
func ExplainLanguage(req Request, o *Outcome) {
	if o.Status != Failed || o.Error == nil {
		return
	}
	switch o.Error.Type {
	case "SyntaxError", "IndentationError", "TabError", "NameError", "ReferenceError":
	default:
		return
	}
	seems := Detect(req.Code)
	if seems != "" && (seems == Python) != (req.Language == Python) {
		more := o.Error.Message + "; the program looks like " + string(seems) + ", but was run as " + string(req.Language)
		o.Error.Traceback = strings.Replace(o.Error.Traceback, o.Error.Message, more, 1)
		o.Error.Message = more
	}
}
