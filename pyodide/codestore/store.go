package codestore

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/relayout"
)

// Files keeps files by key, for all processes. A file is kept only if build
// returns nil, and is read-only. The key is any text that changes whenever the
// file would.
type Files interface {
	File(ctx context.Context, kind, key string, build func(ctx context.Context, w io.Writer) error) (path string, err error)
}

// Kinds are the kinds of the files of stub modules and of machine code.
type Kinds struct{ Stub, Code string }

// Get returns the paths of key's stub module and machine code. Missing ones are
// made by build, which calls [Build] with the directory.
func (l *Loader) Get(ctx context.Context, files Files, k Kinds, key string, build func(ctx context.Context, dir string) error) (stub, code string, err error) {
	version, err := l.Version()
	if err != nil {
		return "", "", err
	}
	key += " " + version
	// The code is stored from within the stub's build, whose directory is removed
	// at its end.
	stub, err = files.File(ctx, k.Stub, key, func(ctx context.Context, w io.Writer) error {
		return l.build(ctx, w, build, func(dir string) error {
			_, err := files.File(ctx, k.Code, key, func(_ context.Context, w io.Writer) error {
				return copyFile(w, filepath.Join(dir, CodeFile))
			})
			return errors.Join(err, copyFile(w, filepath.Join(dir, StubFile)))
		})
	})
	if err != nil {
		return "", "", err
	}
	code, err = files.File(ctx, k.Code, key, func(ctx context.Context, w io.Writer) error {
		return l.build(ctx, w, build, func(dir string) error { return copyFile(w, filepath.Join(dir, CodeFile)) })
	})
	return stub, code, err
}

// Version changes whenever Build would write other files for the same module.
func (l *Loader) Version() (string, error) {
	stamp, err := l.stamp()
	if packs {
		stamp = packedFormat + " " + stamp
	}
	return format + " " + relayout.Version + " " + stamp, err
}

// build builds a module in a directory beside the store's unfinished file and
// calls use with it: there is room, and it is removed even if this process is
// killed.
func (l *Loader) build(ctx context.Context, w io.Writer, build func(context.Context, string) error, use func(dir string) error) (err error) {
	var dir string
	if f, ok := w.(*os.File); ok {
		dir, err = os.MkdirTemp(filepath.Dir(f.Name()), "build-")
	} else {
		dir, err = l.TempDir()
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := build(ctx, dir); err != nil {
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
	// In large parts, which the kernel keeps together: code in them is mapped with fewer steps.
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{f}, make([]byte, 2<<20))
	return err
}

// LoadOr is Load, but compiles the whole module, for this process alone, if wazero
// ignores the machine code.
func (l *Loader) LoadOr(ctx context.Context, s *Stub, code string, whole func() ([]byte, error)) (wazero.CompiledModule, error) {
	c, err := l.Load(ctx, s, code)
	if err == nil || ctx.Err() != nil {
		return c, err
	}
	wasm, werr := whole()
	if werr != nil {
		return nil, errors.Join(err, werr)
	}
	return l.Compile(ctx, wasm)
}
