package resolver

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
)

// HashFiles returns a digest of the names and contents of embedded files.
func HashFiles(files fs.FS) string {
	h := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, name)
		fmt.Fprintf(h, "%s %d %s", name, len(b), b)
		return err
	})
	if err != nil {
		panic(err) // they are embedded
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
