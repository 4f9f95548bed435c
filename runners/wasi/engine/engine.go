// Package engine compiles WebAssembly modules once and runs them as processes of the
// machine. It knows no language: what an import beyond WASI's does, and in which order a
// module's functions are called, is the business of whoever describes a [Module].
//
//	npm package ── rewrite ── machine code, in the cache ──┐
//	a file of the program ── rewrite ── machine code ──────┴─ Instance, with memory of its own
//
// Modules are rewritten as Pyodide's are: each loop asks whether the process has ended.
//
// # Locking
//
// An Engine is safe for concurrent use. An Instance belongs to the goroutine of its process.
//
// # Limits
//
// One memory, no threads, exceptions as Pyodide's rewriting knows them. A program's own module
// is bounded in its size and in that of each function, since it is compiled here.
package engine

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"

	"coderunner/internal/fetch"
	"coderunner/internal/preview1"
	"coderunner/pyodide"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/rewrite"
	"coderunner/pyodide/wasmbin"
	"coderunner/runners"
)

// Module is a module of a language.
type Module struct {
	Name    string // of the language's command: "ruby"
	Package func() fetch.NPMPackage
	File    string              // of the package
	Imports func() hostfn.Table // besides WASI's; nil: none
	Absent  string              // what a program is told that needs an import which is in no table
	Archive string              // a tar archive of the package, which Code.Files has; "": none
	Exports map[string]uint32   // functions of the file that it does not export, by their numbers
}

// Config configures an [Engine].
type Config struct {
	Files codestore.Files // keeps compiled modules

	// Fetch returns the directory of a package. It is not needed with Ask.
	Fetch func(ctx context.Context, p fetch.NPMPackage, progress fetch.ProgressFunc) (dir string, err error)

	// Compile, if not nil, compiles modules in a process of its own, by [Build] in a directory,
	// with at most memory bytes.
	Compile func(ctx context.Context, dir string, memory int64) error

	// Ask, if not nil, has somebody else fetch and compile a module, by its name, whom Files
	// asks, too: its error for what it lacks is [pyodide.ErrNotPrepared].
	Ask func(ctx context.Context, name string) error
}

// Engine runs modules. Close ends it.
type Engine struct {
	cfg Config

	mu      sync.Mutex
	modules map[string]*opening // by the module's name
	own     *own                // modules of programs; nil: there was none yet
	keeper  *codestore.Loader   // of what others run; nil: nothing yet
}

// New returns an engine, which has nothing yet.
func New(c Config) *Engine { return &Engine{cfg: c, modules: map[string]*opening{}} }

// opening is a module that is being made ready, or is.
type opening struct {
	turn chan struct{} // holds a token while somebody makes it ready
	code *Code         // guarded by turn; nil: it is not ready
}

// Code is a module that is ready to run.
type Code struct {
	loader   *codestore.Loader
	compiled wazero.CompiledModule
	unmap    func() error
	data     []wasmbin.Segment // that instances begin with, if it is not in the module
	key      string            // changes whenever memory of an instance means something else
	globals  []string          // the exports of what is part of an instance's state
	begun    begun
	weight   int // of a program's, in bytes
	stub     *codestore.Stub

	Files fs.FS // of the module's archive; nil: it has none
}

func (c *Code) close() error {
	ctx := context.Background()
	if s := c.begun.spare.Swap(nil); s != nil {
		s.free()
	}
	if i := c.begun.image.Load(); i != nil {
		_ = i.file.Close() // it was only read
	}
	return errors.Join(c.compiled.Close(ctx), c.loader.Close(ctx), c.unmap())
}

// Open makes a module ready. What it fetches and compiles is reported as progress.
func (e *Engine) Open(ctx context.Context, m *Module, progress runners.ProgressFunc) (*Code, error) {
	o, done, err := e.turn(ctx, m)
	if err != nil {
		return nil, err
	}
	defer done()
	if o.code != nil {
		return o.code, nil
	}
	code, err := e.open(ctx, m, progress)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", m.Name, err)
	}
	o.code = code
	return code, nil
}

// kinds are those of CPython, whose entries of the versions in force are not evicted.
var kinds = codestore.Kinds{Stub: "module", Code: "machine-code"}

func (e *Engine) open(ctx context.Context, m *Module, progress runners.ProgressFunc) (_ *Code, err error) {
	l, err := codestore.NewLoader(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	c := &Code{loader: l, unmap: func() error { return nil }, key: m.key()}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close(context.Background()), c.unmap())
		}
	}()
	stub, machine, err := e.stored(ctx, l, m, progress)
	if err != nil {
		return nil, err
	}
	if m.Archive != "" {
		name, err := e.archive(ctx, m, progress)
		if err != nil {
			return nil, err
		}
		z, err := zip.OpenReader(name)
		if err != nil {
			return nil, fmt.Errorf("read the files of %s: %w", m.Name, err)
		}
		c.Files, c.unmap = z, z.Close
	}
	opened, unmap, err := pyodide.OpenStub(stub)
	if err != nil {
		return nil, err
	}
	closeFiles := c.unmap
	c.unmap, c.data, c.globals = func() error { return errors.Join(closeFiles(), unmap()) }, opened.Data, strings.Fields(string(opened.Info))
	c.compiled, err = l.LoadOr(ctx, opened, machine, func() ([]byte, error) {
		wasm, err := e.read(ctx, m, progress)
		if err == nil {
			wasm, _, err = rewritten(wasm, true)
		}
		return wasm, err
	})
	if err != nil {
		return nil, err
	}
	imports, err := wasmbin.ParseImports(opened.Wasm)
	if err == nil {
		err = m.table(imports).Instantiate(context.WithoutCancel(ctx), l.Runtime())
	}
	return c, err
}

// table returns WASI's functions and the module's own. What is in neither ends the program. The
// imports are not the compiled module's, which wazero would describe each function for.
func (m *Module) table(imports *wasmbin.Module) hostfn.Table {
	t := preview1.Rows()
	if m.Imports != nil {
		t = append(t, m.Imports()...)
	}
	for _, im := range imports.Imports {
		if im.Kind != wasmbin.KindFunc || slices.ContainsFunc(t, func(r hostfn.Row) bool { return r.Module == im.Module && r.Name == im.Name }) {
			continue
		}
		text, f := cmp.Or(m.Absent, fmt.Sprintf("there is no %s.%s here", im.Module, im.Name)), imports.FuncType(im.Index)
		t = append(t, hostfn.Row{
			Module: im.Module, Name: im.Name, Sig: hostfn.Letters(f.Params) + ":" + hostfn.Letters(f.Results), Args: strings.Repeat("arg ", len(f.Params)),
			Source: m.File, Support: hostfn.Absent, Note: text, Fn: func(context.Context, []uint64) { panic(&Unsupported{text}) },
		})
	}
	return t
}

// stored returns the files of the compiled module.
func (e *Engine) stored(ctx context.Context, l *codestore.Loader, m *Module, progress runners.ProgressFunc) (stub, code string, err error) {
	build := func(ctx context.Context, dir string) error {
		wasm, err := e.read(ctx, m, progress)
		if err != nil {
			return err
		}
		progress.Report(runners.Progress{Phase: "compile", Item: m.Name})
		return e.build(ctx, dir, wasm, true)
	}
	err = e.asking(ctx, m.Name, func() error {
		stub, code, err = l.Get(ctx, e.cfg.Files, kinds, m.key(), build)
		return err
	})
	return stub, code, err
}

// asking gets something of a module. Where it is lacking, whoever the configuration names
// makes it first.
func (e *Engine) asking(ctx context.Context, name string, get func() error) error {
	err := get()
	if e.cfg.Ask == nil || !errors.Is(err, pyodide.ErrNotPrepared) {
		return err
	}
	if err := e.cfg.Ask(ctx, name); err != nil {
		return err
	}
	return get()
}

// key changes whenever the module is compiled to something else. What is before "@" is what
// the cache takes for one runtime, whose versions replace one another.
func (m *Module) key() string {
	key := fmt.Sprintf("%s@wasi 5 %s %s rewrite %s table %d", m.Name, m.Package().Integrity, m.File, rewrite.Version, maxTable)
	if m.Exports != nil {
		key += fmt.Sprint(" exports ", m.Exports)
	}
	return key
}

// fetched returns the path of a file of the module's package.
func (e *Engine) fetched(ctx context.Context, m *Module, file string, progress runners.ProgressFunc) (string, error) {
	if e.cfg.Fetch == nil {
		return "", pyodide.ErrNotPrepared
	}
	p := m.Package()
	dir, err := e.cfg.Fetch(ctx, p, func(done, total int64) {
		progress.Report(runners.Progress{Phase: "download", Item: p.Name + " " + p.Version, Done: done, Total: max(total, 0)})
	})
	return filepath.Join(dir, filepath.FromSlash(file)), err
}

func (e *Engine) read(ctx context.Context, m *Module, progress runners.ProgressFunc) ([]byte, error) {
	name, err := e.fetched(ctx, m, m.File, progress)
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return wasmbin.Exporting(wasm, m.Exports)
}

// Close frees the modules. Nothing may run.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, o := range e.modules {
		if o.code != nil {
			errs = append(errs, o.code.close())
		}
	}
	if e.own != nil {
		errs = append(errs, e.own.close())
	}
	if e.keeper != nil {
		errs = append(errs, e.keeper.Close(context.Background()))
	}
	e.modules, e.own, e.keeper = map[string]*opening{}, nil, nil
	return errors.Join(errs...)
}
