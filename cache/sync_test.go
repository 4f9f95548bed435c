package cache

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// What is built is there while the disk has not taken it, Close waits for the disk, and what
// the disk refuses is removed.
func TestSync(t *testing.T) {
	root := t.TempDir()
	c, err := Open(root)
	check(t, err)
	ready := make(chan struct{})
	var refused []string
	c.syncer.flush = func(paths []string) error {
		<-ready
		if refused = paths; len(paths) > 1 {
			return NewStorageError("sync", paths[1], syscall.EIO)
		}
		return flush(paths)
	}
	ctx := context.Background()
	first, err := c.File(ctx, "kind", "first", writeText(string(payload)))
	check(t, err)
	dir, err := c.Dir(ctx, "kind", "second", func(_ context.Context, dir string) error {
		return os.WriteFile(filepath.Join(dir, "a"), payload, 0o600)
	})
	check(t, err)
	blob, _, err := keep(c, payload)
	check(t, err)
	for _, path := range []string{first, filepath.Join(dir, "a"), blob} {
		if got, err := os.ReadFile(path); !bytes.Equal(got, payload) {
			t.Errorf("%s before it is synced: %d bytes, %v", path, len(got), err)
		}
	}
	close(ready)
	if err := c.Close(); err == nil {
		t.Error("Close does not report that the disk has refused entries")
	}
	if want := []string{filepath.Dir(dir), blob}; !slices.Equal(refused, want) {
		t.Errorf("%v were synced together, want %v", refused, want)
	}
	again := open(t, root)
	if list, err := again.List(ctx); err != nil || len(list) != 1 || list[0].Key != "first" {
		t.Errorf("after Close the cache has %v, %v, want the first entry", list, err)
	}
}
