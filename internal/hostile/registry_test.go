//go:build linux

package hostile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coderunner/runners/python/wheel/wheeltest"
)

// registry is an npm registry and a Python index that the suite makes, and
// that may lie.
type registry struct {
	server *httptest.Server
	end    chan struct{}

	mu    sync.Mutex
	pages map[string]http.HandlerFunc // by path
	asked map[string]int
}

func newRegistry(t *testing.T) *registry {
	r := &registry{pages: map[string]http.HandlerFunc{}, asked: map[string]int{}, end: make(chan struct{})}
	r.server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(func() {
		close(r.end)
		r.server.CloseClientConnections()
		r.server.Close()
	})
	return r
}

func (r *registry) env() []string {
	return []string{"PIP_INDEX_URL=" + r.server.URL + "/simple/", "NPM_CONFIG_REGISTRY=" + r.server.URL + "/npm/",
		"PYODIDE_PACKAGE_BASE_URL=" + r.server.URL + "/pyodide/", "HTTP_PROXY=", "http_proxy=", "HTTPS_PROXY=", "https_proxy="}
}

func (r *registry) serve(w http.ResponseWriter, req *http.Request) {
	path := req.URL.EscapedPath()
	r.mu.Lock()
	page := r.pages[path]
	r.asked[path]++
	r.mu.Unlock()
	if page == nil {
		http.NotFound(w, req)
		return
	}
	page(w, req)
}

func (r *registry) page(path string, f http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pages[path] = f
}

// paths are those that were asked for.
func (r *registry) paths() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.asked))
}

func bytesPage(b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(b) }
}

// wheel publishes bytes as a wheel, with the digest sum, "" for the right one.
func (r *registry) wheel(project, filename string, body []byte, sum string) {
	if sum == "" {
		sum = wheeltest.SHA256(body)
	}
	r.page("/files/"+filename, bytesPage(body))
	r.project(project, fmt.Sprintf(`<a href="/files/%s#sha256=%s">%s</a>`, filename, sum, filename))
}

func (r *registry) project(name, page string) {
	r.page("/simple/"+name+"/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	})
}

// module is a wheel that is as it should be.
func module(name, text string, requires ...string) wheeltest.Wheel {
	return wheeltest.Wheel{Filename: name + "-1.0-py3-none-any.whl", Files: map[string]string{name + ".py": text}, Requires: requires}
}

// npm publishes a package with one file, and a change of what the registry
// says of it.
func (r *registry) npm(name string, files map[string]string, change func(doc map[string]any)) {
	tgz := tarball(files)
	sum := sha512.Sum512(tgz)
	var manifest map[string]any
	if err := json.Unmarshal([]byte(files["package/package.json"]), &manifest); err != nil {
		panic(err)
	}
	manifest["dist"] = map[string]any{
		"tarball": r.server.URL + "/npm/" + name + "/-/" + name + "-1.0.0.tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		"shasum": "0000000000000000000000000000000000000000",
	}
	doc := map[string]any{"name": name, "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": manifest}}
	if change != nil {
		change(doc)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	r.page("/npm/"+name, bytesPage(b))
	r.page("/npm/"+name+"/-/"+name+"-1.0.0.tgz", bytesPage(tgz))
}

// tarball builds one. A name that ends in an arrow and a path is a link.
func tarball(files map[string]string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for name, text := range files {
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if link, target, ok := strings.Cut(name, "->"); ok {
			h = &tar.Header{Name: link, Linkname: target, Typeflag: tar.TypeSymlink, Mode: 0o777}
		}
		if err := w.WriteHeader(h); err != nil {
			panic(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(text)); err != nil {
				panic(err)
			}
		}
	}
	if w.Close() != nil || z.Close() != nil {
		panic("close")
	}
	return out.Bytes()
}

// TestWheels offers wheels that are wrong: 37 to 46. None is installed, all of
// them are explained, and nothing of them is left.
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
				results.add(attack{row: a.row, name: "wheel: " + a.project, lang: python}, t.Failed(), o.Status, o.Usage.RunMS)
			})
		}
	})
	for _, name := range tree(s.cache, unstable) {
		if strings.HasSuffix(name, "evil") || strings.Contains(name, "..") || strings.Contains(name, "bomb.bin") {
			t.Errorf("the cache has %s", name)
		}
	}
	if left := len(tree(s.cache, unstable)) - len(before); left > 60 {
		t.Errorf("%d more files in the cache", left)
	}
}

// TestRegistries has registries that fail in every way: 47 to 49 and 52.
func TestRegistries(t *testing.T) {
	needsServer(t)
	t.Parallel()
	r := newRegistry(t)
	s := start(t, settings{env: r.env(), cache: ownCache(t)})
	for _, lang := range []string{python, javascript} {
		if err := s.probe(lang); err != nil {
			t.Fatal(err)
		}
	}
	good := module("good", "x = 1").Build()
	good512 := tarball(map[string]string{"package/package.json": `{"name":"good","version":"1.0.0","main":"i.js"}`, "package/i.js": "module.exports = 1"})
	ways := map[string]func(body []byte) http.HandlerFunc{
		"status 429": func([]byte) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(429)
			}
		},
		"status 500": func([]byte) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
		},
		"status 503": func([]byte) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }
		},
		"reset": func(body []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(body)))
				_, _ = w.Write(body[:len(body)/2])
				panic(http.ErrAbortHandler)
			}
		},
		"short": func(body []byte) http.HandlerFunc { return bytesPage(body[:len(body)/2]) },
		"long":  func(body []byte) http.HandlerFunc { return bytesPage(append(append([]byte{}, body...), body...)) },
		"empty": func([]byte) http.HandlerFunc { return bytesPage(nil) },
		"HTML":  func([]byte) http.HandlerFunc { return bytesPage([]byte("<html><script>alert(1)</script>")) },
		"redirects": func([]byte) http.HandlerFunc {
			return func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, req.URL.Path, http.StatusFound) }
		},
		"redirect to a file": func([]byte) http.HandlerFunc {
			return func(w http.ResponseWriter, req *http.Request) {
				http.Redirect(w, req, "file:///etc/passwd", http.StatusFound)
			}
		},
		"compressed bomb": func([]byte) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(zeros())
			}
		},
		"endless": func([]byte) http.HandlerFunc {
			return func(w http.ResponseWriter, req *http.Request) {
				line := []byte(`<a href="x-1-py3-none-any.whl">` + strings.Repeat("y", 1000) + "</a>\n")
				for range 300_000 {
					if _, err := w.Write(line); err != nil {
						return
					}
				}
			}
		},
	}
	t.Run("all", func(t *testing.T) {
		n := 0
		for name, way := range ways {
			n++
			project := fmt.Sprintf("way%d", n)
			filename := project + "-1.0-py3-none-any.whl"
			run := func(what, lang, code string) {
				t.Run(lang+" "+what+" "+name, func(t *testing.T) {
					t.Parallel()
					o, text, err := s.run(arguments{Language: lang, Code: code, Timeout: 10})
					status := "error"
					if err == nil {
						status = o.Status
					}
					if status != "not_installed" || text == "" {
						t.Errorf("%s: %v %s", status, err, clip(text, 500))
					}
					results.add(attack{row: "47", name: what + ": " + name, lang: lang}, t.Failed(), status, 0)
				})
			}
			// The index fails; the file fails.
			r.page("/simple/"+project+"i/", way([]byte("<a>")))
			run("index", python, "import "+project+"i")
			r.wheel(project, filename, good, "")
			r.page("/files/"+filename, way(good))
			if name != "long" { // what is beyond the end of the archive has another digest
				run("wheel", python, "import "+project)
			}
			r.page("/npm/"+project+"i", way([]byte(`{"name":`)))
			run("document", javascript, "import '"+project+"i'")
			r.npm(project, map[string]string{"package/package.json": `{"name":"` + project + `","version":"1.0.0"}`}, nil)
			r.page("/npm/"+project+"/-/"+project+"-1.0.0.tgz", way(good512))
			run("tarball", javascript, "import '"+project+"'")
		}
	})
	for _, lang := range []string{python, javascript} {
		if err := s.probe(lang); err != nil {
			t.Error(err)
		}
	}
	if rss := s.rss(); rss > 2<<30 {
		t.Errorf("the server takes %d MiB", rss>>20)
	}
}

// zeros are many of them, compressed.
var zeros = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	chunk := make([]byte, 1<<20)
	for range 300 {
		_, _ = z.Write(chunk)
	}
	_ = z.Close()
	return b.Bytes()
})

// TestSlowRegistry has one that never answers. The client gives up: 48.
func TestSlowRegistry(t *testing.T) {
	needsServer(t)
	t.Parallel()
	r := newRegistry(t)
	asked := make(chan struct{}, 100)
	hang := func(w http.ResponseWriter, req *http.Request) {
		asked <- struct{}{}
		select {
		case <-r.end:
		case <-req.Context().Done():
		}
	}
	drip := func(w http.ResponseWriter, req *http.Request) {
		asked <- struct{}{}
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.end:
				return
			case <-req.Context().Done():
				return
			case <-tick.C:
				_, _ = w.Write([]byte(" "))
				w.(http.Flusher).Flush()
			}
		}
	}
	for _, path := range []string{"/simple/hangs/", "/npm/hangs"} {
		r.page(path, hang)
	}
	for _, path := range []string{"/simple/drips/", "/npm/drips"} {
		r.page(path, drip)
	}
	s, before := warmed(t, settings{env: r.env(), cache: ownCache(t)})
	for _, a := range []arguments{
		{Language: python, Code: "import hangs"}, {Language: python, Code: "import drips"},
		{Language: javascript, Code: "import 'hangs'"}, {Language: javascript, Code: "import 'drips'"},
	} {
		id, answer, err := s.send("tools/call", callOf(a))
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-asked:
		case m := <-answer:
			t.Fatalf("%s: %s\nasked: %v", a.Code, clip(string(m.Result), 300), r.paths())
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s: the registry is not asked", a.Code)
		}
		begun := time.Now()
		if err := s.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`); err != nil {
			t.Fatal(err)
		}
		if err := s.probe(a.Language); err != nil {
			t.Error(err)
		}
		if left := s.settle(*before); left != nil {
			t.Errorf("%s: left after %v: %q", a.Code, time.Since(begun), left)
		}
		results.add(attack{row: "48", name: "cancelled: " + a.Code, lang: a.Language}, t.Failed(), "cancelled", time.Since(begun).Milliseconds())
	}
}

// TestNPM offers packages that are wrong: 52.
func TestNPM(t *testing.T) {
	needsServer(t)
	t.Parallel()
	r := newRegistry(t)
	s := start(t, settings{env: r.env(), cache: ownCache(t)})
	if err := s.probe(javascript); err != nil {
		t.Fatal(err)
	}
	marker := t.TempDir() + "/evil"
	manifest := func(name, more string) map[string]string {
		return map[string]string{"package/package.json": `{"name":"` + name + `","version":"1.0.0","main":"i.js"` + more + `}`, "package/i.js": "module.exports = 'x' + 1"}
	}
	r.npm("good", manifest("good", ""), nil)
	r.npm("scripts", manifest("scripts", `,"scripts":{"preinstall":"touch `+marker+`","install":"touch `+marker+`","postinstall":"touch `+marker+`"}`), nil)
	r.npm("integrity", manifest("integrity", ""), func(doc map[string]any) {
		v := doc["versions"].(map[string]any)["1.0.0"].(map[string]any)
		v["dist"].(map[string]any)["integrity"] = "sha512-" + base64.StdEncoding.EncodeToString(make([]byte, 64))
	})
	r.npm("mainout", map[string]string{"package/package.json": `{"name":"mainout","version":"1.0.0","main":"../../../../../../../../../../..` + places.secret + `.json"}`}, nil)
	r.npm("exportsout", map[string]string{"package/package.json": `{"name":"exportsout","version":"1.0.0","exports":"./../../../../../../../../../../../../..` + places.secret + `.json"}`}, nil)
	up := manifest("upward", "")
	up["package/../../../../../../../../../../.."+marker] = "evil"
	r.npm("upward", up, nil)
	link := manifest("linked", "")
	link["package/link.json->"+places.secret+".json"] = ""
	link["package/i.js"] = "module.exports = require('./link.json')"
	r.npm("linked", link, nil)
	reads := manifest("reads", "")
	reads["package/i.js"] = "module.exports = require('fs').readFileSync('" + places.secret + "', 'utf8')"
	r.npm("reads", reads, nil)
	spawns := manifest("spawns", "")
	spawns["package/i.js"] = "module.exports = require('child_process').execSync('touch " + marker + "')"
	r.npm("spawns", spawns, nil)
	poisons := manifest("poisons", "")
	poisons["package/i.js"] = "const fs = require('fs'); let n = 0; for (const f of [__filename, __dirname + '/package.json', __dirname + '/new.js']) try { fs.writeFileSync(f, 'evil'); n++ } catch {}\nmodule.exports = 'wrote ' + n"
	r.npm("poisons", poisons, nil)
	for _, c := range []struct {
		name string
		want []string
		has  string
	}{
		{"good", succeeded, "x1"}, {"scripts", succeeded, "x1"}, {"integrity", absent, ""},
		{"mainout", []string{"failed", "not_installed"}, ""}, {"exportsout", []string{"failed", "not_installed"}, ""},
		{"upward", nil, ""}, {"linked", []string{"failed", "not_installed"}, ""}, {"reads", refused, ""}, {"spawns", refused, ""},
		{"poisons", succeeded, "wrote 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := attack{row: "52", name: "npm: " + c.name, lang: javascript, want: c.want, has: c.has}
			o, text, err := s.run(arguments{Language: javascript, Code: "import x from '" + c.name + "'; String(x)", Timeout: 10})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range a.judge(o, text) {
				t.Error(w)
			}
			results.add(a, t.Failed(), o.Status, o.Usage.RunMS)
		})
	}
	if tree(marker, nil) != nil || exists(marker) {
		t.Error("a package's script has run, or its file is outside")
	}
	s.mu.Lock()
	for _, l := range s.leaked {
		t.Errorf("the secret got out: %s", l)
	}
	s.mu.Unlock()
}
