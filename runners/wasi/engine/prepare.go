package engine

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"coderunner/pyodide"
	"coderunner/pyodide/codestore"
	"coderunner/runners"
)

// turn waits until nobody else makes a module ready.
func (e *Engine) turn(ctx context.Context, m *Module) (o *opening, done func(), err error) {
	e.mu.Lock()
	o = e.modules[m.Name]
	if o == nil {
		o = &opening{turn: make(chan struct{}, 1)}
		e.modules[m.Name] = o
	}
	e.mu.Unlock()
	select {
	case o.turn <- struct{}{}:
		return o, func() { <-o.turn }, nil
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// Prepare fetches and compiles a module for other processes, and opens nothing.
func (e *Engine) Prepare(ctx context.Context, m *Module, progress runners.ProgressFunc) error {
	_, done, err := e.turn(ctx, m)
	if err != nil {
		return err
	}
	defer done()
	e.mu.Lock()
	if e.keeper == nil {
		e.keeper, err = codestore.NewLoader(context.WithoutCancel(ctx))
	}
	l := e.keeper
	e.mu.Unlock()
	if err == nil {
		_, _, err = e.stored(ctx, l, m, progress)
	}
	if err == nil && m.Archive != "" {
		var unmap func() error
		if _, unmap, err = e.files(ctx, m, progress); err == nil {
			err = unmap()
		}
	}
	if e.compiled.Swap(false) { // rewriting a module leaves ten times its size behind
		debug.FreeOSMemory()
	}
	if err != nil {
		return fmt.Errorf("prepare %s: %w", m.Name, err)
	}
	return nil
}

// sourceFile is a file in a directory that Build reads: what a module is compiled of besides
// its bytes, if it is there.
const sourceFile = "source"

// maxCompile is the memory for compiling a module of a language, in bytes.
const maxCompile = 4 << 30

// build compiles a module of a language, in another process if the configuration has one and
// that has enough memory.
func (e *Engine) build(ctx context.Context, dir string, s codestore.Source) error {
	e.compiled.Store(true)
	if e.cfg.Compile == nil {
		return codestore.Build(ctx, dir, s)
	}
	rest := s
	rest.Whole = nil
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(rest); err != nil {
		return err
	}
	err := errors.Join(os.WriteFile(filepath.Join(dir, libraryFile), s.Whole, 0o600), os.WriteFile(filepath.Join(dir, sourceFile), b.Bytes(), 0o600))
	if err == nil {
		err = e.cfg.Compile(ctx, dir, maxCompile)
	}
	if errors.Is(err, pyodide.ErrBudget) {
		return codestore.Build(ctx, dir, s)
	}
	return err
}

// source returns what build has written, and false if there is nothing.
func source(dir string) (s codestore.Source, is bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, sourceFile))
	if errors.Is(err, os.ErrNotExist) {
		return s, false, nil
	}
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(b)).Decode(&s)
	}
	return s, true, err
}
