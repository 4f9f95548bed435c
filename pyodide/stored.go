package pyodide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/codestore"
)

// kinds are what the store calls a stub module and its machine code.
type kinds struct{ stub, code string }

var (
	mainKinds    = kinds{"module", "machine-code"}
	libraryKinds = kinds{"library", "library-code"}
)

// builder makes the files of a module: see [codestore.Build].
type builder func(ctx context.Context, dir string) error

// stored returns the paths of the stub module and of the machine code that
// belong to key. What the store does not have is built.
func (r *Runtime) stored(ctx context.Context, k kinds, key, item string, build builder) (stub, code string, err error) {
	key = fmt.Sprintf("%s %s %s", key, codestore.Format, r.stamp)
	var dir string
	defer func() {
		if dir != "" {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	part := func(name string) func(context.Context, io.Writer) error {
		return func(ctx context.Context, w io.Writer) (err error) {
			if dir == "" {
				if dir, err = r.dirBeside(w); err != nil {
					return err
				}
				stop := elapsing(r.progress, Progress{Phase: "compile", Item: item})
				defer stop()
				if err := build(ctx, dir); err != nil {
					return err
				}
			}
			f, err := os.Open(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(w, f)
			return err
		}
	}
	if stub, err = r.config.Store.File(ctx, k.stub, key, part(codestore.StubFile)); err != nil {
		return "", "", err
	}
	code, err = r.config.Store.File(ctx, k.code, key, part(codestore.CodeFile))
	return stub, code, err
}

// dirBeside makes a directory where the store has its unfinished files: they are
// removed when this process is killed, and there is room.
func (r *Runtime) dirBeside(w io.Writer) (string, error) {
	if f, ok := w.(*os.File); ok {
		return os.MkdirTemp(filepath.Dir(f.Name()), "build-")
	}
	return r.code.TempDir()
}

// openStub maps a stub module. The caller calls unmap when nothing uses it any
// more.
func openStub(file string) (s *codestore.Stub, unmap func() error, err error) {
	data, unmap, err := mapFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read stub module: %w", err)
	}
	if s, err = codestore.ReadStub(data); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read %s: %w", file, err), unmap())
	}
	return s, unmap, nil
}

// load gives wazero a stub module with the machine code in a file. Should wazero
// not take that, the whole module is compiled, for this process alone.
func (r *Runtime) load(ctx context.Context, s *codestore.Stub, code string, whole func() ([]byte, error)) (wazero.CompiledModule, error) {
	c, err := r.code.Load(ctx, r.wz, s, code)
	if err == nil || ctx.Err() != nil {
		return c, err
	}
	wasm, werr := whole()
	if werr != nil {
		return nil, errors.Join(err, werr)
	}
	return r.code.Compile(codestore.WithWorkers(ctx), r.wz, wasm)
}
