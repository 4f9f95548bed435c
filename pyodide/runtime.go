package pyodide

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"coderunner/internal/recent"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/jsffi"
)

//go:embed guest/*.py
var guestFiles embed.FS

// Config names a runtime's parts.
type Config struct {
	Module string // path of pyodide.asm.wasm
	Stdlib string // path of python_stdlib.zip

	// Identity names the contents of the two files, which the caller has
	// verified. With "" they are read and hashed at each start.
	Identity string

	// Store keeps what is derived from them: the rewritten module, its machine
	// code, the standard library's bytecode. Nil: everything is made anew.
	Store Store

	// MaxIdle bounds the idle interpreters, which are made after as many were
	// missed at once: each takes about a megabyte. With 0 none are made ahead,
	// but instances of closed interpreters are reused, one for each processor.
	// An idle instance is closed after five minutes.
	MaxIdle int

	// Compile, if not nil, calls [BuildLibrary] with dir in a process of its own
	// with at most memory bytes: libraries are untrusted, and compiling one can
	// take any amount. The error is ErrBudget if it exceeds its memory or time.
	// Nil: libraries are compiled in this process.
	Compile func(ctx context.Context, dir string, memory int64) error

	// Progress, if not nil, is called with the progress of Open.
	Progress func(Progress)
}

// Progress is how far a step is; Total is 0 when that is not known.
type Progress struct {
	Phase       string // "compile"
	Item        string // "CPython", "standard library"
	Done, Total int64  // steps
}

// Store keeps derived files and directories by key, for all processes. They are
// kept only if build returns nil, and are read-only. The key is any text that
// changes whenever the result would.
type Store interface {
	File(ctx context.Context, kind, key string, build func(ctx context.Context, w io.Writer) error) (path string, err error)
	Dir(ctx context.Context, kind, key string, build func(ctx context.Context, dir string) error) (path string, err error)
}

// Runtime makes interpreters of one compiled module. The package comment says
// which method is in which file.
type Runtime struct {
	*modules
	stdlib    []byte // the archive of the standard library, shared and read-only
	stdlibKey string // names its contents
	pool      instances
	analyses  recent.Map[[sha256.Size]byte, *Analysis]
	base      *Snapshot // a booted interpreter; nil without a store
	close     sync.Once
}

// modules holds what is compiled: the main module and shared libraries. It knows
// nothing of interpreters.
type modules struct {
	config Config
	wz     wazero.Runtime
	code   *codestore.Loader
	link   link
	module *module
	main   wazero.CompiledModule
	unmap  []func() error
}

// Rows are the host functions that interpreters are given, for documentation
// and tests.
func Rows() hostfn.Table {
	return append(append(hostfn.Table{}, emscripten.Rows()...), jsffi.Rows()...)
}

// Open makes a runtime. The first time, with an empty store, this compiles for
// some ten seconds.
func Open(ctx context.Context, c Config) (r *Runtime, err error) {
	r = &Runtime{modules: &modules{config: c}}
	r.pool = newInstances(r, c.MaxIdle)
	r.link.init(r.modules)
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
			r = nil
		}
	}()
	if err = r.compile(ctx); err != nil {
		return r, err
	}
	if err = Rows().Instantiate(ctx, r.wz); err != nil {
		return r, err
	}
	if err = r.loadStdlib(ctx); err != nil {
		return r, err
	}
	return r, r.loadSnapshot(ctx)
}

// Close frees the compiled code. All interpreters must be closed before.
func (r *Runtime) Close() error {
	var errs []error
	r.close.Do(func() {
		ctx := context.Background()
		r.pool.Close()
		r.link.running.Wait()
		if r.code != nil {
			errs = append(errs, r.code.Close(ctx))
		}
		errs = append(errs, r.link.shared.close())
		if r.base != nil {
			errs = append(errs, r.base.Close())
		}
		for _, f := range r.unmap {
			errs = append(errs, f())
		}
	})
	return errors.Join(errs...)
}

// elapsing reports p at once and then every second, with the seconds as Done,
// until stopped: for a step without a measure of progress.
func elapsing(progress func(Progress), p Progress) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for begin := time.Now(); ; {
			p.Done = int64(time.Since(begin) / time.Second)
			progress(p)
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}
