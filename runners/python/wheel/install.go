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
)

// InstallTo writes the wheel's files below dir, which must exist and should be
// empty, and checks each against RECORD. Files for which keep returns false are
// checked and not written; a nil keep keeps all. After an error the directory
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
	for _, f := range w.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		var n int64
		if keep != nil && !keep(f.path) {
			n, err = w.verify(io.Discard, f.entry, left)
		} else {
			n, err = w.write(root, made, f, left)
		}
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// write unpacks one file below root.
func (w *Wheel) write(root *os.Root, made map[string]bool, f file, limit int64) (int64, error) {
	if dir := path.Dir(f.path); !made[dir] {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return 0, fmt.Errorf("unpack %s: %w", w.Name.Filename, err)
		}
		made[dir] = true
	}
	out, err := root.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, fmt.Errorf("unpack %s: %w", w.Name.Filename, err)
	}
	n, err := w.verify(out, f.entry, limit)
	if cerr := out.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("unpack %s: %w", w.Name.Filename, cerr)
	}
	return n, err
}

// verify inflates an entry into out and compares it with RECORD.
func (w *Wheel) verify(out io.Writer, e *entry, limit int64) (int64, error) {
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
		return 0, fmt.Errorf("unpack %s: %w", w.Name.Filename, failed.error)
	}
	if err != nil {
		return 0, &RefusedError{File: w.Name.Filename, Reason: err.Error()}
	}
	if sum != nil && hex.EncodeToString(sum.Sum(nil)) != record.sum {
		return 0, &RefusedError{
			File:   w.Name.Filename,
			Reason: fmt.Sprintf("its file %q has another hash than RECORD says", e.name),
		}
	}
	return e.size, nil
}
