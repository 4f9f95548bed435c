// Package trusted compiles and builds what programs import, each in an interpreter
// that never sees a user's code. It implements [resolver.Trusted].
package trusted

import (
	"bytes"
	"context"
	"errors"
	"time"

	"coderunner/pyodide"
	"coderunner/runners/python/resolver"
)

// waitLimit bounds what a build waits for its host calls.
const waitLimit = 15 * time.Minute

// Interpreters are those of a runtime, a fresh one for each call.
type Interpreters struct{ Runtime *pyodide.Runtime }

var _ resolver.Trusted = Interpreters{}

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

// LayOut implements [resolver.Trusted].
func (t Interpreters) LayOut(ctx context.Context, library []byte) error {
	if err := t.Runtime.LayOutLibrary(ctx, library); !errors.Is(err, pyodide.ErrNotPrepared) {
		return err
	}
	return nil
}

// LibraryVersion implements [resolver.Trusted].
func (t Interpreters) LibraryVersion() (string, error) { return t.Runtime.LibraryVersion() }

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
