package cache

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// CopyFrom copies the entries that this cache has not from that at another root, such as
// that of a bundle, which nobody writes meanwhile. It writes nothing there. A tool's
// directory that is here already is left as it is, and then so are the records of what is
// in it. Sessions are not copied. What was damaged on the way is found like any other
// damage.
func (c *Cache) CopyFrom(ctx context.Context, root string) error {
	if _, err := os.ReadDir(root); err != nil {
		return NewStorageError("read", root, err)
	}
	tmp, err := c.TempDir("copy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	tools, bytes := 0, int64(0)
	for _, s := range []struct {
		section, dir string
		depth        int
	}{{Blobs, Blobs, 3}, {Trees, Trees, 2}, {Files, Files, 2}, {Tools, ".", 1}, {Records, Records, 2}} {
		if s.section == Records && tools == 0 {
			continue // they are about a tool's directory that was not copied
		}
		err := eachPath(filepath.Join(root, s.dir), s.depth, func(path string, names []string) error {
			if s.section == Tools && (slices.Contains(sections, names[0]) || names[0] == Sessions) {
				return nil
			}
			info, err := os.Lstat(path)
			if err != nil || info.IsDir() == (s.section == Blobs) {
				return err
			}
			to := filepath.Join(c.root, s.dir, filepath.Join(names...))
			copied, err := copyEntry(ctx, path, to, filepath.Join(tmp, "entry"))
			if copied {
				bytes += DiskUse(ctx, to)
			}
			if copied && s.section == Tools {
				tools++
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if bytes > 0 {
		c.evictor.grow(bytes)
	}
	return nil
}

// copyEntry copies a file or directory to where there is none, by way of part.
func copyEntry(ctx context.Context, from, to, part string) (copied bool, err error) {
	if _, err := os.Lstat(to); err == nil {
		return false, nil
	}
	if err := ContextErr(ctx); err != nil {
		return false, err
	}
	info, err := os.Stat(from)
	if err == nil && info.IsDir() {
		err = os.CopyFS(part, os.DirFS(from))
	} else if err == nil {
		err = CopyFile(from, part)
	}
	if err != nil {
		return false, NewStorageError("copy", from, err)
	}
	// Where another process made it meanwhile, that is as good.
	if err = os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
		err = os.Rename(part, to)
	}
	if errors.Is(err, fs.ErrExist) || err != nil && isDir(to) {
		return false, os.RemoveAll(part)
	}
	if err != nil {
		return false, NewStorageError("rename", part, err)
	}
	return true, nil
}

// Files from mapped on may be programs or machine code, and are written in parts of largePart,
// which takes longer: see "Why are programs and machine code written in parts of 2 MiB?".
const (
	mapped    = 8 << 20
	largePart = 2 << 20
)

// CopyFile copies a file to a new one, which only its owner may read.
func CopyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeFile(to, func(f *os.File) error {
		info, err := in.Stat()
		switch {
		case err != nil:
		case info.Size() < mapped:
			_, err = f.ReadFrom(in)
		default:
			_, err = io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{in}, make([]byte, largePart))
		}
		return err
	})
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
