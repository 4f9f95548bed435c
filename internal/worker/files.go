package worker

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"coderunner/pyodide/codestore"
)

// compile compiles the library in a directory of the worker, which gets the results back.
func (w *worker) compile(ctx context.Context, c compile) error {
	rel, err := filepath.Rel(w.written(), c.Dir)
	if err != nil || !filepath.IsLocal(rel) || c.Memory <= 0 || w.p.o.Compile == nil {
		return errors.New("a library is compiled in the worker's directory")
	}
	dir, err := w.p.o.Cache.TempDir("compile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return inRoots(w.written(), dir, func(theirs, ours *os.Root) error {
		if err := copyFile(theirs, filepath.Join(rel, "library"), ours, "library", maxLibrary); err != nil {
			return err
		}
		if err := w.p.o.Compile(ctx, dir, c.Memory); err != nil {
			return err
		}
		return errors.Join(
			copyFile(ours, codestore.StubFile, theirs, filepath.Join(rel, codestore.StubFile), maxCode),
			copyFile(ours, codestore.CodeFile, theirs, filepath.Join(rel, codestore.CodeFile), maxCode))
	})
}

// Bounds of libraries and of their machine code, in bytes.
const (
	maxLibrary = 256 << 20
	maxCode    = 2 << 30
)

// inRoots calls f with two directories, which no link that a worker makes there leads out of.
func inRoots(a, b string, f func(a, b *os.Root) error) error {
	x, err := os.OpenRoot(a)
	if err != nil {
		return err
	}
	defer x.Close()
	y, err := os.OpenRoot(b)
	if err != nil {
		return err
	}
	defer y.Close()
	return f(x, y)
}

// copyFile copies a regular file of at most limit bytes to a new one.
func copyFile(in *os.Root, from string, out *os.Root, to string, limit int64) error {
	f, err := in.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe does not wait for a writer
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return errors.Join(err, errors.New("it is no file, or too large"))
	}
	w, err := out.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.LimitReader(f, limit))
	return errors.Join(err, w.Close())
}

// linkOrCopy gives a file another name, or makes a copy where that is not possible.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	return inRoots(filepath.Dir(from), filepath.Dir(to), func(in, out *os.Root) error {
		return copyFile(in, filepath.Base(from), out, filepath.Base(to), maxCode)
	})
}
