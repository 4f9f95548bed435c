package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() { children["files"] = childFiles }

// With too few descriptors everything fails with a hint or works, at whatever
// point they run out; afterwards all is as if nothing had been.
func TestTooManyOpenFiles(t *testing.T) {
	p := startChild(t, "files", t.TempDir(), "")
	p.expect(t, "ok")
}

func childFiles(root, _ string) error {
	ctx := context.Background()
	attempts := map[string]func(c *Cache, key string) error{
		"File": func(c *Cache, key string) error {
			_, err := c.File(ctx, "kind", key, writeText(string(payload)))
			return err
		},
		"Dir": func(c *Cache, key string) error {
			_, err := c.Dir(ctx, "kind", key, func(_ context.Context, dir string) error {
				return os.WriteFile(filepath.Join(dir, "a"), payload, 0o600)
			})
			return err
		},
		"Blob": func(c *Cache, _ string) error {
			_, _, err := keep(c, payload)
			return err
		},
		"Clear": func(c *Cache, _ string) error {
			_, err := c.Clear(ctx)
			return err
		},
	}
	failed := 0
	for room := range 8 {
		for name, attempt := range attempts {
			c, err := Open(root)
			if err != nil {
				return err
			}
			key := fmt.Sprint(name, room)
			err = with(room, func() error { return attempt(c, key) })
			if err != nil {
				failed++
				if !errors.Is(err, syscall.EMFILE) || !strings.Contains(err.Error(), "too many") {
					return fmt.Errorf("%s with %d descriptors: %w", name, room, err)
				}
			}
			if err := attempt(c, key); err != nil {
				return fmt.Errorf("%s after there were only %d descriptors: %w", name, room, err)
			}
			if left := unfinished(c); len(left) > 0 && err == nil {
				return fmt.Errorf("%s with %d descriptors leaves %v", name, room, left)
			}
			if problems, err := c.Verify(ctx); err != nil || len(problems) > 0 {
				return fmt.Errorf("%s with %d descriptors: Verify: %v, %w", name, room, problems, err)
			}
			if err := c.Close(); err != nil {
				return err
			}
		}
	}
	if failed < 8 {
		return fmt.Errorf("only %d attempts failed", failed)
	}
	fmt.Println("ok")
	return nil
}

// with calls f with room for so many more descriptors.
func with(room int, f func() error) error {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		return err
	}
	lowest, err := syscall.Dup(0) // the first number that is free
	if err != nil {
		return err
	}
	_ = syscall.Close(lowest)
	now := was
	now.Cur = uint64(lowest + room)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		return err
	}
	err = f()
	return errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was))
}

// A read of a damaged disk in the middle of an entry makes the entry damaged,
// not the program.
func TestUnreadableEntry(t *testing.T) {
	ctx := context.Background()
	c := open(t, t.TempDir())
	path, err := c.File(ctx, "kind", "key", writeText(string(payload)))
	check(t, err)
	// A directory in its place is what cannot be read even by root.
	check(t, os.Remove(path))
	check(t, os.Mkdir(path, 0o700))
	if again, err := open(t, c.Root()).File(ctx, "kind", "key", func(_ context.Context, w io.Writer) error {
		_, err := w.Write(payload)
		return err
	}); err != nil || again != path {
		t.Errorf("File: %s, %v", again, err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, payload) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
