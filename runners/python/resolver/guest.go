package resolver

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
)

// guest has the Python half: the package resolver.
//
//go:embed all:guest
var guest embed.FS

const resolverScript = "import resolver\nresolver.answer()\n"

// resolverTree is the directory to be mounted in site-packages.
var resolverTree = func() fs.FS {
	sub, err := fs.Sub(guest, "guest")
	if err != nil {
		panic(err) // it is embedded
	}
	return sub
}()

// resolverDigest changes whenever the script does.
var resolverDigest = HashFiles(resolverTree)

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
