package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/pyodide"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/rewrite"
	"coderunner/pyodide/wasmbin"
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
		_, err = e.archive(ctx, m, progress)
	}
	if err != nil {
		return fmt.Errorf("prepare %s: %w", m.Name, err)
	}
	return nil
}

// The files in a directory that Build reads: a module, and one that is there if the module is a
// language's.
const libraryFile, languageFile = "library", "language"

// build compiles a module in a directory, in another process if the configuration has one and
// that has enough memory for a language's.
func (e *Engine) build(ctx context.Context, dir string, wasm []byte, language bool) error {
	memory := int64(4 << 30)
	err := os.WriteFile(filepath.Join(dir, libraryFile), wasm, 0o600)
	if language {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, languageFile), nil, 0o600))
	} else {
		memory = min(512<<20+128*int64(len(wasm)), 2<<30)
	}
	const small = 4 << 10 // bytes that may be compiled in this process
	if err != nil || e.cfg.Compile == nil || len(wasm) <= small && !language {
		return errors.Join(err, Build(ctx, dir))
	}
	if err = e.cfg.Compile(ctx, dir, memory); language && errors.Is(err, pyodide.ErrBudget) {
		return Build(ctx, dir)
	}
	return err
}

// Build compiles a module in a directory, for a process that compiles: a language's, or a
// program's.
func Build(ctx context.Context, dir string) error {
	wasm, err := os.ReadFile(filepath.Join(dir, libraryFile))
	if err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(dir, languageFile))
	language := err == nil
	whole, info, err := rewritten(wasm, language)
	if err != nil {
		return err
	}
	m, err := wasmbin.Parse(whole)
	if err != nil {
		return err
	}
	s := codestore.Source{Whole: whole}
	if language {
		s.Stub, s.Data = detach(m)
		s.Info = []byte(strings.Join(info.Globals, "\n"))
	} else {
		s.Stub = append(m.Stub(nil), wasmbin.NameSection(wasm)...)
		s.Of = info.Of
	}
	return codestore.Build(ctx, dir, s)
}

// rewritten returns a module as it is compiled.
func rewritten(wasm []byte, language bool) ([]byte, *rewrite.Info, error) {
	o := rewrite.Options{TableMax: maxTable, Places: !language}
	if language {
		o.Skip = rewrite.PassRounds | rewrite.PassStrides
	}
	return rewrite.Module(wasm, o)
}

// maxTable bounds the tables, in elements: they take the host's memory.
const maxTable = 1 << 20

// detach returns the stub module without the data that instances begin with, and the data:
// writing it is most of the time of a start, for there is a library in it, and so is going
// through many thousand segments that are empty. The data is nil, and in the module, if some
// has no constant address or is not behind the other, or if the module runs while it is instantiated.
func detach(m *wasmbin.Module) (stub []byte, data []wasmbin.Segment) {
	active := func(d wasmbin.Data) bool { return d.Mode == wasmbin.Active }
	end := uint32(0)
	for _, d := range m.Data {
		if !active(d) {
			continue
		}
		at, ok := d.Offset.Eval32(func(uint32) (uint32, bool) { return 0, false })
		if !ok || m.Start != wasmbin.NoFunc || at < end {
			return m.Stub(nil), nil
		}
		end = at + uint32(len(d.Bytes))
		data = append(data, wasmbin.Segment{Addr: at, Bytes: d.Bytes})
	}
	if len(data) == len(m.Data) {
		m.Sections = slices.DeleteFunc(m.Sections, func(s wasmbin.Section) bool { return s.ID == wasmbin.SecData || s.ID == wasmbin.SecDataCount })
	}
	return m.Stub(active), data
}
