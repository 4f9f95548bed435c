package cache

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// filled is a cache with one entry of each section, and their names.
func filled(t *testing.T) (*Cache, map[string]string) {
	t.Helper()
	ctx := context.Background()
	c := open(t, t.TempDir())
	blob, _, err := keep(c, payload)
	check(t, err)
	tree, err := c.Dir(ctx, "wheel", "Six/1.0", func(_ context.Context, dir string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "a"), []byte("aaa"), 0o600), os.WriteFile(filepath.Join(dir, "b"), []byte("bb"), 0o600))
	})
	check(t, err)
	file, err := c.File(ctx, "wasm", "main", writeText("contents"))
	check(t, err)
	tool := c.Path("deno", "npm", "x")
	check(t, os.MkdirAll(filepath.Dir(tool), 0o700))
	check(t, os.WriteFile(tool, []byte("tool"), 0o600))
	return c, map[string]string{Blobs: blob, Trees: filepath.Join(tree, "a"), Files: file, Tools: tool}
}

func names(entries []Entry) string {
	var list []string
	for _, e := range entries {
		list = append(list, e.String())
	}
	return strings.Join(list, ", ")
}

func TestList(t *testing.T) {
	c, _ := filled(t)
	list, err := c.List(context.Background())
	check(t, err)
	want := "blobs sha256 " + sha256Of(payload).Hex + ", trees wheel Six/1.0, files wasm main, tools deno"
	if got := names(list); got != want {
		t.Errorf("List = %s, want %s", got, want)
	}
	for i, size := range []int64{int64(len(payload)), 5, 8, 4} {
		if list[i].Size != size || time.Since(list[i].Used) > time.Hour {
			t.Errorf("%s: %d bytes, used %v; want %d, now", list[i], list[i].Size, list[i].Used, size)
		}
	}
}

func TestVerifyFindsWhatOpenDoesNot(t *testing.T) {
	ctx := context.Background()
	for _, section := range []string{Blobs, Trees, Files} {
		c, paths := filled(t)
		if problems, err := c.Verify(ctx); err != nil || len(problems) != 0 {
			t.Fatalf("Verify of a good cache: %v, %v", problems, err)
		}
		path := paths[section]
		data, err := os.ReadFile(path)
		check(t, err)
		data[0] ^= 0x20
		check(t, os.Chmod(path, 0o600))
		check(t, os.WriteFile(path, data, 0o600))
		problems, err := c.Verify(ctx)
		check(t, err)
		if len(problems) != 1 || problems[0].Entry.Section != section {
			t.Fatalf("Verify with a damaged %s: %v", path, problems)
		}
		check(t, c.Remove(ctx, problems[0].Entry))
		if problems, err := c.Verify(ctx); err != nil || len(problems) != 0 {
			t.Errorf("Verify without %s: %v, %v", path, problems, err)
		}
		wantNoTemps(t, c)
	}
}

func TestVerifyFindsStrangers(t *testing.T) {
	c, paths := filled(t)
	check(t, os.WriteFile(filepath.Join(filepath.Dir(paths[Trees]), "sitecustomize.py"), nil, 0o600))
	problems, err := c.Verify(context.Background())
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Err.Error(), "sitecustomize.py does not belong") {
		t.Errorf("Verify = %v, %v", problems, err)
	}
}

// TestPruneOldRuntimes wants the runtimes of older versions to go at once, unless a process
// uses them, and packages to stay.
func TestPruneOldRuntimes(t *testing.T) {
	root := t.TempDir()
	install(t, root, 0, "runtime/py@1", "runtime/py@2", "runtime/py@3", "runtime/js@1", "k/a")
	for key, old := range map[string]time.Duration{"runtime/py@1": 50 * time.Hour, "runtime/py@2": 30 * time.Hour, "runtime/js@1": 50 * time.Hour, "k/a": 50 * time.Hour} {
		age(t, root, key, old)
	}
	user := open(t, root) // of an older version
	_, err := user.File(t.Context(), "runtime", "py@2", unused[io.Writer](t))
	check(t, err)
	age(t, root, "runtime/py@2", 30*time.Hour)
	c := open(t, root)
	_, err = c.Prune(t.Context(), 30*24*time.Hour, "runtime")
	check(t, err)
	wantKeys(t, root, "runtime/py@2", "runtime/py@3", "runtime/js@1", "k/a")
	_, err = c.Prune(t.Context(), 30*24*time.Hour)
	check(t, err)
	wantKeys(t, root, "runtime/py@2", "runtime/py@3", "runtime/js@1", "k/a")
}

func TestPruneKeepsWhatIsUsed(t *testing.T) {
	ctx := context.Background()
	c, paths := filled(t)
	old := time.Now().Add(-50 * 24 * time.Hour)
	list, err := c.List(ctx)
	check(t, err)
	for _, e := range list {
		check(t, os.Chtimes(e.Path, old, old))
	}
	// Another process uses one of them.
	user := open(t, c.Root())
	_, err = user.File(ctx, "wasm", "main", unused[io.Writer](t))
	check(t, err)
	removed, err := c.Prune(ctx, 30*24*time.Hour)
	check(t, err)
	if got, want := names(removed), "blobs sha256 "+sha256Of(payload).Hex+", trees wheel Six/1.0"; got != want {
		t.Errorf("Prune removed %s, want %s", got, want)
	}
	for section, path := range paths {
		_, err := os.Stat(path)
		if kept := err == nil; kept != (section == Files || section == Tools) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestSessionsStay: sessions are no cache, wherever below its root they are.
func TestSessionsStay(t *testing.T) {
	ctx := context.Background()
	c, _ := filled(t)
	var want []string
	for _, dir := range []string{c.Path(Sessions), c.Path("mine"), filepath.Join(c.Path("outer"), "inner")} {
		file := filepath.Join(dir, "s", "blob")
		check(t, os.MkdirAll(filepath.Dir(file), 0o700))
		check(t, os.WriteFile(file, []byte("kept"), 0o600))
		want = append(want, file)
	}
	_, err := c.Prune(ctx, -time.Hour)
	check(t, err)
	removed, err := c.Clear(ctx, filepath.Dir(filepath.Dir(want[1])), filepath.Dir(filepath.Dir(want[2])))
	check(t, err)
	for _, file := range want {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("after %s: %v", names(removed), err)
		}
	}
}

// What was open before Clear stays readable, and what is asked for after it
// is made again.
func TestClear(t *testing.T) {
	ctx := context.Background()
	c, paths := filled(t)
	f, err := os.Open(paths[Files])
	check(t, err)
	defer f.Close()
	removed, err := c.Clear(ctx)
	if err != nil || len(removed) != 4 {
		t.Errorf("Clear = %s, %v", names(removed), err)
	}
	wantNothing(t, c)
	if got, err := io.ReadAll(f); string(got) != "contents" || err != nil {
		t.Errorf("the open file: %q, %v", got, err)
	}
	path, err := c.File(ctx, "wasm", "main", writeText("again"))
	check(t, err)
	if got, err := os.ReadFile(path); string(got) != "again" || err != nil {
		t.Errorf("after Clear: %q, %v", got, err)
	}
}

func TestRemoveStaysInside(t *testing.T) {
	c := open(t, t.TempDir())
	precious := filepath.Join(t.TempDir(), "precious")
	check(t, os.WriteFile(precious, nil, 0o600))
	for _, path := range []string{precious, c.Root(), filepath.Dir(c.Root()), "", c.Root() + "/../x"} {
		if err := c.Remove(context.Background(), Entry{Section: Tools, Path: path}); err == nil {
			t.Errorf("Remove(%q) succeeded", path)
		}
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestUsers(t *testing.T) {
	root := t.TempDir()
	c := open(t, root)
	want := func(n int) {
		t.Helper()
		users := c.Users()
		if len(users) != n || n == 1 && users[0] != os.Getpid() {
			t.Errorf("Users = %v, want %d", users, n)
		}
	}
	want(0)
	other, err := Open(root)
	check(t, err)
	want(1)
	check(t, other.Close())
	// What a killed process has left is nobody's.
	gone := filepath.Join(root, processes, "12345-1")
	check(t, os.Mkdir(gone, 0o700))
	check(t, os.WriteFile(filepath.Join(gone, "lock"), nil, 0o600))
	want(0)
}
