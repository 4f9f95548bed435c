//go:build linux

package hostile

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coderunner/internal/sample"
)

// TestRegistries has registries that fail in every way: 47 to 49 and 52.
//
// Row 47.
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
	type attempt struct{ name, lang, code string }
	var attempts []attempt
	for n, name := range slices.Sorted(maps.Keys(ways)) {
		way, project := ways[name], fmt.Sprintf("way%d", n)
		filename := project + "-1.0-py3-none-any.whl"
		// The index fails; the file fails.
		r.page("/simple/"+project+"i/", way([]byte("<a>")))
		r.wheel(project, filename, good, "")
		r.page("/files/"+filename, way(good))
		r.page("/npm/"+project+"i", way([]byte(`{"name":`)))
		r.npm(project, map[string]string{"package/package.json": `{"name":"` + project + `","version":"1.0.0"}`}, nil)
		r.page("/npm/"+project+"/-/"+project+"-1.0.0.tgz", way(good512))
		attempts = append(attempts, attempt{"index " + name, python, "import " + project + "i"})
		if name != "long" { // what is beyond the end of the archive has another digest
			attempts = append(attempts, attempt{"wheel " + name, python, "import " + project})
		}
		attempts = append(attempts, attempt{"document " + name, javascript, "import '" + project + "i'"},
			attempt{"tarball " + name, javascript, "import '" + project + "'"})
	}
	t.Run("all", func(t *testing.T) {
		for _, a := range sample.Of(t, 8, attempts) {
			t.Run(a.lang+" "+a.name, func(t *testing.T) {
				t.Parallel()
				o, text, err := s.run(arguments{Language: a.lang, Code: a.code, Timeout: 10})
				status := "error"
				if err == nil {
					status = o.Status
				}
				if status != "not_installed" || text == "" {
					t.Errorf("%s: %v %s", status, err, clip(text, 500))
				}
			})
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

// TestSlowRegistry has one that never answers. The client gives up.
//
// Row 48.
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
	}
}

// TestNPM offers packages that are wrong.
//
// Row 52.
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
	r.npm("goodness", manifest("goodness", ""), nil)
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
		{"goodness", succeeded, "x1"}, {"scripts", succeeded, "x1"}, {"integrity", absent, ""},
		{"mainout", []string{"failed", "not_installed"}, ""}, {"exportsout", []string{"failed", "not_installed"}, ""},
		{"upward", nil, ""}, {"linked", []string{"failed", "not_installed"}, ""}, {"reads", refused, ""}, {"spawns", refused, ""},
		{"poisons", succeeded, "wrote 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := expect{status: c.want, has: c.has}
			o, text, err := s.run(arguments{Language: javascript, Code: "import x from '" + c.name + "'; String(x)", Timeout: 10})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range a.judge(o, text) {
				t.Error(w)
			}
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
