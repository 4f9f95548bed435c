package worker

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"coderunner/pyodide/codestore"
)

// compile compiles the library in a directory of the worker, which gets the results back.
func (w *worker) compile(ctx context.Context, c compile) error {
	rel, err := filepath.Rel(w.written(), c.Dir)
	if err != nil || !filepath.IsLocal(rel) || w.p.o.Compile == nil {
		return errors.New("a library is compiled in the worker's directory")
	}
	root, err := os.OpenRoot(w.written()) // which no link leads out of
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := w.p.o.Cache.TempDir("compile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyFile(func() (*os.File, error) { return root.Open(filepath.Join(rel, "library")) }, func() (*os.File, error) {
		return os.OpenFile(filepath.Join(dir, "library"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}, maxLibrary); err != nil {
		return err
	}
	if err := w.p.o.Compile(ctx, dir, c.Memory); err != nil {
		return err
	}
	for _, name := range []string{codestore.StubFile, codestore.CodeFile} {
		if err := copyFile(func() (*os.File, error) { return os.Open(filepath.Join(dir, name)) }, func() (*os.File, error) {
			return root.OpenFile(filepath.Join(rel, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		}, maxCode); err != nil {
			return err
		}
	}
	return nil
}

// Bounds of libraries and of their machine code, in bytes.
const (
	maxLibrary = 256 << 20
	maxCode    = 2 << 30
)

// copyFile copies a regular file of at most limit bytes.
func copyFile(open, create func() (*os.File, error), limit int64) (err error) {
	from, err := open()
	if err != nil {
		return err
	}
	defer from.Close()
	if info, err := from.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return errors.Join(err, errors.New("it is no file, or too large"))
	}
	to, err := create()
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.LimitReader(from, limit))
	return errors.Join(err, to.Close())
}

// linkOrCopy gives a file another name, or makes a copy where that is not possible.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(func() (*os.File, error) { return os.Open(from) }, func() (*os.File, error) {
		return os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	}, maxCode)
}

// moveFile moves a regular file, to another disk if need be.
func moveFile(from, to string) error {
	if os.Rename(from, to) == nil {
		return nil
	}
	_ = os.Remove(to) // as a rename does
	return linkOrCopy(from, to)
}
