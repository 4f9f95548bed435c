package wheel

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// InstallTo writes the wheel's files below dir, which must exist and should be
// empty, and checks each against RECORD. Files for which keep returns false are
// checked and not written; a nil keep keeps all. Several files are unpacked at once. After an error the directory
// holds a part of the wheel; the caller removes it.
func (w *Wheel) InstallTo(ctx context.Context, dir string, keep func(path string) bool) error {
	if err := w.install(ctx, dir, keep); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("unpack %s: %w", w.Name.Filename, ctx.Err())
		}
		return err
	}
	return nil
}

// InstallLibraries unpacks a zip file of shared libraries below dir. The rules for
// a wheel's archive apply, but it has no RECORD: the caller has verified its
// digest. The error is a *[RefusedError] when it breaks a rule.
func InstallLibraries(ctx context.Context, r io.ReaderAt, size int64, filename, dir string, limits Limits) error {
	w := &Wheel{Name: Name{Filename: filename}, limits: limits}
	var err error
	if w.archive, err = readArchive(r, size, limits); err == nil {
		err = w.layOut("")
	}
	if err != nil {
		return &RefusedError{File: filename, Reason: err.Error()}
	}
	return w.InstallTo(ctx, dir, nil)
}

func (w *Wheel) install(ctx context.Context, dir string, keep func(string) bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", w.Name.Filename, err)
	}
	defer root.Close()
	made := map[string]bool{".": true}
	left := w.limits.TotalBytes
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range w.files {
		limit, kept := left, keep == nil || keep(f.path)
		left -= f.entry.size
		if dir := path.Dir(f.path); kept && !made[dir] {
			if err := root.MkdirAll(dir, 0o755); err != nil {
				return errors.Join(fmt.Errorf("unpack %s: %w", w.Name.Filename, err), g.Wait())
			}
			made[dir] = true
		}
		g.Go(func() error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case kept:
				return w.write(root, f, limit)
			}
			return w.verify(io.Discard, f.entry, limit)
		})
	}
	return g.Wait()
}

// write unpacks one file below root.
func (w *Wheel) write(root *os.Root, f file, limit int64) error {
	out, err := root.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", w.Name.Filename, err)
	}
	err = w.verify(out, f.entry, limit)
	if cerr := out.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("unpack %s: %w", w.Name.Filename, cerr)
	}
	return err
}

// verify inflates an entry into out and compares it with RECORD.
func (w *Wheel) verify(out io.Writer, e *entry, limit int64) error {
	var sum hash.Hash
	record := w.record[e.name]
	switch record.algorithm {
	case "sha256":
		sum = sha256.New()
	case "sha384":
		sum = sha512.New384()
	case "sha512":
		sum = sha512.New()
	}
	target := out
	if sum != nil {
		target = io.MultiWriter(sum, out)
	}
	err := w.archive.inflate(target, e, limit)
	if failed, ok := errors.AsType[writeError](err); ok {
		return fmt.Errorf("unpack %s: %w", w.Name.Filename, failed.error)
	}
	if err != nil {
		return &RefusedError{File: w.Name.Filename, Reason: err.Error()}
	}
	if sum != nil && hex.EncodeToString(sum.Sum(nil)) != record.sum {
		return &RefusedError{
			File:   w.Name.Filename,
			Reason: fmt.Sprintf("its file %q has another hash than RECORD says", e.name),
		}
	}
	return nil
}
