package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be the child processes of its own tests.
func TestMain(m *testing.M) {
	if role := os.Getenv("CACHE_TEST_CHILD"); role != "" {
		if err := children[role](os.Getenv("CACHE_TEST_ROOT"), os.Getenv("CACHE_TEST_ARG")); err != nil {
			os.Stdout.WriteString("error: " + err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// children are the roles that a child process can play.
var children = map[string]func(root, arg string) error{}

// open opens a cache that the test closes.
func open(t *testing.T, dir string) *Cache {
	t.Helper()
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Warning() != "" {
		t.Fatalf("Open(%q): warning %q", dir, c.Warning())
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

func sha256Of(data []byte) Digest {
	sum := sha256.Sum256(data)
	return SHA256(hex.EncodeToString(sum[:]))
}

func integrityOf(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// payload is what tests keep.
var payload = bytes.Repeat([]byte("0123456789abcdef"), 4096)

// keep puts data into the cache as a blob.
func keep(c *Cache, data []byte) (path string, cached bool, err error) {
	return c.Blob(context.Background(), sha256Of(data), func(_ context.Context, f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// wantNothing fails if the cache has entries, or anything unfinished.
func wantNothing(t *testing.T, c *Cache) {
	t.Helper()
	list, err := c.List(context.Background())
	if err != nil || len(list) != 0 {
		t.Errorf("List = %v, %v; want nothing", list, err)
	}
	wantNoTemps(t, c)
}

// unfinished returns what is in the directory of processes but this cache's own, empty directory.
func unfinished(c *Cache) (paths []string) {
	own := c.dir.Path()
	for _, pattern := range []string{c.Path(processes, "*"), filepath.Join(own, "*")} {
		found, _ := filepath.Glob(pattern)
		paths = append(paths, found...)
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		return path == own || path == filepath.Join(own, "lock") || path == filepath.Join(own, usedName)
	})
}

func wantNoTemps(t *testing.T, c *Cache) {
	t.Helper()
	if left := unfinished(c); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// want fails unless err is nil, or has all the texts.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want %q in it", err, text)
		}
	}
}

func TestPathStaysInside(t *testing.T) {
	c := open(t, t.TempDir())
	for _, elem := range [][]string{{"deno"}, {"deno", "npm"}, {"..", "..", "etc"}, {"/etc/passwd"}, {"a/../../b"}, {}} {
		got := c.Path(elem...)
		if got != c.Root() && !strings.HasPrefix(got, c.Root()+string(filepath.Separator)) {
			t.Errorf("Path(%q) = %q, outside of %q", elem, got, c.Root())
		}
	}
	if got, want := c.Path("deno", "npm"), filepath.Join(c.Root(), "deno", "npm"); got != want {
		t.Errorf("Path = %q, want %q", got, want)
	}
}

func TestOpenMakesPrivateDirectories(t *testing.T) {
	root := filepath.Join(t.TempDir(), "with space", "ünï")
	c := open(t, root)
	if _, err := c.Dir(context.Background(), "kind", "key", func(context.Context, string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 && d.IsDir() {
			t.Errorf("%s: mode %v, want it private", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Open falls back when the directory cannot be: below a file even root cannot.
func TestOpenFallsBackToPrivateRoot(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(filepath.Join(file, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{file, "not a directory", "hint: set CODE_RUNNER_CACHE_DIR", c.Root()} {
		if !strings.Contains(c.Warning(), text) {
			t.Errorf("Warning() = %q, want %q in it", c.Warning(), text)
		}
	}
	path, err := c.File(context.Background(), "kind", "key", writeText("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); string(got) != "hello" || err != nil {
		t.Errorf("file in the private root: %q, %v", got, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
		t.Errorf("Close left %v", left)
	}
}

// The private roots of killed processes go, those in use stay.
func TestPrivateRootsAreSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	live, err := Open(filepath.Join(file, "cache"))
	check(t, err)
	defer live.Close()
	stale := filepath.Join(os.TempDir(), privatePrefix+"1234-5")
	check(t, os.MkdirAll(filepath.Join(stale, "trees"), 0o700))
	check(t, os.WriteFile(filepath.Join(stale, "lock"), nil, 0o600))
	c, err := Open(filepath.Join(file, "cache"))
	check(t, err)
	defer c.Close()
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a dead process's root: %v, want it gone", err)
	}
	if _, err := os.Stat(live.Root()); err != nil {
		t.Errorf("a living one's root: %v", err)
	}
}

// What others may have put there is not trusted.
func TestOpenDistrustsOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		plant func(dir string) error
		want  string
	}{
		"writable": {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)) }, "can be written by others"},
		"foreign":  {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 12345, -1)) }, "belongs to another user"},
		"link":     {func(dir string) error { return os.Symlink(os.TempDir(), dir) }, "trees is not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			err := tc.plant(filepath.Join(root, "trees"))
			if errors.Is(err, os.ErrPermission) {
				t.Skipf("only root may give directories away: %v", err)
			}
			check(t, err)
			t.Setenv("TMPDIR", t.TempDir())
			c, err := Open(root)
			check(t, err)
			defer c.Close()
			if !strings.Contains(c.Warning(), tc.want) || !strings.Contains(c.Warning(), "hint:") {
				t.Errorf("Warning() = %q, want %q in it", c.Warning(), tc.want)
			}
			if left, _ := os.ReadDir(filepath.Join(root, processes)); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// A root that everybody may write is one where directories can be exchanged, unless
// it is like /tmp.
func TestOpenDistrustsOpenRoot(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for mode, trusted := range map[os.FileMode]bool{0o777: false, 0o777 | os.ModeSticky: true, 0o775: true, 0o755: true} {
		root := t.TempDir()
		check(t, os.Chmod(root, mode))
		c, err := Open(root)
		check(t, err)
		if why := c.Unusable(); (why == nil) != trusted || why != nil && !strings.Contains(why.Error(), "can be written by everybody; hint:") {
			t.Errorf("mode %v: %v", mode, why)
		}
		check(t, c.Close())
	}
}

func TestOpenWithoutHome(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	c, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !strings.Contains(c.Warning(), "CODE_RUNNER_CACHE_DIR") {
		t.Errorf("Warning() = %q, want the way out", c.Warning())
	}
}

// Nowhere to write at all is an error that names both places.
func TestOpenNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(file, "tmp"))
	c, err := Open(filepath.Join(file, "cache"))
	if err == nil {
		c.Close()
	}
	wantError(t, err, "create "+file+":", filepath.Join(file, "tmp"))
}

func TestClosedCacheRefuses(t *testing.T) {
	c := open(t, t.TempDir())
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := c.File(context.Background(), "kind", "key", writeText("x"))
	wantError(t, err, "closed")
}

func TestParseDigest(t *testing.T) {
	data := []byte("data")
	sum := sha512.Sum512(data)
	want := Digest{"sha512", hex.EncodeToString(sum[:])}
	short := sha256.Sum256(data)
	weaker := "sha256-" + base64.StdEncoding.EncodeToString(short[:])
	for _, in := range []string{integrityOf(data), weaker + " " + integrityOf(data), integrityOf(data) + " " + weaker, "sha1-AAAA " + integrityOf(data) + "?opt"} {
		if got, err := ParseDigest(in); got != want || err != nil {
			t.Errorf("ParseDigest(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "sha1-AAAA", "md5-AAAA", "sha512-", "sha512-AAAA", "sha512-!!!", "sha256", strings.Repeat("x", 1000)} {
		if got, err := ParseDigest(in); err == nil {
			t.Errorf("ParseDigest(%q) = %v, want an error", in, got)
		}
	}
}
