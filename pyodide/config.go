package pyodide

import (
	"context"
	"crypto/x509"
	"embed"
	"errors"
	"io"
	"os"
	"time"

	"coderunner/pyodide/codestore"
	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/jsffi"
)

//go:embed guest/*.py all:guest/lib
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
	// but instances of closed interpreters are reused, two for each processor.
	// An idle instance is closed after five minutes.
	MaxIdle int

	// Roots returns the authorities that programs trust by default, in TLS. Nil
	// means the system's.
	Roots func() (*x509.CertPool, error)

	// Compile, if not nil, calls [BuildLibrary] with dir in a process of its own
	// with at most memory bytes: libraries are untrusted, and compiling one can
	// take any amount. The error is ErrBudget if it exceeds its memory or time.
	// With 0 bytes it may be a process that has compiled others: what is compiled is small.
	// Nil: libraries are compiled in this process.
	Compile func(ctx context.Context, dir string, memory int64) error

	// Prepare, if not nil, does for libraries of mounted trees what [Runtime.PrepareLibrary]
	// does, so that the store has them afterwards. It is for a Store that builds nothing: its
	// errors for what it lacks are ErrNotPrepared.
	Prepare func(ctx context.Context, name string, library []byte) error

	// Part, if not nil, does what [Runtime.CompilePart] does, elsewhere. Like Prepare it is for a
	// Store that builds nothing.
	Part func(ctx context.Context, module []byte) (Part, error)

	// Later splits large libraries, so that only what programs execute is compiled, until
	// LayOutLibrary.
	Later bool

	// Progress, if not nil, is called with the progress of Open.
	Progress func(Progress)

	// Unlaid, if not nil, is called with each module that is loaded with machine
	// code that was not laid out anew, or not all of it: it is slower.
	Unlaid func(module string, l codestore.Layout)
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

// Rows are the host functions that interpreters are given, for documentation
// and tests.
func Rows() hostfn.Table {
	return append(append(hostfn.Table{}, emscripten.Rows()...), jsffi.Rows()...)
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

// identity returns a name for the contents of the file.
func (c *Config) identity(file string) (string, error) {
	if c.Identity != "" {
		return c.Identity, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return codestore.Digest(b), nil
}

// errNoStore is the error of methods that need a store.
var errNoStore = errors.New("the runtime has no store")
