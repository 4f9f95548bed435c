// Package runners says what a run is: a [Request] goes in, an [Outcome] comes
// out, and each language family implements [Runner] in a folder of its own.
//
// It knows no protocol, no language and no package registry, and imports only
// the standard library. internal/server and the command line call it;
// runners/deno and runners/python implement it; runners/runnertest tests them
// against the same promises.
//
// A program that fails is an Outcome. An error means that we failed, or, when
// it is a *[RequestError], that the request makes no sense.
package runners

import (
	"context"
	"time"
)

// Language names a language as the tool's argument does.
type Language string

// The languages.
const (
	Python     Language = "python"
	JavaScript Language = "javascript"
	TypeScript Language = "typescript"
)

// Runner runs programs of one language family. All methods are safe for
// concurrent use.
type Runner interface {
	// Run prepares the request's packages, runs its program and reports how
	// it went. It returns when the program has ended and everything it held
	// is released. Cancelling ctx stops it at once, with the status Cancelled.
	Run(ctx context.Context, req Request) (*Outcome, error)

	// Warm fetches and prepares the runtime and the given packages.
	Warm(ctx context.Context, packages []string, progress ProgressFunc) error

	// Versions says which runtime is used, by name ("deno", "pyodide",
	// "cpython"). It does not fetch anything.
	Versions() map[string]string

	// Close ends what the runner holds. No Run may be in progress.
	Close() error
}

// Request is one program to run.
type Request struct {
	Language Language
	Code     string
	Filename string   // as tracebacks show it; "" means main.py, main.js or main.ts
	Packages []string // "pydantic>=2", "npm:zod@3"
	Stdin    string
	Args     []string
	Files    []File // put into the working folder before the run
	Limits   Limits

	// Locked refuses every package that is not in the program's inline lock,
	// with the hash that is stated there.
	Locked bool

	// Progress, if not nil, is told what the preparation is doing, from the
	// calling goroutine or another, one call at a time.
	Progress ProgressFunc
}

// File is a file to put into the working folder.
type File struct {
	Path string // relative, slash-separated, inside the working folder
	Data []byte
}

// Limits bound one run. Zero values mean the defaults.
type Limits struct {
	Timeout time.Duration // of the run; the preparation has a limit of its own
	Memory  int64         // bytes
	Output  int64         // bytes kept of each stream
}

// The default limits.
const (
	DefaultTimeout = 30 * time.Second
	DefaultMemory  = 512 << 20
	DefaultOutput  = 50_000
)

// WithDefaults replaces zero limits by the defaults.
func (l Limits) WithDefaults() Limits {
	if l.Timeout <= 0 {
		l.Timeout = DefaultTimeout
	}
	if l.Memory <= 0 {
		l.Memory = DefaultMemory
	}
	if l.Output <= 0 {
		l.Output = DefaultOutput
	}
	return l
}

// Progress says how far one step of a preparation is.
type Progress struct {
	Phase string // "download", "unpack", "compile", "resolve", "install", "start"
	Item  string // "deno 2.9.6", "six-1.17.0-py2.py3-none-any.whl"
	Done  int64  // bytes when Phase is "download", else steps
	Total int64  // 0 when not known
}

// ProgressFunc is told of progress. It must return quickly.
type ProgressFunc func(Progress)

// Report calls f unless it is nil.
func (f ProgressFunc) Report(p Progress) {
	if f != nil {
		f(p)
	}
}

// RequestError is a request that makes no sense. Message is one sentence that
// names the argument and the fix.
type RequestError struct {
	Argument string
	Message  string
}

func (e *RequestError) Error() string { return e.Message }
