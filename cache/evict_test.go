package cache

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func init() {
	children["use"] = childUse
	children["crowd"] = childCrowd
}

// kib is the size of an entry in these tests.
const kib = 1 << 10

// writeKiB writes an entry of one KiB.
func writeKiB(_ context.Context, w io.Writer) error {
	_, err := w.Write(bytes.Repeat([]byte{1}, kib))
	return err
}

// install uses an entry in a cache of its own with a limit, which is kept when it
// returns.
func install(t *testing.T, root string, limit int64, keys ...string) {
	t.Helper()
	c, err := Open(root)
	check(t, err)
	c.Limit(limit, "runtime")
	for _, key := range keys {
		kind, key, _ := strings.Cut(key, "/")
		ctx, release := c.Hold(context.Background())
		_, err := c.File(ctx, kind, key, writeKiB)
		check(t, err)
		release()
	}
	check(t, c.Close())
}

// age makes an entry's last use so long ago.
func age(t *testing.T, root, key string, d time.Duration) {
	t.Helper()
	then := time.Now().Add(-d)
	check(t, os.Chtimes(filepath.Join(root, Files, filepath.FromSlash(key)), then, then))
}

func wantKeys(t *testing.T, root string, want ...string) {
	t.Helper()
	c := open(t, root)
	list, err := c.List(context.Background())
	check(t, err)
	var got []string
	for _, e := range list {
		got = append(got, e.Kind+"/"+e.Key)
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the cache has %q, want %q", got, want)
	}
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	root := t.TempDir()
	install(t, root, 0, "k/a", "k/b", "k/c")
	for i, key := range []string{"k/a", "k/b", "k/c"} {
		age(t, root, key, time.Duration(10-i)*time.Hour)
	}
	install(t, root, 4*kib, "k/a", "k/d") // a is used, and four fit
	wantKeys(t, root, "k/a", "k/b", "k/c", "k/d")
	install(t, root, 4*kib, "k/e")
	wantKeys(t, root, "k/a", "k/d", "k/e")
	install(t, root, 1*kib) // a lower limit holds at once
	wantKeys(t, root)
	if text, err := os.ReadFile(filepath.Join(root, sizeName)); string(text) != "0\n" || err != nil {
		t.Errorf("the size is %q, %v", text, err)
	}
}

// TestSizeIsKept: a process that installs nothing looks at no entry, and one that
// does adds to the size.
func TestSizeIsKept(t *testing.T) {
	root := t.TempDir()
	install(t, root, 100*kib, "k/a")
	check(t, os.WriteFile(filepath.Join(root, sizeName), []byte("5"), 0o600)) // wrong
	install(t, root, 100*kib, "k/a")
	install(t, root, 100*kib, "k/b")
	text, err := os.ReadFile(filepath.Join(root, sizeName))
	if want := strconv.Itoa(5+kib) + "\n"; err != nil || string(text) != want {
		t.Errorf("the size is %q, %v; want %q", text, err, want)
	}
}

// TestRuntimesInForceStay, those of an older version do not.
func TestRuntimesInForceStay(t *testing.T) {
	root := t.TempDir()
	keys := []string{"runtime/py@1", "runtime/py@2", "runtime/js@1", "k/a"}
	install(t, root, 0, keys...)
	for _, key := range keys {
		age(t, root, key, 100*24*time.Hour)
	}
	age(t, root, "runtime/py@1", 102*24*time.Hour)
	install(t, root, 1)
	wantKeys(t, root, "runtime/py@2", "runtime/js@1")
}

// TestSessionsDoNotCount: sessions, which have a limit of their own, throw no package
// away; and what has several names among them is counted once.
func TestSessionsDoNotCount(t *testing.T) {
	root, ctx := t.TempDir(), context.Background()
	c, err := Open(root)
	check(t, err)
	dir := c.Path(Sessions)
	check(t, os.MkdirAll(filepath.Join(dir, "a"), 0o700))
	check(t, os.MkdirAll(filepath.Join(dir, "b"), 0o700))
	blob := filepath.Join(dir, "a", "blob")
	check(t, os.WriteFile(blob, make([]byte, 100*kib), 0o600))
	check(t, os.Link(blob, filepath.Join(dir, "b", "blob")))
	check(t, os.WriteFile(filepath.Join(dir, "b", "other"), make([]byte, kib), 0o600))
	check(t, c.Close())
	install(t, root, 4*kib, "k/a", "k/b", "k/c")
	wantKeys(t, root, "k/a", "k/b", "k/c", "/"+Sessions)
	if text, err := os.ReadFile(filepath.Join(root, sizeName)); string(text) != fmt.Sprintln(3*kib) || err != nil {
		t.Errorf("the size is %q, %v", text, err)
	}
	install(t, root, 1) // everything goes that can
	wantKeys(t, root, "/"+Sessions)
	if _, err := os.Stat(blob); err != nil {
		t.Error(err)
	}
	want := int64(201 * kib)
	if info, err := os.Stat(blob); err != nil {
		t.Error(err)
	} else if _, told := linkedFile(info); told {
		want = 101 * kib
	}
	if got := DiskUse(ctx, dir); got != want {
		t.Errorf("DiskUse = %d, want %d", got, want)
	}
}

// childUse uses an entry until its input ends.
func childUse(root, key string) error {
	c, err := Open(root)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, release := c.Hold(context.Background())
	defer release()
	if _, err := c.File(ctx, "k", key, writeKiB); err != nil {
		return err
	}
	fmt.Println("used")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// TestEntriesInUseStay: what this and other processes use, or are building, stays.
func TestEntriesInUseStay(t *testing.T) {
	root := t.TempDir()
	install(t, root, 0, "k/a", "k/own")
	building := startChild(t, "half", root, "dir")
	building.expect(t, "half")
	user := startChild(t, "use", root, "a")
	user.expect(t, "used")
	age(t, root, "k/a", time.Hour)

	c, err := Open(root)
	check(t, err)
	ctx, release := c.Hold(context.Background())
	own, err := c.File(ctx, "k", "own", unused[io.Writer](t))
	check(t, err)
	age(t, root, "k/own", 50*time.Hour)
	c.Limit(1)
	c.evictor.work.Wait()
	for _, path := range []string{own, filepath.Join(root, Files, "k", "a", dataName)} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("in use: %v", err)
		}
	}
	release()
	check(t, c.Close())
	if left, _ := filepath.Glob(filepath.Join(root, processes, fmt.Sprint(building.cmd.Process.Pid)+"-*", "kind-*", "new", "data", "a")); len(left) != 1 {
		t.Error("what another process builds is gone")
	}
	install(t, root, 1)
	wantKeys(t, root, "k/a")
	user.kill(t)
	install(t, root, 1)
	wantKeys(t, root)
}

// TestToolsAreEvictedByTheirRecords: a directory goes with the last record that has
// it.
func TestToolsAreEvictedByTheirRecords(t *testing.T) {
	root, ctx := t.TempDir(), context.Background()
	c, err := Open(root)
	check(t, err)
	var dirs []string
	for _, name := range []string{"zod", "lodash", "dayjs"} {
		dir := c.Path("deno", "npm", name)
		check(t, os.MkdirAll(dir, 0o700))
		check(t, os.WriteFile(filepath.Join(dir, "index.js"), make([]byte, 10*kib), 0o600))
		dirs = append(dirs, dir)
	}
	for key, dirs := range map[string][]string{"old": dirs[:2], "new": dirs[1:]} {
		_, err = c.Changed(ctx, "deno-npm", key, dirs)
		check(t, err)
	}
	check(t, c.Close())
	old := time.Now().Add(-time.Hour)
	check(t, os.Chtimes(filepath.Join(root, Records, "deno-npm", "old"), old, old))
	install(t, root, 28*kib)
	for i, want := range []bool{false, true, true} {
		if _, err := os.Stat(dirs[i]); (err == nil) != want {
			t.Errorf("%s: %v", dirs[i], err)
		}
	}
}

// TestRecordsWaitForEviction: no record is added between the reading of all and the
// moves, so that what is moved away by another record counts as changed.
func TestRecordsWaitForEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		c, err := Open(root)
		check(t, err)
		dir := c.Path("deno", "npm", "zod")
		check(t, os.MkdirAll(dir, 0o700))
		check(t, os.WriteFile(filepath.Join(dir, "index.js"), []byte("1"), 0o600))
		_, err = c.Changed(t.Context(), "deno-npm", "old", []string{dir})
		check(t, err)
		c.Find(t.Context(), Records, "deno-npm", "new") // is listed as used, before
		evicted, err := c.locks.take(t.Context(), evictLock)
		check(t, err)
		only := recordedDirs(root).drop(filepath.Join(root, Records, "deno-npm", "old"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Changed(ctx, "deno-npm", "new", []string{dir}); ctx.Err() == nil {
			t.Errorf("a record was written beside an eviction: %v", err)
		}
		for _, dir := range only {
			check(t, os.RemoveAll(filepath.Join(root, dir)))
		}
		evicted()
		if changed, err := c.Changed(t.Context(), "deno-npm", "new", []string{dir}); err != nil || len(changed) != 1 {
			t.Errorf("changed %q, %v, want what was evicted", changed, err)
		}
		check(t, c.Close())
	})
}

// childCrowd uses entries in a cache that is always too small.
func childCrowd(root, seed string) error {
	c, err := Open(root)
	if err != nil {
		return err
	}
	c.Limit(8 * kib)
	n, _ := strconv.ParseUint(seed, 10, 64)
	random := rand.New(rand.NewPCG(n, n))
	for range 150 {
		ctx, release := c.Hold(context.Background())
		var paths []string
		for range 3 {
			path, err := c.File(ctx, "k", strconv.Itoa(random.IntN(30)), writeKiB)
			if err != nil {
				return err
			}
			paths = append(paths, path)
		}
		for _, path := range paths {
			if b, err := os.ReadFile(path); err != nil || len(b) != kib {
				return fmt.Errorf("in use: %d bytes, %w", len(b), err)
			}
		}
		release()
	}
	return c.Close()
}

func TestCrowd(t *testing.T) {
	root := t.TempDir()
	var crowd []*child
	for seed := range 4 {
		crowd = append(crowd, startChild(t, "crowd", root, strconv.Itoa(seed)))
	}
	for _, c := range crowd {
		for c.lines.Scan() {
			t.Error(c.lines.Text())
		}
		check(t, c.cmd.Wait())
	}
	install(t, root, 8*kib)
	c := open(t, root)
	list, err := c.List(context.Background())
	check(t, err)
	if len(list) > 8 {
		t.Errorf("%d entries are left, want 8", len(list))
	}
	if problems, err := c.Verify(context.Background()); err != nil || len(problems) > 0 {
		t.Errorf("Verify: %v, %v", problems, err)
	}
}
