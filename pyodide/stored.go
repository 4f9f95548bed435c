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
func (r *modules) stored(ctx context.Context, k kinds, key, item string, build builder) (stub, code string, err error) {
	key = fmt.Sprintf("%s %s %s", key, codestore.Format, r.stamp)
	// The code is put into the store while the stub is made: what build leaves is
	// gone when that ends.
	stub, err = r.config.Store.File(ctx, k.stub, key, func(ctx context.Context, w io.Writer) error {
		return r.build(ctx, w, item, build, func(dir string) error {
			_, err := r.config.Store.File(ctx, k.code, key, func(_ context.Context, w io.Writer) error {
				return copyFile(w, filepath.Join(dir, codestore.CodeFile))
			})
			return errors.Join(err, copyFile(w, filepath.Join(dir, codestore.StubFile)))
		})
	})
	if err != nil {
		return "", "", err
	}
	code, err = r.config.Store.File(ctx, k.code, key, func(ctx context.Context, w io.Writer) error {
		return r.build(ctx, w, item, build, func(dir string) error {
			return copyFile(w, filepath.Join(dir, codestore.CodeFile))
		})
	})
	return stub, code, err
}

// build builds a module beside the store's unfinished file and calls use with
// the directory that it is in.
func (r *modules) build(ctx context.Context, w io.Writer, item string, build builder, use func(dir string) error) (err error) {
	dir, err := r.dirBeside(w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	stop := elapsing(r.progress, Progress{Phase: "compile", Item: item})
	err = build(ctx, dir)
	stop()
	if err != nil {
		return err
	}
	return use(dir)
}

func copyFile(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// dirBeside makes a directory where the store has its unfinished files: they are
// removed when this process is killed, and there is room.
func (r *modules) dirBeside(w io.Writer) (string, error) {
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

// load returns wazero a stub module with the machine code in a file. Should wazero
// not take that, the whole module is compiled, for this process alone.
func (r *modules) load(ctx context.Context, s *codestore.Stub, code string, whole func() ([]byte, error)) (wazero.CompiledModule, error) {
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
