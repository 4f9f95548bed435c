//go:build linux

package hostile

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"coderunner/internal/sample"
)

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// ownCache is a copy of the suite's cache for one test.
func ownCache(t *testing.T) string {
	t.Helper()
	dir := t.TempDir() + "/cache"
	if err := copyTree(suiteCache, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// emptied is a copy without what small packages leave, so that they are
// installed again. Their downloads stay: the hammer is not one of registries.
func emptied(t *testing.T) string {
	t.Helper()
	dir := ownCache(t)
	for _, kind := range []string{"trees/wheel", "trees/deno-graph", "trees/deno-code", "deno/npm", "python"} {
		if err := os.RemoveAll(filepath.Join(dir, kind)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var installs = []arguments{
	{Language: python, Code: "import six\nsix.__version__", Timeout: 20},
	{Language: javascript, Code: "import { z } from 'npm:zod@3'; z.string().parse('x')", Timeout: 20},
}

// TestFlippedBytes damages one file of every kind in the cache. The next
// server must notice, and repair or refuse, and never run what it found.
//
// Row 54.
func TestFlippedBytes(t *testing.T) {
	needsServer(t)
	t.Parallel()
	dir := ownCache(t)
	seed := start(t, settings{cache: dir})
	for _, a := range installs {
		if o, text, err := seed.run(a); err != nil || o.Status != "succeeded" {
			t.Fatalf("%v %s", err, text)
		}
	}
	// What is made for later programs comes after the first.
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if made, _ := filepath.Glob(filepath.Join(dir, "trees", "deno-code", "*", "manifest")); made != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("there is no compiled code of packages")
		}
	}
	if _, err := seed.stop(); err != nil {
		t.Fatal(err)
	}
	kinds := map[string][]string{}
	for _, name := range tree(dir, nil) {
		parts := strings.Split(name, "/")
		if len(parts) < 4 || parts[0] == "deno" || parts[0] == "locks" || parts[0] == "processes" {
			continue
		}
		kind := strings.Join(parts[:2], "/")
		if strings.HasPrefix(kind, "trees/wheel") && !strings.Contains(name, "six") {
			continue
		}
		if parts[len(parts)-1] == "manifest" {
			kind += " manifest"
		}
		kinds[kind] = append(kinds[kind], name)
	}
	if len(kinds) < 5 {
		t.Fatalf("only %d kinds of files: %v", len(kinds), kinds)
	}
	ways := map[string]func(b []byte) []byte{
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 0x40; return b },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"emptied": func([]byte) []byte { return nil },
	}
	names := slices.Sorted(maps.Keys(kinds))
	order := slices.Sorted(maps.Keys(ways))
	if !sample.All { // kinds at once, each in one way; TestDamagedCache has what takes long to make again
		names = slices.DeleteFunc(names, func(kind string) bool {
			return strings.HasPrefix(kind, "files/m") || strings.HasPrefix(kind, "trees/npm") || strings.HasPrefix(kind, "trees/deno-binary")
		})
		for i, kind := range sample.Of(t, 2, names) {
			damage(t, dir, kinds[kind], ways[order[i%len(order)]], func(string, []byte) {})
		}
		survives(t, dir)
		return
	}
	for _, kind := range names {
		for _, way := range order {
			t.Run(strings.ReplaceAll(kind, "/", "-")+" "+way, func(t *testing.T) {
				damaged := map[string][]byte{}
				damage(t, dir, kinds[kind], ways[way], func(name string, was []byte) { damaged[name] = bytes.Clone(was) })
				survives(t, dir)
				for name, b := range damaged { // as it was, for the next
					if exists(filepath.Join(dir, name)) {
						replace(t, filepath.Join(dir, name), b)
					}
				}
			})
		}
	}
}

// damage changes files of a cache. Before it does so to one, it tells what is
// in it: all of them together may be more than this machine's memory.
func damage(t *testing.T, dir string, names []string, change func([]byte) []byte, tell func(name string, was []byte)) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if err != nil || len(b) == 0 {
			continue
		}
		tell(name, b)
		replace(t, path, change(b))
	}
}

// survives has a new server on a damaged cache run what it can.
func survives(t *testing.T, dir string) {
	t.Helper()
	s := start(t, settings{cache: dir, env: []string{"CODE_RUNNER_TIMEOUT=60s"}})
	for _, a := range installs {
		o, text, err := s.run(a)
		if err == nil && o.Status != "succeeded" && o.Status != "not_installed" {
			t.Errorf("%s: %s", o.Status, clip(text, 500))
		}
		if err != nil && !strings.Contains(text, "was not run") {
			t.Errorf("%v: %s", err, clip(text, 500))
		}
	}
	if _, err := s.stop(); err != nil {
		t.Error(err)
	}
}

// replace puts a new file in the place of one that may be a link to another
// cache's. Its time stays, so that only its bytes tell.
func replace(t *testing.T, path string, b []byte) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(filepath.Dir(path), 0o700)
	if err := os.WriteFile(path+".new", b, info.Mode().Perm()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path+".new", info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestSharedCache starts servers at once on one cache, and kills one.
//
// Row 57.
func TestSharedCache(t *testing.T) {
	needsServer(t)
	t.Parallel()
	dir := emptied(t)
	var wg sync.WaitGroup
	for i := range 4 {
		s := start(t, settings{cache: dir})
		if i == 3 { // this one dies with whatever it holds
			for _, a := range installs {
				if _, _, err := s.send("tools/call", callOf(a)); err != nil {
					t.Error(err)
				}
			}
			time.AfterFunc(300*time.Millisecond, func() { _ = s.cmd.Process.Kill() })
			continue
		}
		for _, a := range installs {
			wg.Go(func() {
				if o, text, err := s.run(a); err != nil || o.Status != "succeeded" {
					t.Errorf("server %d: %v %s", i, err, text)
				}
			})
		}
	}
	wg.Wait()
}

// TestCacheGoes removes the cache under a server.
//
// Row 58.
func TestCacheGoes(t *testing.T) {
	needsServer(t)
	t.Parallel()
	dir := ownCache(t)
	s := start(t, settings{cache: dir})
	for _, a := range installs {
		if o, text, err := s.run(a); err != nil || o.Status != "succeeded" {
			t.Fatalf("%v %s", err, text)
		}
	}
	for _, part := range []string{"trees/wheel", "trees/deno-graph", "trees/deno-code", "deno", "python", "processes"} {
		if err := os.RemoveAll(filepath.Join(dir, part)); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range installs {
		if o, text, err := s.run(a); err != nil || o.Status != "succeeded" {
			t.Errorf("%v %s", err, text)
		}
	}
}

// TestDisk has a cache on a full disk and on one that cannot be written, and
// directories with strange names.
//
// Rows 51, 55, 56.
func TestDisk(t *testing.T) {
	needsServer(t)
	t.Parallel()
	t.Run("strange names", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a b", "ü "+strings.Repeat("x", 150))
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := copyTree(suiteCache, dir); err != nil {
			t.Fatal(err)
		}
		s := start(t, settings{cache: dir})
		for _, a := range installs {
			if o, text, err := s.run(a); err != nil || o.Status != "succeeded" {
				t.Errorf("%v %s", err, text)
			}
		}
	})
	t.Run("read-only", func(t *testing.T) {
		dir := ownCache(t)
		seed := start(t, settings{cache: dir})
		for _, a := range installs {
			if o, text, err := seed.run(a); err != nil || o.Status != "succeeded" {
				t.Fatalf("%v %s", err, text)
			}
		}
		seed.stop()
		mount(t, dir, func() error {
			if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
				return err
			}
			return syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
		})
		s := start(t, settings{cache: dir, env: []string{"CODE_RUNNER_OFFLINE=1"}})
		for _, a := range []arguments{{Language: javascript, Code: "1"}, {Language: python, Code: "1"}} {
			// The runtimes are there but not in the private cache: it says so.
			o, text, err := s.run(a)
			if (err != nil || o.Status != "succeeded") && text == "" {
				t.Errorf("%v %+v", err, o)
			}
		}
		if !strings.Contains(s.logs(), "cache") {
			t.Errorf("no warning: %s", s.logs())
		}
	})
	t.Run("full", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "small")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		mount(t, dir, func() error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m,mode=700") })
		s := start(t, settings{cache: dir})
		for _, a := range installs {
			o, text, err := s.run(a)
			if err == nil && o.Status == "succeeded" {
				t.Errorf("it works with 3 MB")
			}
			if !strings.Contains(text, "space") && !strings.Contains(text, "full") {
				t.Errorf("it does not say that the disk is full: %v %s", err, clip(text, 400))
			}
		}
	})
	t.Run("no home", func(t *testing.T) {
		s := start(t, settings{env: []string{"HOME=", "XDG_CACHE_HOME="}})
		if err := s.probe(python); err != nil {
			t.Error(err)
		}
	})
	t.Run("offline", func(t *testing.T) {
		s := start(t, settings{cache: ownCache(t), env: []string{"CODE_RUNNER_OFFLINE=1"}})
		for _, a := range []arguments{{Language: python, Code: "import nothere_x1", Packages: []string{"nothere-x1"}}, {Language: javascript, Code: "import 'nothere-x1'"}} {
			o, text, err := s.run(a)
			if err != nil || o.Status != "not_installed" || !strings.Contains(text, "nothere") {
				t.Errorf("%v %s", err, text)
			}
		}
	})
}

// mount needs rights that tests seldom have.
func mount(t *testing.T, dir string, f func() error) {
	t.Helper()
	err := f()
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EPERM) {
		t.Skip("no right to mount")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			_ = syscall.Unmount(dir, unix.MNT_DETACH) // of two mounts, one after the other
		}
	})
}
