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

// large is the contents of an entry that has a seal.
var large = bytes.Repeat([]byte("large "), quickEntry/6+1)

// openSealing is a cache that makes seals without waiting.
func openSealing(t *testing.T, root string) *Cache {
	t.Helper()
	c := open(t, root)
	c.sealDelay = 0
	return c
}

// buildLarge gives the large entry, and whether it was made for that.
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
	before, err := stampOf(path)
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
		check(t, os.Chmod(path, before.info.Mode().Perm()))
		check(t, os.Chtimes(path, before.modTime, before.modTime))
		if now, err := stampOf(path); err != nil || !now.same(before) {
			check(t, err)
			return
		}
		if time.Now().After(deadline) || runtime.GOOS == "windows" {
			t.Skip("this file system does not tell that a file was changed")
		}
	}
}

func TestSeal(t *testing.T) {
	for _, section := range []string{Files, Trees} {
		root := t.TempDir()
		c := openSealing(t, root)
		path, built := buildLarge(t, c, section)
		e, err := c.entry(section, "big", "one")
		check(t, err)
		s, err := readSeal(e.dir)
		if err != nil || !built {
			t.Fatalf("%s: no seal after the first check: %v, built %v", section, err, built)
		}
		// Another process finds a change, in this one the next use does.
		for at, c := range map[int64]*Cache{0: openSealing(t, root), int64(len(large)) / 2: c, int64(len(large)) - 1: c} {
			buildLarge(t, c, section)
			flip(t, path, at)
			if _, built := buildLarge(t, c, section); !built {
				t.Errorf("%s: a flipped bit at %d is not noticed", section, at)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, large) {
			t.Errorf("%s: not what it should be: %v", section, err)
		}
		// What the seal says is believed, for a day.
		flip(t, path, 7)
		m, err := readManifest(e.dir)
		check(t, err)
		stamps, _, err := m.stamps(e.data())
		check(t, err)
		for _, forged := range []struct {
			what    string
			seal    sealed
			trusted bool
		}{
			{"a day old", sealed{sealFormat, m.sum, stamps, time.Now().Add(-sealAge)}, false},
			{"from the future", sealed{sealFormat, m.sum, stamps, time.Now().Add(time.Hour)}, false},
			{"another manifest's", sealed{sealFormat, s.Manifest + "0", stamps, time.Now()}, false},
			{"other files'", sealed{sealFormat, m.sum, s.Stamps, time.Now()}, false},
			{"another format's", sealed{sealFormat + 1, m.sum, stamps, time.Now()}, false},
			{"good", sealed{sealFormat, m.sum, stamps, time.Now().Add(time.Minute - sealAge)}, true},
		} {
			check(t, e.writeSeal(&forged.seal))
			fresh, err := openSealing(t, root).entry(section, "big", "one")
			check(t, err)
			if err := fresh.check(); (err == nil) != forged.trusted {
				t.Errorf("%s: with a seal that is %s: %v", section, forged.what, err)
			}
		}
		for _, text := range []string{"", "\n", "sha256:0\n{}", manifestSum([]byte("{")) + "\n{"} {
			check(t, os.WriteFile(filepath.Join(e.dir, sealName), []byte(text), 0o600))
			if _, err := readSeal(e.dir); err == nil {
				t.Errorf("seal %q is one", text)
			}
		}
		if problems, err := c.Verify(context.Background()); err != nil || len(problems) != 1 {
			t.Errorf("%s: Verify: %v, %v; want one problem", section, problems, err)
		}
	}
}

// A file that has just changed has no seal: another change might not be seen.
func TestNoSealTooEarly(t *testing.T) {
	c := open(t, t.TempDir())
	c.sealDelay = time.Hour
	buildLarge(t, c, Files)
	e, err := c.entry(Files, "big", "one")
	check(t, err)
	if _, err := readSeal(e.dir); err == nil {
		t.Error("there is a seal")
	}
}
