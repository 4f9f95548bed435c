package cache

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// large is the contents of an entry that keeps a fingerprint.
var large = bytes.Repeat([]byte("large "), quickEntry/6+1)

// openAtOnce is a cache that keeps fingerprints without waiting.
func openAtOnce(t *testing.T, root string) *Cache {
	t.Helper()
	c := open(t, root)
	c.verifier.settleTime = 0
	return c
}

// buildLarge returns the large entry, and whether it was made for that.
func buildLarge(t *testing.T, c *Cache, section string) (path string, built bool) {
	t.Helper()
	ctx, err := context.Background(), error(nil)
	if section == Files {
		path, err = c.File(ctx, "big", "one", func(_ context.Context, w io.Writer) error {
			built = true
			_, err := w.Write(large)
			return err
		})
	} else {
		path, err = c.Dir(ctx, "big", "one", func(_ context.Context, dir string) error {
			built = true
			return os.WriteFile(filepath.Join(dir, "file"), large, 0o700)
		})
		path = filepath.Join(path, "file")
	}
	check(t, err)
	return path, built
}

// flip changes a bit of a file in place and keeps its time of modification. The
// time of its change is another one afterwards, also where clocks are slow.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	before, err := os.Lstat(path)
	check(t, err)
	was, _, err := fingerprint([]string{path})
	check(t, err)
	check(t, os.Chmod(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	check(t, err)
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	check(t, err)
	b[0] ^= 4
	_, err = f.WriteAt(b, at)
	check(t, err)
	for deadline := time.Now().Add(10 * time.Second); ; {
		check(t, os.Chmod(path, before.Mode().Perm()))
		check(t, os.Chtimes(path, before.ModTime(), before.ModTime()))
		if now, _, err := fingerprint([]string{path}); err != nil || now != was {
			check(t, err)
			return
		}
		if time.Now().After(deadline) || runtime.GOOS == "windows" {
			t.Skip("this file system does not tell that a file was changed")
		}
	}
}

func TestFingerprint(t *testing.T) {
	for _, section := range []string{Files, Trees} {
		root := t.TempDir()
		c := openAtOnce(t, root)
		path, built := buildLarge(t, c, section)
		e, err := newEntry(c.root, section, "big", "one")
		check(t, err)
		buildLarge(t, openAtOnce(t, root), section) // what another process finds, it reads
		k, err := readFingerprint(e.dir)
		if err != nil || !built {
			t.Fatalf("%s: no fingerprint after the first check: %v, built %v", section, err, built)
		}
		// Another process finds a change, in this one the next use does.
		for at, c := range map[int64]*Cache{0: openAtOnce(t, root), int64(len(large)) / 2: c, int64(len(large)) - 1: c} {
			buildLarge(t, c, section)
			flip(t, path, at)
			if _, built := buildLarge(t, c, section); !built {
				t.Errorf("%s: a flipped bit at %d is not noticed", section, at)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, large) {
			t.Errorf("%s: not what it should be: %v", section, err)
		}
		// What the fingerprint says is believed, for a day.
		flip(t, path, 7)
		m, err := readManifest(e.dir)
		check(t, err)
		now, _, err := fingerprint([]string{path})
		check(t, err)
		for _, forged := range []struct {
			what    string
			kept    kept
			trusted bool
		}{
			{"a day old", kept{fingerprintFormat, m.sum, now, time.Now().Add(-readAge)}, false},
			{"from the future", kept{fingerprintFormat, m.sum, now, time.Now().Add(time.Hour)}, false},
			{"another manifest's", kept{fingerprintFormat, k.Manifest + "0", now, time.Now()}, false},
			{"other files'", kept{fingerprintFormat, m.sum, k.Fingerprint, time.Now()}, false},
			{"another format's", kept{fingerprintFormat + 1, m.sum, now, time.Now()}, false},
			{"good", kept{fingerprintFormat, m.sum, now, time.Now().Add(time.Minute - readAge)}, true},
		} {
			check(t, c.verifier.writeFingerprint(e.dir, &forged.kept))
			if err := openAtOnce(t, root).verifier.entry(e, nil); (err == nil) != forged.trusted {
				t.Errorf("%s: with a fingerprint that is %s: %v", section, forged.what, err)
			}
		}
		for _, text := range []string{"", "\n", "sha256:0\n{}", string(Summed([]byte("{")))} {
			check(t, os.WriteFile(filepath.Join(e.dir, fingerprintName), []byte(text), 0o600))
			if _, err := readFingerprint(e.dir); err == nil {
				t.Errorf("fingerprint %q is one", text)
			}
		}
		if problems, err := c.Verify(context.Background()); err != nil || len(problems) != 1 {
			t.Errorf("%s: Verify: %v, %v; want one problem", section, problems, err)
		}
	}
}

// A file that has just changed has no fingerprint: another change might not be seen.
func TestNoFingerprintTooEarly(t *testing.T) {
	c := open(t, t.TempDir())
	c.verifier.settleTime = time.Hour
	buildLarge(t, c, Files)
	e, err := newEntry(c.root, Files, "big", "one")
	check(t, err)
	if _, err := readFingerprint(e.dir); err == nil {
		t.Error("there is a fingerprint")
	}
}
