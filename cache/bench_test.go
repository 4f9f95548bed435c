package cache

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// What a start pays for checking: a snapshot of 40 MB, and a tree of a
// thousand files.
func BenchmarkFirstUse(b *testing.B) {
	ctx := context.Background()
	root := b.TempDir()
	use := func(what string) {
		c, err := Open(root)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		if what == "file" {
			_, err = c.File(ctx, "kind", "key", func(_ context.Context, w io.Writer) error {
				_, err := w.Write(make([]byte, 40<<20))
				return err
			})
		} else {
			_, err = c.Dir(ctx, "kind", "key", func(_ context.Context, dir string) error {
				for i := range 1000 {
					if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("x"), 0o600); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, what := range []string{"file", "tree"} {
		use(what)
		b.Run(what, func(b *testing.B) {
			for b.Loop() {
				use(what)
			}
		})
	}
}
