package python

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The second time nobody is asked, and being offline makes no difference.
func TestRemembered(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0")
	x.module("beta", "1.0", "alpha")
	dir, b := t.TempDir(), newBase(t, nil)
	const code = "import beta, alpha; alpha.version"
	r := x.newRunner(b, false, dir)
	o := run(t, r, code)
	value(t, o, "'1.0'")
	if len(x.asked()) == 0 || o.Packages[0].Cached {
		t.Errorf("the first run asked nobody: %+v", o.Packages)
	}
	o = run(t, r, code)
	value(t, o, "'1.0'")
	if asked := x.asked(); len(asked) > 0 || !o.Packages[0].Cached || !o.Packages[1].Cached {
		t.Errorf("the second run asked for %v: %+v", asked, o.Packages)
	}
	offline := x.newRunner(b, true, dir)
	value(t, run(t, offline, code), "'1.0'")
	refused(t, run(t, offline, "1", "gamma"), "gamma", "offline")
	refused(t, run(t, offline, "import gamma"), "gamma", "offline")
	refused(t, run(t, x.newRunner(base{}, true, t.TempDir()), "1", "alpha>=1"), "alpha>=1", "offline")
	if asked := x.asked(); len(asked) > 0 {
		t.Errorf("offline, but asked for %v", asked)
	}
}

// An old answer is asked for again, and used nevertheless when nobody answers.
func TestFreshness(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0")
	dir := t.TempDir()
	r := x.newRunner(base{}, false, dir)
	value(t, run(t, r, "import alpha; alpha.version"), "'1.0'")
	value(t, run(t, r, "import alpha; alpha.version", "alpha==1.0"), "'1.0'")
	x.module("alpha", "2.0")
	value(t, run(t, r, "import alpha; alpha.version"), "'1.0'")
	age(t, dir)
	x.asked()
	value(t, run(t, r, "import alpha; alpha.version", "alpha==1.0"), "'1.0'")
	if asked := x.asked(); len(asked) > 0 {
		t.Errorf("pinned, but asked for %v", asked)
	}
	x.setStatus(404 + 99) // not retried
	value(t, run(t, r, "import alpha; alpha.version"), "'1.0'")
	x.setStatus(0)
	value(t, run(t, r, "import alpha; alpha.version"), "'2.0'")
}

// age makes the remembered answers two days old.
func age(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "python", "answers", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	now := time.Now().UTC().Format("2006-01-02")
	then := time.Now().UTC().Add(-48 * time.Hour).Format("2006-01-02")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(strings.Replace(string(b), now, then, 1), "\n")
		text = fmt.Sprintf("sha256:%x\n%s", sha256.Sum256([]byte(text)), text)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A damaged answer is as good as none.
func TestDamagedAnswer(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0")
	dir := t.TempDir()
	r := x.newRunner(base{}, false, dir)
	value(t, run(t, r, "import alpha; alpha.version"), "'1.0'")
	files, _ := filepath.Glob(filepath.Join(dir, "python", "answers", "*.json"))
	for _, text := range []string{"", "{", `{"format": 99}`, `{"format": 1, "when": "2099-01-01T00:00:00Z", "packages": [{"name": "alpha", "version": "6"}]}`} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		value(t, run(t, r, "import alpha; alpha.version"), "'1.0'")
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	x.asked()
	for at := 0; at < len(whole); at += len(whole)/4 + 1 {
		b := bytes.Clone(whole)
		b[at] ^= 1
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		value(t, run(t, r, "import alpha; alpha.version"), "'1.0'")
		if len(x.asked()) == 0 {
			t.Errorf("a flipped bit at %d is not noticed", at)
		}
	}
}

// That a package cannot be installed is known for a while, unless the index could not
// be asked.
func TestRememberedFailure(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0")
	dir := t.TempDir()
	r := x.newRunner(newBase(t, nil), false, dir)
	refused(t, run(t, r, "1", "alpha>=2"), "alpha>=2", "1.0")
	x.module("alpha", "2.0")
	x.asked()
	refused(t, run(t, r, "1", "alpha>=2"), "alpha>=2", "1.0")
	if asked := x.asked(); len(asked) > 0 {
		t.Errorf("asked again for %v", asked)
	}
	age(t, dir)
	value(t, run(t, r, "import alpha; alpha.version", "alpha>=2"), "'2.0'")
	x.setStatus(403)
	refused(t, run(t, r, "1", "beta"), "beta", "403")
	x.setStatus(0)
	x.module("beta", "1.0")
	value(t, run(t, r, "import beta; beta.version", "beta"), "'1.0'")
}
