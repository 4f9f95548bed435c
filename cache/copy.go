package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// CopyFrom copies what the cache at another root has, such as that of a container's
// image, and which nobody uses meanwhile. A section or tool's directory that is here
// already is left as it is. What was damaged on the way is found like any other damage.
func (c *Cache) CopyFrom(ctx context.Context, root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return NewStorageError("read", root, err)
	}
	tmp, err := c.TempDir("copy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, e := range entries {
		to, part := filepath.Join(c.root, e.Name()), filepath.Join(tmp, e.Name())
		if _, err := os.Lstat(to); err == nil || !e.IsDir() || slices.Contains([]string{lockDir, processes, oldProcesses}, e.Name()) {
			continue
		}
		if err := ContextErr(ctx); err != nil {
			return err
		}
		if err := os.CopyFS(part, os.DirFS(filepath.Join(root, e.Name()))); err != nil {
			return NewStorageError("copy", filepath.Join(root, e.Name()), err)
		}
		// Where another process made it meanwhile, that is as good.
		if err := os.Rename(part, to); err != nil && !errors.Is(err, fs.ErrExist) {
			return NewStorageError("rename", part, err)
		}
	}
	return nil
}
