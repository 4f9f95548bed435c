package wheel

import (
	"context"
	"io"
)

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
