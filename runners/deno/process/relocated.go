package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/prelink"

	"go.uber.org/zap"
)

// relocated returns the path of a Deno that starts faster than the one of a package: see
// package prelink. It is made once for each cache, which does not keep the package.
func (t *Tool) relocated(ctx context.Context, p fetch.NPMPackage, progress fetch.ProgressFunc) (string, error) {
	key, err := p.Key()
	if err != nil {
		return "", err
	}
	dir, err := t.Config.Cache.Dir(ctx, "deno-binary", key, func(ctx context.Context, dir string) error {
		unpacked, remove, err := t.Fetch.UnpackNPM(ctx, p, progress)
		if err != nil {
			return err
		}
		defer remove()
		return relocate(filepath.Join(dir, "deno"), filepath.Join(unpacked, "deno"), func(why error) {
			t.Log.Info("Deno is started as it is", zap.Error(why))
		})
	})
	return filepath.Join(dir, "deno"), err
}

// readOnly returns where a relocated Deno has what it only reads, nil for another one. What the
// kernel has no more in memory, after a boot or since nobody used it for a while, it would read in
// single pages, and each later start would map them one by one: 17 ms of processor time instead
// of 15.
func (t *Tool) readOnly(name string) [][2]uintptr {
	known, ok := t.ranges.Load(name)
	if !ok {
		known, _ = t.ranges.LoadOrStore(name, prelink.ReadOnly(name))
	}
	return known.([][2]uintptr)
}

// relocate makes a relocated copy and starts it for a trial. If that cannot be, it reports why
// and copies the original.
func relocate(copied, original string, refused func(why error)) error {
	from, err := os.Open(original)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(copied, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	err = prelink.Copy(to, from, prelink.Base())
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err == nil {
		if _, _, why := CheckBinary(copied); why != nil {
			err = fmt.Errorf("%w: %w", prelink.ErrUnsupported, why)
		}
	}
	if !errors.Is(err, prelink.ErrUnsupported) {
		return err
	}
	refused(err)
	if err := os.Remove(copied); err != nil {
		return err
	}
	if err := cache.CopyFile(original, copied); err != nil {
		return err
	}
	return os.Chmod(copied, 0o700)
}
