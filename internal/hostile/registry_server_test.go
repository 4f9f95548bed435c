//go:build linux

package hostile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"coderunner/runners/python/wheel/wheeltest"
)

// registry is an npm registry and a Python index that the suite makes, and
// that may lie.
type registry struct {
	server *httptest.Server
	end    chan struct{}
	other  http.HandlerFunc // what answers to other paths; nil: nothing is there

	mu     sync.Mutex
	pages  map[string]http.HandlerFunc // by path
	wheels map[string]string           // the links of a project's page, by project
	asked  map[string]int
}

func newRegistry(t *testing.T) *registry { return newSecureRegistry(t, nil) }

// newSecureRegistry makes one that speaks TLS, unless the certificate is nil.
func newSecureRegistry(t *testing.T, certificate *tls.Certificate) *registry {
	r := &registry{pages: map[string]http.HandlerFunc{}, wheels: map[string]string{}, asked: map[string]int{}, end: make(chan struct{})}
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if certificate == nil {
		r.server.Start()
	} else {
		r.server.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
		r.server.StartTLS()
	}
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
		page = r.other
	}
	if page == nil {
		page = http.NotFound
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

// wheel publishes bytes as one of the project's wheels, with the digest sum, ""
// for the right one.
func (r *registry) wheel(project, filename string, body []byte, sum string) {
	if sum == "" {
		sum = wheeltest.SHA256(body)
	}
	r.page("/files/"+filename, bytesPage(body))
	r.mu.Lock()
	r.wheels[project] += fmt.Sprintf(`<a href="/files/%s#sha256=%s">%s</a>`, filename, sum, filename)
	page := r.wheels[project]
	r.mu.Unlock()
	r.project(project, page)
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
