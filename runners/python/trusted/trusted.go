// Package trusted runs the host's own scripts, the compiler and the builds of
// sdists, each in an interpreter that never sees a user's code. It implements
// [resolver.Trusted].
package trusted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"coderunner/pyodide"
	"coderunner/runners/python/resolver"
)

// scriptLimit bounds the time of one of our scripts, without its host calls.
const scriptLimit = 5 * time.Minute

// scriptMemory bounds a script's memory, scriptArgument the argument of a host
// call, both in bytes.
const (
	scriptMemory   = 1 << 30
	scriptArgument = 4 << 20
)

// waitLimit bounds what a script waits for its host calls.
const waitLimit = 15 * time.Minute

// Interpreters are those of a runtime, a fresh one for each call.
type Interpreters struct{ Runtime *pyodide.Runtime }

var _ resolver.Trusted = Interpreters{}

// Script implements [resolver.Trusted].
func (t Interpreters) Script(ctx context.Context, code string, trees []fs.FS, calls map[string]resolver.Call) error {
	res, said, err := t.script(ctx, code, trees, calls)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case res.Exception != nil:
		return errors.New("the script failed: " + res.Exception.Traceback)
	case res.Ended != pyodide.Finished || res.ExitCode != 0:
		return errors.Join(fmt.Errorf("the script ended badly (%v, exit code %d) %s", res.Ended, res.ExitCode, said), res.Cause)
	}
	return nil
}

// Library implements [resolver.Trusted].
func (t Interpreters) Library(ctx context.Context, name string, library []byte) error {
	err := t.Runtime.PrepareLibrary(ctx, name, library)
	if errors.Is(err, pyodide.ErrBudget) {
		return costlyError{err}
	}
	return err
}

// costlyError makes pyodide.ErrBudget match resolver.ErrTooCostly.
type costlyError struct{ error }

func (e costlyError) Unwrap() []error { return []error{e.error, resolver.ErrTooCostly} }

// LibraryVersion implements [resolver.Trusted].
func (t Interpreters) LibraryVersion() (string, error) { return t.Runtime.LibraryVersion() }

// script runs a script and returns its result and the end of its output.
func (t Interpreters) script(ctx context.Context, code string, trees []fs.FS, calls map[string]resolver.Call) (*pyodide.Result, string, error) {
	var said tailWriter
	o := pyodide.Options{Memory: scriptMemory, Stdout: &said, Stderr: &said, Calls: map[string]pyodide.Call{}}
	for name, f := range calls {
		o.Calls[name] = pyodide.Call{MaxArgument: scriptArgument, Waits: true, Do: func(ctx context.Context, argument json.RawMessage) (any, error) {
			return f(ctx, argument)
		}}
	}
	in, err := t.Runtime.New(ctx, o)
	if err != nil {
		return nil, "", err
	}
	defer in.Close()
	for _, tree := range trees {
		if err := in.Mount(pyodide.SitePackages, tree); err != nil {
			return nil, "", err
		}
	}
	res, err := in.Run(ctx, pyodide.Program{Code: code, Filename: "script.py", Timeout: scriptLimit, WaitLimit: waitLimit})
	return res, said.String(), err
}

// tailWriter keeps the end of the output.
type tailWriter struct{ b bytes.Buffer }

func (w *tailWriter) Write(p []byte) (int, error) {
	const keep = 4 << 10
	w.b.Write(p)
	if extra := w.b.Len() - keep; extra > 0 {
		w.b.Next(extra)
	}
	return len(p), nil
}

func (w *tailWriter) String() string { return w.b.String() }
