//go:build !linux

package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// countDisk counts the files in a directory. Unnamed files and the real size of
// sparse files are not known here.
func countDisk(p *Process, dir string) (diskUse, error) {
	u := diskUse{seen: map[[2]uint64]bool{}}
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				return u.add(0, 0, 1, info.Size())
			}
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil // removed meanwhile
		}
		return err
	})
	return u, err
}
