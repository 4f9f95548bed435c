package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func writeText(text string) func(context.Context, io.Writer) error {
	return func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// unused is a build for entries that are there already.
func unused[T any](t *testing.T) func(context.Context, T) error {
	return func(context.Context, T) error {
		t.Error("built again")
		return errors.New("built again")
	}
}

func TestFileAndDirAreBuiltOnce(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	c := open(t, root)
	file, err := c.File(ctx, "wasm", "k/1", writeText("contents"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := c.Dir(ctx, "wheel", "k/1", func(_ context.Context, dir string) error {
		if err := os.MkdirAll(filepath.Join(dir, "pkg", "empty"), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "pkg", "run"), []byte("x"), 0o700)
	})
	if err != nil {
		t.Fatal(err)
	}
	wantNoTemps(t, c)
	for _, c := range []*Cache{c, open(t, root)} {
		if again, err := c.File(ctx, "wasm", "k/1", unused[io.Writer](t)); again != file || err != nil {
			t.Errorf("File = %q, %v; want %q", again, err, file)
		}
		if again, err := c.Dir(ctx, "wheel", "k/1", unused[string](t)); again != dir || err != nil {
			t.Errorf("Dir = %q, %v; want %q", again, err, dir)
		}
	}
	modes := map[string]fs.FileMode{file: 0o444, filepath.Join(dir, "pkg", "run"): 0o555}
	for path, want := range modes {
		if info, err := os.Lstat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want mode %v", path, info.Mode(), err, want)
		}
	}
	if info, err := os.Lstat(filepath.Join(dir, "pkg", "empty")); err != nil || !info.IsDir() {
		t.Errorf("the empty directory is gone: %v", err)
	}
}

func TestKeysDoNotCollide(t *testing.T) {
	ctx := context.Background()
	c := open(t, t.TempDir())
	keys := []string{"a", "A", "a/b", "a+b", "a-b", ".", "..", "a.", "a~", "über", "nul\x00", "../../escape", fmt.Sprintf("%0300d", 1), fmt.Sprintf("%0300d", 2)}
	paths := map[string]string{}
	for _, key := range keys {
		path, err := c.File(ctx, "kind", key, writeText(key))
		if err != nil {
			t.Fatalf("File(%q): %v", key, err)
		}
		if other, taken := paths[path]; taken {
			t.Errorf("keys %q and %q are both %s", key, other, path)
		}
		paths[path] = key
		if rel, err := filepath.Rel(c.Path("files", "kind"), path); err != nil || !filepath.IsLocal(rel) {
			t.Errorf("File(%q) = %s, outside of its directory", key, path)
		}
	}
	for path, key := range paths {
		if got, err := os.ReadFile(path); string(got) != key || err != nil {
			t.Errorf("file of %q: %q, %v", key, got, err)
		}
	}
	for _, kind := range []string{"", "..", "a/b", "A", "-a", "."} {
		if _, err := c.File(ctx, kind, "key", unused[io.Writer](t)); err == nil {
			t.Errorf("kind %q is accepted", kind)
		}
	}
	if _, err := c.File(ctx, "kind", "", unused[io.Writer](t)); err == nil {
		t.Error("an empty key is accepted")
	}
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	ctx := context.Background()
	c := open(t, t.TempDir())
	broken := errors.New("broken")
	_, err := c.File(ctx, "kind", "key", func(_ context.Context, w io.Writer) error {
		io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("File: %v, want %v", err, broken)
	}
	_, err = c.Dir(ctx, "kind", "key", func(_ context.Context, dir string) error {
		os.WriteFile(filepath.Join(dir, "half"), nil, 0o600)
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("Dir: %v, want %v", err, broken)
	}
	_, err = c.Dir(ctx, "kind", "link", func(_ context.Context, dir string) error {
		return os.Symlink("/etc", filepath.Join(dir, "link"))
	})
	wantError(t, err, "link is not a regular file")
	wantNothing(t, c)
}

func TestCancelledBeforeBuilding(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := open(t, t.TempDir())
	if _, err := c.File(ctx, "kind", "key", unused[io.Writer](t)); !errors.Is(err, context.Canceled) {
		t.Errorf("File: %v, want cancelled", err)
	}
}

// A caller that waits for another's build can give up, in this process
// (same Cache) and as another process would (second Cache).
func TestWaitersCanGiveUp(t *testing.T) {
	root := t.TempDir()
	a, b := open(t, root), open(t, root)
	building, finish := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := a.File(context.Background(), "kind", "key", func(_ context.Context, w io.Writer) error {
			close(building)
			<-finish
			_, err := io.WriteString(w, "first")
			return err
		})
		if err != nil {
			t.Errorf("the builder: %v", err)
		}
	})
	<-building
	gone := errors.New("the client is gone")
	for _, c := range []*Cache{a, b} {
		ctx, cancel := context.WithCancelCause(context.Background())
		waiting := make(chan error)
		go func() {
			_, err := c.File(ctx, "kind", "key", unused[io.Writer](t))
			waiting <- err
		}()
		cancel(gone)
		if err := <-waiting; !errors.Is(err, gone) {
			t.Errorf("waiter: %v, want %v", err, gone)
		}
	}
	wg.Go(func() {
		if _, err := b.File(context.Background(), "kind", "key", unused[io.Writer](t)); err != nil {
			t.Errorf("the patient one: %v", err)
		}
	})
	close(finish)
	wg.Wait()
}

// resize changes the size of a file, which need not be writable: to root alone
// that makes no difference.
func resize(size int64) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		check(t, os.Chmod(path, 0o600))
		check(t, os.Truncate(path, size))
	}
}

// Whatever is done to an entry, the next process notices and builds it anew.
func TestDamageIsNoticed(t *testing.T) {
	const text = "some contents"
	damages := []struct {
		name string
		do   func(t *testing.T, path string)
	}{
		{"truncated", resize(5)},
		{"emptied", resize(0)},
		{"longer", resize(1000)},
		{"gone", func(t *testing.T, path string) { check(t, os.Remove(path)) }},
		{"a directory", func(t *testing.T, path string) { check(t, os.Remove(path)); check(t, os.Mkdir(path, 0o700)) }},
		{"a link", func(t *testing.T, path string) { check(t, os.Remove(path)); check(t, os.Symlink("/etc/passwd", path)) }},
		{"bit flipped", func(t *testing.T, path string) {
			check(t, os.Chmod(path, 0o600))
			data, err := os.ReadFile(path)
			check(t, err)
			data[len(data)/2] ^= 1
			check(t, os.WriteFile(path, data, 0o600))
		}},
	}
	ctx := context.Background()
	for _, d := range damages {
		for _, what := range []string{"file", "file's manifest", "tree", "tree's manifest"} {
			t.Run(what+" "+d.name, func(t *testing.T) {
				root := t.TempDir()
				get := func() (string, error) {
					c := open(t, root)
					if what[0] == 'f' {
						return c.File(ctx, "kind", "key", writeText(text))
					}
					dir, err := c.Dir(ctx, "kind", "key", func(_ context.Context, dir string) error {
						return os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600)
					})
					return filepath.Join(dir, "file"), err
				}
				path, err := get()
				check(t, err)
				target := map[string]string{"file": path, "tree": path,
					"file's manifest": filepath.Join(filepath.Dir(path), manifestName),
					"tree's manifest": filepath.Join(filepath.Dir(filepath.Dir(path)), manifestName)}[what]
				d.do(t, target)
				again, err := get()
				check(t, err)
				if got, err := os.ReadFile(again); string(got) != text || err != nil {
					t.Errorf("after the damage: %q, %v", got, err)
				}
				problems, err := open(t, root).Verify(ctx)
				if len(problems) != 0 || err != nil {
					t.Errorf("Verify after the repair: %v, %v", problems, err)
				}
			})
		}
	}
}

// No byte of a manifest changes unnoticed.
func TestManifestNoticesEveryByte(t *testing.T) {
	dir := t.TempDir()
	m := manifest{Format: manifestFormat, Kind: "kind", Key: "key", Files: []manifestFile{{Path: "a", Size: 1, SHA256: "00"}}}
	check(t, m.write(dir))
	if _, err := readManifest(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, manifestName)
	good, err := os.ReadFile(path)
	check(t, err)
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1
		check(t, os.WriteFile(path, bad, 0o600))
		if _, err := readManifest(dir); err == nil {
			t.Errorf("byte %d: %q is read as %q", i, bad[i], good[i])
		}
		check(t, os.WriteFile(path, good[:i], 0o600))
		if _, err := readManifest(dir); err == nil {
			t.Errorf("the first %d bytes are read", i)
		}
	}
}

// An entry that got to another's place is not taken for it.
func TestMovedEntryIsNoticed(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	path, err := open(t, root).File(ctx, "kind", "a", writeText("a"))
	check(t, err)
	dir := filepath.Dir(path)
	check(t, os.Rename(dir, filepath.Join(filepath.Dir(dir), "b")))
	path, err = open(t, root).File(ctx, "kind", "b", writeText("b"))
	check(t, err)
	if got, err := os.ReadFile(path); string(got) != "b" || err != nil {
		t.Errorf("b is %q, %v", got, err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A cache that is deleted while it is open works again.
func TestRootDeletedWhileOpen(t *testing.T) {
	ctx := context.Background()
	root := filepath.Join(t.TempDir(), "cache")
	c := open(t, root)
	for range 3 {
		path, err := c.File(ctx, "kind", "key", writeText("x"))
		check(t, err)
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		check(t, os.RemoveAll(root))
	}
	// The new directory of processes has an owner, too.
	_, err := c.File(ctx, "kind", "other", func(ctx context.Context, w io.Writer) error {
		other := open(t, root)
		check(t, other.Close())
		_, err := io.WriteString(w, "y")
		return err
	})
	check(t, err)
}

// Two Caches and many goroutines: each entry is built once, and nobody ever
// sees one that is not whole.
func TestHammer(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	caches := []*Cache{open(t, root), open(t, root)}
	const keys = 12
	var builds [keys]atomic.Int32
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			c := caches[g%2]
			for i := range keys {
				k := (i + g) % keys
				dir, err := c.Dir(ctx, "hammer", fmt.Sprint(k), func(_ context.Context, dir string) error {
					builds[k].Add(1)
					return writeHammer(dir, k)
				})
				if err == nil {
					err = readHammer(dir, k)
				}
				if err != nil {
					t.Errorf("key %d: %v", k, err)
				}
			}
		})
	}
	wg.Wait()
	for k := range builds {
		if n := builds[k].Load(); n != 1 {
			t.Errorf("key %d was built %d times", k, n)
		}
	}
}

const hammerFiles = 5

func writeHammer(dir string, key int) error {
	for i := range hammerFiles {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), hammerText(key, i), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func hammerText(key, i int) []byte {
	return fmt.Appendf(nil, "%0*d", 1000*(i+1)+key, key)
}

func readHammer(dir string, key int) error {
	for i := range hammerFiles {
		got, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return err
		}
		if string(got) != string(hammerText(key, i)) {
			return fmt.Errorf("%s/%d: %d bytes that are not those of key %d", dir, i, len(got), key)
		}
	}
	return nil
}
