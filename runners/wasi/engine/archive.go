package engine

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"coderunner/pyodide"
	"coderunner/runners"
)

// archive returns the path of the files of a module's archive. The cache has them in one file, as
// a zip archive that is not compressed: a process reads of it what it needs.
func (e *Engine) archive(ctx context.Context, m *Module, progress runners.ProgressFunc) (name string, err error) {
	err = e.asking(ctx, m.Name, func() error {
		name, err = e.cfg.Files.File(ctx, kinds.Stub, "wasi 1 "+m.Package().Integrity+" "+m.Archive, func(ctx context.Context, w io.Writer) error {
			from, err := e.fetched(ctx, m, m.Archive, progress)
			if err != nil {
				return err
			}
			return repack(w, from)
		})
		return err
	})
	return name, err
}

// Derived returns the path of a file that the cache keeps and build makes of a module and of
// what the text of says. Who is asked for it gets the module's name and the key.
func (e *Engine) Derived(ctx context.Context, m *Module, key, of string, build func(ctx context.Context, w io.Writer) error) (name string, err error) {
	err = e.asking(ctx, m.Name+" "+key, func() error {
		name, err = e.cfg.Files.File(ctx, kinds.Stub, "wasi 1 "+m.Package().Integrity+" "+key+" of "+of, build)
		return err
	})
	return name, err
}

// Keep returns the path of a file that the cache keeps and build makes of a program. Workers
// keep nothing for others: the error is [pyodide.ErrNotPrepared].
func (e *Engine) Keep(ctx context.Context, key string, build func(ctx context.Context, w io.Writer) error) (string, error) {
	if e.cfg.Fetch == nil {
		return "", pyodide.ErrNotPrepared
	}
	return e.cfg.Files.File(ctx, builtKind, key, build)
}

const builtKind = "built" // of what the cache keeps of programs

// repack writes the files of a tar archive as a zip archive.
func repack(w io.Writer, from string) (err error) {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(w)
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			return z.Close()
		}
		if err != nil {
			return errors.Join(fmt.Errorf("unpack %s: %w", from, err), z.Close())
		}
		name := strings.TrimPrefix(h.Name, "./")
		if h.Typeflag != tar.TypeReg || !fs.ValidPath(name) {
			continue
		}
		out, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Modified: h.ModTime})
		if err == nil {
			_, err = io.Copy(out, r)
		}
		if err != nil {
			return errors.Join(err, z.Close())
		}
	}
}
