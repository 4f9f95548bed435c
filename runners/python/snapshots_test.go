package python

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/cache"
	views "coderunner/internal/project"
	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
)

// TestSnapshots runs programs until their packages are there before they are
// imported, in a process after the one that wanted them first.
func TestSnapshots(t *testing.T) {
	c := pyodidetest.Cache(t)
	const code = "import sys\nhad = 'attrs' in sys.modules\nimport attrs\n[had, attrs.__name__]"
	again := func(req runners.Request) string {
		r, err := New(registryConfig(c))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}()
		req.Language = runners.Python
		o, err := r.Run(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		if o.Result == nil || len(o.Packages) != 1 || o.Packages[0].Name != "attrs" {
			t.Fatalf("%+v", o)
		}
		return string(o.Result.JSON)
	}
	again(runners.Request{Code: code})
	if got := again(runners.Request{Code: code}); got != `[true,"attrs"]` {
		t.Errorf("the second run: %s", got)
	}
	if got := again(runners.Request{Code: "import attrs, random\nrandom.random()"}); strings.Contains(got, again(runners.Request{Code: "import attrs, random\nrandom.random()"})) {
		t.Error("two runs drew the same random number")
	}
	// Modules of the program's own may stand in for others', so nothing may
	// be there before.
	own := []runners.File{{Path: "mine.py", Data: nil}}
	if got := again(runners.Request{Code: code, Files: own}); got != `[false,"attrs"]` {
		t.Errorf("with a module of its own: %s", got)
	}
	// The directories that the program's file is in are no such modules.
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "b", "main.py"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	view, err := views.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	view.Program = "a/b/main.py"
	if got := again(runners.Request{Code: code, Project: view}); got != `[true,"attrs"]` {
		t.Errorf("in a directory: %s", got)
	}
	// A snapshot that does not fit is not used; the base one does not either.
	if got := again(runners.Request{Code: code, Limits: runners.Limits{Memory: 40 << 20}}); !strings.HasSuffix(got, `"attrs"]`) {
		t.Errorf("in little memory: %s", got)
	}
}

// TestSnapshotEnvironment has a package that looks at the environment when it
// is imported: it sees what the program is given, also from the third run on.
func TestSnapshotEnvironment(t *testing.T) {
	x := newIndex(t)
	x.add(pure("looker", "1.0", map[string]string{"looker.py": "import os\nseen = os.environ.get('CODERUNNER_TEST_A')\n"}))
	r := x.newRunner(base{}, false, t.TempDir())
	t.Setenv("CODERUNNER_TEST_A", "a")
	with, err := runners.ParsePolicy([]string{"--allow-env=CODERUNNER_TEST_A"})
	if err != nil {
		t.Fatal(err)
	}
	const code = "import sys\nhad = 'looker' in sys.modules\nimport looker\nhad, looker.seen"
	for i, want := range []string{"(False, None)", "(True, None)", "(True, None)"} {
		if got := run(t, r, code); i > 0 && (got.Result == nil || got.Result.Text != want) {
			t.Fatalf("run %d: %+v %+v, want %s", i+1, got.Result, got.Error, want)
		}
	}
	r.cfg.Policy = with
	for range 2 {
		value(t, run(t, r, code), "(False, 'a')")
	}
}

// TestSnapshotOfLazyPackage has a package that imports its modules when names of it are
// asked for.
func TestSnapshotOfLazyPackage(t *testing.T) {
	x := newIndex(t)
	x.add(pure("idle", "1.0", map[string]string{
		"idle/__init__.py": "def __getattr__(name):\n  if name != 'Work': raise AttributeError(name)\n  from idle import work\n  return work.Work\n",
		"idle/work.py":     "class Work: pass\n",
	}))
	r := x.newRunner(base{}, false, t.TempDir())
	const code = "import sys\nhad = 'idle.work' in sys.modules\nfrom idle import Work\nhad, Work.__name__"
	run(t, r, code) // has the snapshot already where the tests' cache is an earlier run's
	value(t, run(t, r, code), "(True, 'Work')")
	if o := run(t, r, "from idle import Play"); o.Error == nil || o.Error.Type != "ImportError" {
		t.Errorf("a name that is not there: %+v", o)
	}
}

// TestSnapshotOfSlip has a package whose name is nearly that of a module of the library, as
// httpx is.
func TestSnapshotOfSlip(t *testing.T) {
	x := newIndex(t)
	x.add(pure("httpx", "1.0", map[string]string{"httpx.py": ""}))
	r := x.newRunner(base{}, false, t.TempDir())
	const code = "import sys\nhad = 'httpx' in sys.modules\nimport httpx\nhad"
	run(t, r, code) // has the snapshot already where the tests' cache is an earlier run's
	value(t, run(t, r, code), "True")
}

// TestSnapshotOfLater has what pydantic imports at the first class in its snapshot, as
// far as this version has it.
func TestSnapshotOfLater(t *testing.T) {
	x := newIndex(t)
	x.add(pure("pydantic", "1.0", map[string]string{"pydantic/__init__.py": "", "pydantic/fields.py": "", "pydantic/plugin/__init__.py": ""}))
	r := x.newRunner(base{}, false, t.TempDir())
	const code = "import pydantic, sys\nsorted(n for n in sys.modules if n.startswith('pydantic'))"
	run(t, r, code) // has the snapshot already where the tests' cache is an earlier run's
	value(t, run(t, r, code), "['pydantic', 'pydantic.fields']")
}

// TestSnapshotLate has an import that takes longer than a run waits, which may be the
// machine's fault once.
func TestSnapshotLate(t *testing.T) {
	x := newIndex(t)
	x.add(pure("looper", "1.0", map[string]string{"looper.py": "while True: pass\n"}))
	dir := t.TempDir()
	run := func() (noted []bool) {
		r := x.newRunner(base{}, false, dir)
		s := r.open.engine.snapshots
		s.Waits, s.Wait = true, 100*time.Millisecond
		if _, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Code: "import looper", Limits: runners.Limits{Timeout: time.Second}}); err != nil {
			t.Fatal(err)
		}
		all, err := r.cfg.Cache.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"wanted", "slow", "unfit"} {
			noted = append(noted, slices.ContainsFunc(all, func(e cache.Entry) bool { return e.Kind == kind }))
		}
		return noted
	}
	for i, want := range [][]bool{{true, false, false}, {true, true, false}, {true, true, true}} {
		if got := run(); !slices.Equal(got, want) {
			t.Errorf("run %d: wanted, slow, unfit: %v, want %v", i+1, got, want)
		}
	}
}

// TestSnapshotUnfit has packages that cannot be put into a snapshot. A server's
// runs leave the making to the background, which does nothing here; the others
// try once and note what came out.
func TestSnapshotUnfit(t *testing.T) {
	x := newIndex(t)
	x.add(pure("looper", "1.0", map[string]string{"looper.py": "while True: pass\n"}))
	x.add(pure("talker", "1.0", map[string]string{"talker.py": "print('hello')\n"}))
	for _, c := range []struct {
		name  string
		limit time.Duration
		want  runners.Status
		noted bool // for good: it is not known what a loop takes in the end
	}{{"looper", time.Second, runners.TimedOut, false}, {"talker", time.Minute, runners.Succeeded, true}} {
		t.Run(c.name, func(t *testing.T) {
			r := x.newRunner(base{}, false, t.TempDir())
			s := r.open.engine.snapshots
			s.Builder.Close()
			try := func(times int) {
				t.Helper()
				for range times {
					o, err := r.Run(context.Background(), runners.Request{
						Language: runners.Python, Code: "import " + c.name, Limits: runners.Limits{Timeout: c.limit},
					})
					if err != nil || o.Status != c.want {
						t.Fatalf("%+v, %v", o, err)
					}
				}
			}
			wanted := func() (keys []string) {
				all, err := r.cfg.Cache.List(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range all {
					if e.Kind == "wanted" {
						keys = append(keys, e.Key)
					}
				}
				return keys
			}
			s.Waits = false
			try(2)
			if keys := wanted(); len(keys) != 0 {
				t.Errorf("a server has noted that %q are wanted", keys)
			}
			s.Waits = true
			try(2)
			if len(wanted()) != 1 {
				t.Fatalf("%q are wanted, want one", wanted())
			}
			key := wanted()[0]
			if !s.Builder.Failed(key) {
				t.Error("it is tried again and again")
			}
			if got := s.Builder.Noted(t.Context(), "unfit", r.open.engine.rt.SnapshotKey()+" "+key); got != c.noted {
				t.Errorf("noted as unfit: %v", got)
			}
		})
	}
}
