package python

import (
	"bytes"
	"context"
	"errors"

	"coderunner/pyodide"
	"coderunner/runners/python/resolver"
)

// trusted compiles and builds in interpreters that never see a user's code.
type trusted struct{ rt *pyodide.Runtime }

var _ resolver.Trusted = trusted{}

// Library implements [resolver.Trusted].
func (t trusted) Library(ctx context.Context, name string, library []byte) error {
	err := t.rt.PrepareLibrary(ctx, name, library)
	if errors.Is(err, pyodide.ErrBudget) {
		return costlyError{err}
	}
	return err
}

// costlyError makes pyodide.ErrBudget match resolver.ErrTooCostly.
type costlyError struct{ error }

func (e costlyError) Unwrap() []error { return []error{e.error, resolver.ErrTooCostly} }

// LibraryVersion implements [resolver.Trusted].
func (t trusted) LibraryVersion() (string, error) { return t.rt.LibraryVersion() }

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
