package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() {
	children["full"] = childFull
	children["readonly"] = childReadOnly
	children["biglimit"] = childFileSize
}

// inNamespace runs a role in a mount namespace of its own, where it may mount
// a small file system without anybody else seeing it.
func inNamespace(t *testing.T, role, arg string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CACHE_TEST_CHILD="+role, "CACHE_TEST_ROOT="+t.TempDir(), "CACHE_TEST_ARG="+arg)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EINVAL), strings.HasPrefix(string(out), "skip: "):
		t.Skipf("this system lets us have no mount namespace: %v %s", err, out)
	case errors.As(err, &exit), err != nil:
		t.Errorf("%v\n%s", err, out)
	}
}

// mountTmpfs puts a file system of so many bytes at dir.
func mountTmpfs(dir string, size int) bool {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Println("skip:", err)
		return false
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		fmt.Println("skip:", err)
		return false
	}
	return true
}

func TestDiskFull(t *testing.T) {
	inNamespace(t, "full", "")
}

// childFull tries everything on a disk of one megabyte that needs two.
func childFull(root, _ string) error {
	if !mountTmpfs(root, 1<<20) {
		return nil
	}
	c, err := Open(root)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx := context.Background()
	large := bytes.Repeat(payload, 32)
	attempts := map[string]func() error{
		"File": func() error {
			_, err := c.File(ctx, "kind", "large", writeText(string(large)))
			return err
		},
		"Dir": func() error {
			_, err := c.Dir(ctx, "kind", "large", func(_ context.Context, dir string) error {
				return os.WriteFile(filepath.Join(dir, "large"), large, 0o600)
			})
			return err
		},
		"Blob": func() error {
			_, _, err := keep(c, large)
			return err
		},
	}
	for name, attempt := range attempts {
		err := attempt()
		switch {
		case !errors.Is(err, syscall.ENOSPC):
			return fmt.Errorf("%s on a full disk: %w", name, err)
		case strings.Count(err.Error(), "hint: the disk is full") != 1:
			return fmt.Errorf("%s on a full disk gives no hint: %w", name, err)
		}
		if list, err := c.List(ctx); err != nil || len(list) > 0 {
			return fmt.Errorf("%s on a full disk leaves %v, %w", name, list, err)
		}
		if left := unfinished(c); len(left) > 0 {
			return fmt.Errorf("%s on a full disk leaves %v", name, left)
		}
	}
	// The space is free again, and what fits works.
	path, err := c.File(ctx, "kind", "small", writeText(string(payload)))
	if err != nil {
		return err
	}
	if got, err := os.ReadFile(path); !bytes.Equal(got, payload) {
		return fmt.Errorf("a small file: %d bytes, %w", len(got), err)
	}
	return nil
}

func TestReadOnlyDisk(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	inNamespace(t, "readonly", "")
}

// childReadOnly opens a cache on a file system that cannot be written, with
// and without something in it.
func childReadOnly(root, _ string) error {
	if !mountTmpfs(root, 1<<20) {
		return nil
	}
	c, err := Open(root)
	if err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	if err := syscall.Mount("", root, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		fmt.Println("skip:", err)
		return nil
	}
	c, err = Open(root)
	if err != nil {
		return err
	}
	if w := c.Warning(); !strings.Contains(w, "read-only file system; hint: set CODE_RUNNER_CACHE_DIR") || !strings.Contains(w, root) {
		return fmt.Errorf("the warning is %q", w)
	}
	if _, err := c.File(context.Background(), "kind", "key", writeText("x")); err != nil {
		return err
	}
	return c.Close()
}

// A limit on the size of files strikes like a full disk, in any process.
func TestFileSizeLimit(t *testing.T) {
	p := startChild(t, "biglimit", t.TempDir(), "")
	p.expect(t, "ok")
}

func childFileSize(root, _ string) error {
	c, err := Open(root)
	if err != nil {
		return err
	}
	defer c.Close()
	limit := syscall.Rlimit{Cur: 10_000, Max: 10_000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	_, err = c.File(context.Background(), "kind", "key", func(_ context.Context, w io.Writer) error {
		_, err := w.Write(payload)
		return err
	})
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "hint:") {
		return fmt.Errorf("past the limit: %w", err)
	}
	if list, err := c.List(context.Background()); err != nil || len(list) > 0 {
		return fmt.Errorf("past the limit %v is left, %w", list, err)
	}
	fmt.Println("ok")
	return nil
}
