package python

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/internal/versions"
	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
	"coderunner/runners/python/lockfile"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/snapshots"
	"coderunner/runners/python/trusted"
	"coderunner/runners/python/wheel/wheeltest"
)

// index is a package index with projects that the test makes. It has the real
// micropip, too.
type index struct {
	t      *testing.T
	server *httptest.Server
	json   bool // answers in JSON rather than in HTML

	mu       sync.Mutex
	files    map[string][]indexFile // by project
	bodies   map[string][]byte      // by file name
	requests []string
	status   int    // of every answer, if not 0
	user     string // who must ask, if not ""
	dir      string // where the index is one, else ""
}

type indexFile struct {
	name, sum, python, day string
	yanked                 bool
}

func newIndex(t *testing.T) *index {
	t.Helper()
	pyodidetest.Cache(t) // or skips: what asks the index needs an interpreter
	x := &index{t: t, files: map[string][]indexFile{}, bodies: map[string][]byte{}}
	x.server = httptest.NewServer(http.HandlerFunc(x.serve))
	t.Cleanup(x.server.Close)
	return x
}

// add publishes a wheel.
func (x *index) add(w wheeltest.Wheel) {
	x.addBytes(w.Filename, w.Build())
}

func (x *index) addBytes(name string, body []byte) {
	x.addFile(project(name), indexFile{name: name, sum: wheeltest.SHA256(body)}, body)
}

func (x *index) addFile(project string, f indexFile, body []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files[project] = append(x.files[project], f)
	x.bodies[f.name] = body
}

func project(filename string) string {
	name, _, _ := strings.Cut(filename, "-")
	return strings.ReplaceAll(strings.ToLower(name), "_", "-")
}

// module publishes a wheel with one module, which has the version in it.
func (x *index) module(name, version string, requires ...string) {
	module := strings.ReplaceAll(name, "-", "_")
	x.add(wheeltest.Wheel{
		Filename: fmt.Sprintf("%s-%s-py3-none-any.whl", module, version),
		Files:    map[string]string{module + ".py": fmt.Sprintf("version = %q\n", version)},
		Requires: requires,
	})
}

// asked counts the requests since the last time.
func (x *index) asked() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := x.requests
	x.requests = nil
	return list
}

func (x *index) setStatus(code int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status = code
}

func (x *index) serve(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.requests = append(x.requests, r.URL.Path)
	if x.status != 0 {
		w.WriteHeader(x.status)
		return
	}
	if user, _, _ := r.BasicAuth(); x.user != "" && user != x.user {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/files/"); ok && x.bodies[name] != nil {
		_, _ = w.Write(x.bodies[name])
		return
	}
	name, _ := strings.CutPrefix(r.URL.Path, "/simple/")
	files, ok := x.files[strings.TrimSuffix(name, "/")]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if x.json {
		x.serveJSON(w, files)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	writePage(w, files)
}

func writePage(w io.Writer, files []indexFile) {
	for _, f := range files {
		fragment, attr := "", ""
		if f.sum != "" {
			fragment = "#sha256=" + f.sum
		}
		if f.yanked {
			attr = ` data-yanked=""`
		}
		fmt.Fprintf(w, `<a href="../../files/%s%s" data-requires-python="%s"%s>%s</a>`+"\n",
			f.name, fragment, html.EscapeString(f.python), attr, f.name)
	}
}

// save makes a directory of the index, and leaves nothing for the server to say.
func (x *index) save() {
	x.t.Helper()
	x.dir = x.t.TempDir()
	write := func(name string, body []byte) {
		name = filepath.Join(x.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			x.t.Fatal(err)
		}
		if err := os.WriteFile(name, body, 0o600); err != nil {
			x.t.Fatal(err)
		}
	}
	for project, files := range x.files {
		var page bytes.Buffer
		writePage(&page, files)
		write("simple/"+project+"/index.html", page.Bytes())
	}
	for name, body := range x.bodies {
		write("files/"+name, body)
	}
	x.server.Close()
}

func (x *index) serveJSON(w http.ResponseWriter, files []indexFile) {
	w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
	list := []map[string]any{}
	for _, f := range files {
		list = append(list, map[string]any{
			"filename": f.name, "url": "/files/" + f.name, "hashes": map[string]string{"sha256": f.sum},
			"requires-python": f.python, "yanked": f.yanked, "upload-time": f.day,
		})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"meta": map[string]string{"api-version": "1.1"}, "files": list})
}

// base is a directory with packages of a lock file.
type base struct {
	dir  string
	url  string // "" is the directory's
	lock *lockfile.Lock
}

// newBase makes a directory with the wheels and a lock file of them. Dependencies
// are by wheel's file name.
func newBase(t *testing.T, depends map[string][]string, wheels ...wheeltest.Wheel) base {
	t.Helper()
	b := base{dir: t.TempDir()}
	packages := map[string]any{}
	for _, w := range wheels {
		body := w.Build()
		if err := os.WriteFile(filepath.Join(b.dir, w.Filename), body, 0o600); err != nil {
			t.Fatal(err)
		}
		name := project(w.Filename)
		packages[name] = map[string]any{
			"name": name, "version": strings.Split(w.Filename, "-")[1], "file_name": w.Filename,
			"sha256": wheeltest.SHA256(body), "imports": []string{name + "_module"}, "depends": depends[name], "package_type": "package",
		}
	}
	text, err := json.Marshal(map[string]any{
		"info": map[string]string{"python": versions.CPythonVersion, "abi_version": "2026_0"}, "packages": packages,
	})
	if err != nil {
		t.Fatal(err)
	}
	if b.lock, err = lockfile.Parse(text); err != nil {
		t.Fatal(err)
	}
	return b
}

// newRunner makes a runner with a cache of its own, the runtime that all tests
// share, and this index.
func (x *index) newRunner(b base, offline bool, dir string) *Runner {
	x.t.Helper()
	c, err := cache.Open(dir)
	if err != nil {
		x.t.Fatal(err)
	}
	if b.lock == nil {
		b = newBase(x.t, nil)
	}
	url := x.server.URL + "/simple/"
	if x.user != "" {
		url = strings.Replace(url, "http://", "http://"+x.user+":geheim@", 1)
	}
	if x.dir != "" {
		url = "file://" + filepath.ToSlash(x.dir) + "/simple/"
	}
	r, err := New(Config{Cache: c, Offline: offline, Index: url})
	if err != nil {
		x.t.Fatal(err)
	}
	rt := pyodidetest.Runtime(x.t)
	res, err := resolver.New(resolver.Config{
		Cache: c, Fetch: r.fetch, Trusted: trusted.Interpreters{Runtime: rt}, Lock: b.lock, Index: url, Base: cmp.Or(b.url, "file://"+filepath.ToSlash(b.dir)),
	})
	if err != nil {
		x.t.Fatal(err)
	}
	done := make(chan struct{})
	close(done)
	e := &engine{rt: rt, lock: b.lock, resolver: res, own: res, snapshots: snapshots.New(rt, c, r.log, true)}
	e.files = r.filesOf(rt)
	r.open = &opening{done: done, engine: e, waiters: map[*runners.ProgressFunc]bool{}}
	x.t.Cleanup(func() {
		r.cancel()
		if err := errors.Join(e.snapshots.Close(), c.Close()); err != nil {
			x.t.Error(err)
		}
	})
	return r
}

// run runs a program with packages.
func run(t *testing.T, r *Runner, code string, packages ...string) *runners.Outcome {
	t.Helper()
	limits := runners.Limits{Timeout: 2 * time.Minute} // it hangs; a busy machine may be slow
	o, err := r.Run(context.Background(), runners.Request{Language: runners.Python, Code: code, Packages: packages, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return o
}
