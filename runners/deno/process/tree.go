package process

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll is os.RemoveAll for trees with directories that may not be written
// or read.
func RemoveAll(root string) error {
	err := os.RemoveAll(root)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) // before it is read; RemoveAll tells if that was not enough
		}
		return nil
	})
	return os.RemoveAll(root)
}
