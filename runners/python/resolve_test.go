package python

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"coderunner/runners"
	"coderunner/runners/python/wheel/wheeltest"
)

func TestResolve(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0")
	x.module("alpha", "2.0")
	x.module("alpha", "3.0rc1")
	x.module("beta", "1.0", "alpha<2")
	x.module("gamma", "1.0", `delta>=1; extra == "Fast_Mode"`, `missing-one; python_version < "3.8"`, `missing-two; platform_system == "Linux"`, `epsilon; sys_platform == "emscripten"`)
	x.module("delta", "1.0")
	x.module("epsilon", "1.0")
	x.module("zeta", "1.0", "gamma")
	x.module("circle-a", "1.0", "circle-b")
	x.module("circle-b", "1.0", "circle-a")
	x.module("newer", "1.0", "alpha<2")
	x.module("newer", "2.0", "alpha>=2")
	x.addBytes("native-1.0-cp314-cp314-win_amd64.whl", []byte("x"))
	for i := range 40 {
		many, lately, always := "alpha>=2", "native", "lately>=4.18"
		if i <= 17 {
			many, lately, always = "alpha", "alpha; extra == 'x'", "lately"
		}
		x.module("many", fmt.Sprintf("1.%d", i), many)
		x.module("lately", fmt.Sprintf("4.%d", i), lately)
		x.module("above", fmt.Sprintf("5.%d", i), always)
	}
	for i := range 60 {
		x.module(fmt.Sprintf("chain-%d", i), "1.0", fmt.Sprintf("chain-%d", i+1))
	}
	x.module("chain-60", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	if o := run(t, r, "1", "chain-0"); o.Status != runners.Succeeded || len(o.Packages) != 61 {
		t.Errorf("a long chain: %s with %d packages, %v", o.Status, len(o.Packages), o.Error)
	}
	for _, test := range []struct {
		what     string
		packages []string
		want     string
	}{
		{"newest, no pre-release", []string{"alpha"}, "alpha 2.0"},
		{"pre-release asked for", []string{"alpha>=3.0rc1"}, "alpha 3.0rc1"},
		{"range", []string{"alpha<2"}, "alpha 1.0"},
		{"what another package wants", []string{"alpha", "beta"}, "alpha 1.0, beta 1.0"},
		{"in the other order", []string{"beta", "alpha"}, "alpha 1.0, beta 1.0"},
		{"markers", []string{"gamma"}, "epsilon 1.0, gamma 1.0"},
		{"extra, spelled otherwise", []string{"gamma[fast-mode]"}, "delta 1.0, epsilon 1.0, gamma 1.0"},
		{"extra asked for later", []string{"zeta", "gamma[Fast.Mode]"}, "delta 1.0, epsilon 1.0, gamma 1.0, zeta 1.0"},
		{"unknown extra", []string{"alpha[what]"}, "alpha 2.0"},
		{"circle", []string{"circle-a"}, "circle-a 1.0, circle-b 1.0"},
		{"older version of who asks too much", []string{"newer", "beta"}, "alpha 1.0, beta 1.0, newer 1.0"},
		{"much older version", []string{"many", "alpha<2"}, "alpha 1.0, many 1.17"},
		{"older version that needs nothing special", []string{"lately"}, "lately 4.17"},
		{"older version of who needs it", []string{"above"}, "above 5.17, lately 4.17"},
		{"marker of the request", []string{"alpha", `nowhere; os_name == "nt"`}, "alpha 2.0"},
	} {
		t.Run(test.what, func(t *testing.T) {
			o := run(t, r, "1", test.packages...)
			if got := installed(o); o.Status != runners.Succeeded || got != test.want {
				t.Errorf("%s with %s, want %s (%v)", o.Status, got, test.want, o.Error)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	x := newIndex(t)
	x.json = true
	x.module("alpha", "1.0")
	x.module("alpha", "2.0")
	x.module("beta", "1.0", "alpha<2")
	x.module("gamma", "1.0", "alpha>=2")
	x.module("wants-more", "1.0", "alpha>=9")
	x.module("needs-missing", "1.0", "nowhere>=3")
	x.addBytes("source-2.5.tar.gz", []byte("x"))
	x.addFile("source", indexFile{name: "source-2.5.tar.gz"}, nil)
	x.addBytes("linux_only-1.0-cp314-cp314-manylinux_2_28_x86_64.whl", []byte("x"))
	x.addBytes("linux_only-1.0-cp314-cp314-win_amd64.whl", []byte("x"))
	x.add(wheeltest.Wheel{
		Filename: "compiled-1.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl", Files: map[string]string{"compiled.so": "\x00asm nonsense"},
	})
	x.addBytes("older_abi-1.0-cp313-cp313-pyemscripten_2025_0_wasm32.whl", []byte("x"))
	old := wheeltest.Wheel{Filename: "old_python-1.0-py3-none-any.whl"}.Build()
	x.addFile("old-python", indexFile{name: "old_python-1.0-py3-none-any.whl", sum: wheeltest.SHA256(old), python: "<3.10"}, old)
	x.addFile("hashless", indexFile{name: "hashless-1.0-py3-none-any.whl"}, wheeltest.Wheel{Filename: "hashless-1.0-py3-none-any.whl"}.Build())
	x.addFile("changed", indexFile{name: "changed-1.0-py3-none-any.whl", sum: strings.Repeat("0", 64)}, wheeltest.Wheel{Filename: "changed-1.0-py3-none-any.whl"}.Build())
	x.add(wheeltest.Wheel{Filename: "escaping-1.0-py3-none-any.whl", Files: map[string]string{"../../x.py": ""}})
	x.add(wheeltest.Wheel{Filename: "unrecorded-1.0-py3-none-any.whl", Entries: []wheeltest.Entry{{Name: "x.py"}}})
	x.add(wheeltest.Wheel{Filename: "renamed-1.0-py3-none-any.whl", Metadata: "Name: other\nVersion: 1.0\n"})
	yanked := wheeltest.Wheel{Filename: "gone-1.0-py3-none-any.whl", Files: map[string]string{"gone.py": "x = 1"}}.Build()
	x.addFile("gone", indexFile{name: "gone-1.0-py3-none-any.whl", sum: wheeltest.SHA256(yanked), yanked: true}, yanked)
	x.addBytes("native-1.0-cp314-cp314-win_amd64.whl", []byte("x"))
	for i := range 40 {
		x.module("always", fmt.Sprintf("1.%d", i), "native")
		x.module("above", fmt.Sprintf("1.%d", i), "always")
	}
	x.module("major", "1.0")
	x.module("major", "2.0", "native")
	x.module("nested", "1.0", "alpha; "+strings.Repeat("(", 2000)+`os_name == "x"`+strings.Repeat(")", 2000))
	x.module("odd", "1.0", `alpha; platform_release > "x"`, "not a requirement")
	r := x.newRunner(base{}, false, t.TempDir())
	for _, test := range []struct {
		packages []string
		name     string
		reasons  []string
	}{
		{[]string{"nowhere"}, "nowhere", []string{"no package of this name on 127.0.0.1:"}},
		{[]string{"needs-missing"}, "nowhere>=3", []string{"no package of this name", "needed by needs-missing 1.0"}},
		{[]string{"alpha>=9"}, "alpha>=9", []string{"no version is >=9", "newest that fits this runtime is 2.0"}},
		{[]string{"alpha>=1", "wants-more"}, "alpha>=1", []string{"no version is >=9 (for wants-more 1.0); the newest is 2.0"}},
		{[]string{"alpha==2.0", "beta"}, "alpha==2.0", []string{"conflict", "==2.0 (for the request)", "<2 (for beta 1.0)"}},
		{[]string{"beta", "gamma"}, "alpha<2", []string{"conflict", "<2 (for beta 1.0)", ">=2 (for gamma 1.0)"}},
		{[]string{"source"}, "source", []string{"source-2.5.tar.gz", "states no SHA-256"}},
		{[]string{"linux-only"}, "linux-only", []string{"no wheel for this runtime", "manylinux, win"}},
		{[]string{"compiled"}, "compiled==1.0", []string{"its library compiled.so cannot be loaded"}},
		{[]string{"older-abi"}, "older-abi", []string{"pyemscripten_2025_0_wasm32 (cp313)"}},
		{[]string{"old-python"}, "old-python", []string{"needs Python <3.10, this is 3.14"}},
		{[]string{"hashless"}, "hashless", []string{"states no SHA-256"}},
		{[]string{"changed"}, "changed", []string{"hash mismatch"}},
		{[]string{"escaping"}, "escaping", []string{"leaves its directory"}},
		{[]string{"unrecorded"}, "unrecorded", []string{"not in RECORD"}},
		{[]string{"renamed"}, "renamed", []string{`project "other"`}},
		{[]string{"nested"}, "nested", []string{"metadata cannot be understood"}},
		{[]string{"odd"}, "odd", []string{"metadata cannot be understood"}},
		{[]string{"major"}, "native", []string{"win", "needed by major 2.0"}},
		{[]string{"gone"}, "gone", []string{"lists no files"}},
		{[]string{"alpha", "nowhere", "source"}, "source", []string{"states no SHA-256"}},
	} {
		t.Run(strings.Join(test.packages, " "), func(t *testing.T) {
			o := run(t, r, "print(1)", test.packages...)
			refused(t, o, test.name, test.reasons...)
			if o.Stdout != "" {
				t.Errorf("the program has run: %q", o.Stdout)
			}
		})
	}
	value(t, run(t, r, "import gone; gone.x", "gone==1.0"), "1")
	x.asked()
	refused(t, run(t, r, "1", "above"), "native", "win", "needed by always 1.39")
	wheels := slices.DeleteFunc(x.asked(), func(path string) bool { return !strings.HasSuffix(path, ".whl") })
	if len(wheels) > 4 {
		t.Errorf("that no version of above can be installed took %v", wheels)
	}
}

// A registry that does not answer is named, without its password.
func TestUnreachable(t *testing.T) {
	x := newIndex(t)
	x.user = "token"
	x.module("alpha", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	value(t, run(t, r, "import alpha; alpha.version"), "'1.0'")
	x.setStatus(403)
	o := run(t, r, "1", "beta")
	refused(t, o, "beta", "127.0.0.1:", "403")
	x.server.Close()
	again := run(t, r, "1", "gamma")
	refused(t, again, "gamma", "127.0.0.1:")
	for _, o := range []*runners.Outcome{o, again} {
		if strings.Contains(o.Error.Message, "geheim") || strings.Contains(o.Error.Message, "token") {
			t.Errorf("the message has credentials: %s", o.Error.Message)
		}
	}
}

// Runs that want the same package at once cause one download.
func TestTogether(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	var g errgroup.Group
	for range 6 {
		g.Go(func() error {
			o, err := r.Run(context.Background(), runners.Request{Language: runners.Python, Code: "import alpha; alpha.version"})
			if err == nil && (o.Result == nil || o.Result.Text != "'1.0'") {
				err = fmt.Errorf("%+v", o)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	downloads := 0
	for _, path := range x.asked() {
		if strings.HasSuffix(path, "/alpha-1.0-py3-none-any.whl") {
			downloads++
		}
	}
	if downloads != 1 {
		t.Errorf("%d downloads", downloads)
	}
}

// An index may be a directory, for sites without a network.
func TestFolder(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0", "beta")
	x.module("beta", "1.0")
	x.save()
	r := x.newRunner(base{}, true, t.TempDir())
	o := run(t, r, "import alpha; alpha.version")
	value(t, o, "'1.0'")
	if got := installed(o); got != "alpha 1.0, beta 1.0" {
		t.Errorf("packages are %s", got)
	}
	refused(t, run(t, r, "1", "gamma"), "gamma", "no package of this name on "+x.dir)
}

// For want of a wheel, a version of another age does not stand for the newest,
// unless it is what was asked for.
func TestVersionsOfAnotherAge(t *testing.T) {
	x := newIndex(t)
	x.json = true
	add := func(filename, day string, requires ...string) {
		body := wheeltest.Wheel{Filename: filename, Requires: requires}.Build()
		x.addFile(project(filename), indexFile{name: filename, sum: wheeltest.SHA256(body), day: day}, body)
	}
	add("native-3.0-cp314-cp314-win_amd64.whl", "2026-01-02T03:04:05Z")
	add("older-1.0-py3-none-any.whl", "2016-01-02T03:04:05Z")
	add("older-2.0-cp314-cp314-win_amd64.whl", "2026-01-02T03:04:05Z")
	add("asks-1.1-py3-none-any.whl", "2019-01-02T03:04:05Z")
	add("asks-1.2-py3-none-any.whl", "2026-01-02T03:04:05Z", "native")
	add("recent-1.1-py3-none-any.whl", "2025-01-02T03:04:05Z")
	add("recent-1.2-py3-none-any.whl", "2026-01-02T03:04:05Z", "native")
	add("undated-1.1-py3-none-any.whl", "")
	add("undated-1.2-py3-none-any.whl", "2026-01-02T03:04:05Z", "native")
	add("deep-1.1-py3-none-any.whl", "2020-01-02T03:04:05Z")
	add("deep-1.2-py3-none-any.whl", "2026-01-02T03:04:05Z", "native")
	add("above-1.0-py3-none-any.whl", "2026-01-02T03:04:05Z", "deep")
	add("beside-1.0-py3-none-any.whl", "2026-01-02T03:04:05Z", "asked")
	add("asked-1.1-py3-none-any.whl", "2023-01-02T03:04:05Z")
	add("asked-1.2-py3-none-any.whl", "2026-01-02T03:04:05Z", "native")
	add("lost-1.0-py3-none-any.whl", "2016-01-02T03:04:05Z", "nowhere")
	add("lost-2.0-cp314-cp314-win_amd64.whl", "2026-01-02T03:04:05Z")
	r := x.newRunner(base{}, false, t.TempDir())
	refused(t, run(t, r, "1", "lost"), "lost", "version 2.0 of 2026: has only wheels for win")
	refused(t, run(t, r, "1", "older"), "older", "version 2.0 of 2026: has only wheels for win", "1.0, is of 2016", "write older==1.0")
	refused(t, run(t, r, "1", "asks"), "asks", "version 1.2 of 2026: native: no wheel", "1.1, is of 2019")
	refused(t, run(t, r, "1", "above"), "native", "no wheel", "needed by deep 1.2")
	const newer = "recent is 1.1 here, since the newest cannot be installed: version 1.2: native: no wheel for this runtime: version 3.0 has only wheels for win"
	for asked, note := range map[string]string{"older==1.0": "", "older<2": "", "asks<1.2": "", "recent": newer, "undated": "undated is 1.1 here", "beside": ""} {
		o := run(t, r, "1", asked)
		if o.Status != runners.Succeeded || !strings.HasPrefix(o.Note, note) || (o.Note == "") != (note == "") {
			t.Errorf("%s: %+v %q", asked, o.Error, o.Note)
		}
	}
}

// What to use instead of packages that cannot be installed is said once, and what
// to set on the server once, at the end.
func TestInstead(t *testing.T) {
	x := newIndex(t)
	for _, name := range []string{"polars", "psycopg", "numpy", "other"} {
		x.addBytes(name+"-1.0-cp314-cp314-win_amd64.whl", []byte("x"))
	}
	b := newBase(t, nil, wheeltest.Wheel{Filename: "numpy-1.0-py3-none-any.whl"}, wheeltest.Wheel{Filename: "pandas-1.0-py3-none-any.whl"},
		wheeltest.Wheel{Filename: "scikit_learn-1.0-py3-none-any.whl"})
	reachable := x.newRunner(b, false, t.TempDir())
	x.module("modin", "1.0", "other")
	if o := run(t, reachable, "import modin"); o.Error == nil || o.Error.Hint != "Instead of modin, use pandas." {
		t.Errorf("%+v", o.Error)
	}
	x.add(wheeltest.Wheel{Filename: "dask-1.0-py3-none-any.whl", Files: map[string]string{"dask/__init__.py": "", "dask/frames.py": "import other"}})
	if o := run(t, reachable, "import dask\ntry: import other\nexcept ImportError: pass\nimport dask.frames"); o.Error == nil || o.Error.Hint != "Instead of dask, use pandas." {
		t.Errorf("%+v", o.Error)
	}
	o := run(t, reachable, "import polars, psycopg")
	refused(t, o, "polars", "only wheels for win")
	if want := "Instead of polars, use pandas; instead of psycopg, use sqlite3, or pg8000 for a server that network access allows."; o.Error.Hint != want {
		t.Errorf("%q, want %q", o.Error.Hint, want)
	}
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer cut.Close()
	b.url = cut.URL
	unreachable := x.newRunner(b, false, t.TempDir())
	o = run(t, unreachable, "import numpy")
	refused(t, o, "numpy", "cannot be fetched")
	model, server, _ := strings.Cut(o.Error.Hint, "\n")
	if model != "Instead of numpy, use array, math and statistics." || !strings.Contains(server, "PYODIDE_PACKAGE_BASE_URL can name another place with Pyodide's builds of numpy.") {
		t.Errorf("%q", o.Error.Hint)
	}
	for _, p := range o.Error.Packages {
		if strings.Contains(p.Reason, "PYODIDE") {
			t.Errorf("%+v", p)
		}
	}
	x.addBytes("xgboost-1.0-cp314-cp314-win_amd64.whl", []byte("x"))
	if o := run(t, unreachable, "import xgboost"); o.Error == nil || o.Error.Hint != "Instead of xgboost, use array, math and statistics." {
		t.Errorf("%+v", o.Error)
	}
	for _, name := range []string{"tokenizers", "safetensors"} {
		x.addBytes(name+"-1.0-cp314-cp314-win_amd64.whl", []byte("x"))
	}
	x.module("transformers", "1.0", "tokenizers", "safetensors")
	if o := run(t, unreachable, "import transformers"); o.Error == nil || strings.Count(o.Error.Hint, "nstead of ") != 1 {
		t.Errorf("%+v", o.Error)
	}
	// what the program does not import it cannot write otherwise
	x.addBytes("lxml-1.0-cp314-cp314-win_amd64.whl", []byte("x"))
	x.module("report", "1.0", "lxml")
	if o := run(t, reachable, "import report"); o.Error == nil || o.Error.Hint != "" {
		t.Errorf("%+v", o.Error)
	}
	if o := run(t, reachable, "import report, lxml"); o.Error == nil || !strings.HasPrefix(o.Error.Hint, "Instead of lxml, use xml.etree") {
		t.Errorf("%+v", o.Error)
	}
	// the program does not name what its package needs
	x.module("streamlit", "1.0", "polars")
	if o := run(t, unreachable, "import streamlit"); o.Error == nil || !strings.HasPrefix(o.Error.Hint, "Instead of streamlit, use print()") || strings.Contains(o.Error.Hint, "polars, use") {
		t.Errorf("%+v", o.Error)
	}
	for _, want := range []string{"Instead of polars, use csv, sqlite3 and statistics.", "Instead of polars, use pandas."} {
		if o := run(t, unreachable, "import polars"); o.Error == nil || o.Error.Hint != want {
			t.Errorf("%+v, want %q", o.Error, want)
		}
		x.module("pandas", "1.0") // the index has it, too
	}
}
