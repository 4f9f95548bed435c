//go:build linux

package hostile

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"coderunner/internal/sample"
	"coderunner/runners/python/wheel/wheeltest"
)

// TestWheels offers wheels that are wrong: 37 to 46. None is installed, all of
// them are explained, and nothing of them is left.
//
// Rows 37, 38, 39, 40, 41, 42, 43, 45.
func TestWheels(t *testing.T) {
	needsServer(t)
	t.Parallel()
	r := newRegistry(t)
	s := start(t, settings{env: r.env(), cache: ownCache(t)})
	if err := s.probe(python); err != nil {
		t.Fatal(err)
	}
	with := func(name string, change func(w *wheeltest.Wheel)) {
		w := module(name, "x = 1")
		change(&w)
		r.wheel(strings.ReplaceAll(name, "_", "-"), w.Filename, w.Build(), "")
	}
	entry := func(name, path string, mode fs.FileMode) {
		with(name, func(w *wheeltest.Wheel) { w.Entries = []wheeltest.Entry{{Name: path, Text: "evil", Mode: mode}} })
	}
	type attempt struct {
		row, project, has string
		works             bool
	}
	var attempts []attempt
	refuse := func(row, project, has string) {
		attempts = append(attempts, attempt{row: row, project: project, has: has})
	}
	entry("upward", "../../../../../../../../tmp/evil", 0)
	refuse("37", "upward", "")
	entry("absolute", "/tmp/evil", 0)
	refuse("37", "absolute", "")
	entry("drive", `C:\evil`, 0)
	refuse("37", "drive", "")
	entry("backslash", `a\..\..\evil`, 0)
	refuse("37", "backslash", "")
	entry("nul", "a\x00b", 0)
	refuse("37", "nul", "")
	entry("longname", strings.Repeat("d/", 3000)+"x", 0)
	refuse("37", "longname", "")
	entry("link", "link", fs.ModeSymlink|0o777)
	refuse("38", "link", "")
	entry("twice", "twice.py", 0)
	refuse("38", "twice", "")
	entry("fold", "FOLD.py", 0)
	refuse("38", "fold", "")
	with("bomb", func(w *wheeltest.Wheel) {
		w.Files["bomb.bin"] = strings.Repeat("\x00", 700<<20)
	})
	refuse("39", "bomb", "")
	with("norecord", func(w *wheeltest.Wheel) { w.Record = func(string) string { return "" } })
	refuse("40", "norecord", "")
	with("badrecord", func(w *wheeltest.Wheel) {
		w.Record = func(text string) string { return strings.Replace(text, "sha256=", "sha256=AAAA", 1) }
	})
	refuse("40", "badrecord", "")
	with("othername", func(w *wheeltest.Wheel) { w.Metadata = "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n" })
	refuse("40", "othername", "")
	w := module("wronghash", "x = 1")
	r.wheel("wronghash", w.Filename, w.Build(), strings.Repeat("0", 64))
	refuse("41", "wronghash", "")
	r.project("nohash", `<a href="/files/nohash-1.0-py3-none-any.whl">nohash-1.0-py3-none-any.whl</a>`)
	r.page("/files/nohash-1.0-py3-none-any.whl", bytesPage(module("nohash", "x = 1").Build()))
	refuse("41", "nohash", "")
	r.project("sdist", `<a href="/files/sdist-1.0.tar.gz#sha256=`+strings.Repeat("0", 64)+`">sdist-1.0.tar.gz</a>`)
	refuse("42", "sdist", "")
	for _, tag := range []string{"cp314-cp314-manylinux_2_17_x86_64", "cp313-cp313-pyemscripten_2025_0_wasm32"} {
		name := map[bool]string{true: "linuxonly", false: "oldabi"}[strings.Contains(tag, "linux_")]
		w := wheeltest.Wheel{Filename: name + "-1.0-" + tag + ".whl", Files: map[string]string{name + ".py": "x = 1"}}
		r.wheel(name, w.Filename, w.Build(), "")
		refuse("42", name, "")
	}
	refuse("45", "nothing-here", "")
	w = module("needsmore", "x = 1", "nothing-here2>=2")
	r.wheel("needsmore", w.Filename, w.Build(), "")
	refuse("45", "needsmore", "nothing-here2")
	for _, name := range []string{"cyclea", "cycleb"} {
		w := module(name, "x = 1", map[string]string{"cyclea": "cycleb", "cycleb": "cyclea"}[name])
		r.wheel(name, w.Filename, w.Build(), "")
	}
	attempts = append(attempts, attempt{row: "45", project: "cyclea", works: true})
	w = module("shadows", "x = 1")
	w.Files["json.py"], w.Files["micropip.py"], w.Files["sitecustomize.py"] = "raise SystemExit('evil')", "raise SystemExit('evil')", "print('evil')"
	w.Files["evil.pth"] = "import sys; print('evil', file=sys.stderr)"
	r.wheel("shadows", w.Filename, w.Build(), "")
	attempts = append(attempts, attempt{row: "43", project: "shadows", works: true})
	r.project("markers", `<a href="/files/markers-1.0-py3-none-any.whl#sha256=`+wheeltest.SHA256(nil)+`" data-requires-python="&gt;=99">markers-1.0-py3-none-any.whl</a>`)
	refuse("45", "markers", "")
	r.project("yanked", `<a href="/files/yanked-1.0-py3-none-any.whl#sha256=`+wheeltest.SHA256(nil)+`" data-yanked="bad">yanked-1.0-py3-none-any.whl</a>`)
	refuse("45", "yanked", "")

	attempts = sample.Of(t, 5, attempts)
	wanted := 0 // wheels
	for _, a := range attempts {
		wanted += map[string]int{"cyclea": 2, "shadows": 1}[a.project]
	}
	before := tree(s.cache, unstable)
	t.Run("all", func(t *testing.T) {
		for _, a := range attempts {
			t.Run(a.project, func(t *testing.T) {
				t.Parallel()
				name := strings.ReplaceAll(a.project, "-", "_")
				o, text, err := s.run(arguments{Language: python, Code: "import json, " + name + "\njson.dumps(" + name + ".x)", Packages: []string{a.project}, Timeout: 20})
				if err != nil {
					t.Fatal(err)
				}
				all := o.all() + text
				switch {
				case a.works && (o.Status != "succeeded" || strings.Contains(all, "evil")):
					t.Errorf("status %s: %s", o.Status, clip(all, 500))
				case !a.works && o.Status != "not_installed":
					t.Errorf("status %s: %s", o.Status, clip(all, 500))
				case !a.works && (o.Error == nil || len(o.Error.Packages) == 0 || o.Error.Packages[0].Reason == "" || !strings.Contains(all, a.has)):
					t.Errorf("no reason: %s", clip(all, 500))
				}
			})
		}
	})
	for _, name := range tree(s.cache, unstable) {
		if strings.HasSuffix(name, "evil") || strings.Contains(name, "..") || strings.Contains(name, "bomb.bin") {
			t.Errorf("the cache has %s", name)
		}
	}
	// What is refused leaves no tree; what it has downloaded, by its digest, may
	// stay.
	trees := map[string]bool{}
	for _, name := range tree(s.cache, unstable) {
		if _, known := slices.BinarySearch(before, name); !known && strings.HasPrefix(name, "trees/wheel/") {
			trees[strings.Join(strings.Split(name, "/")[:3], "/")] = true
		}
	}
	if len(trees) != wanted {
		t.Errorf("%d more trees in the cache, want %d: %v", len(trees), wanted, trees)
	}
}
