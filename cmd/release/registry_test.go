package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/internal/versions"
)

// serveNPM is a registry of npm with the packages of a directory, and the others of the
// registry that is the default, as a mirror has them.
func serveNPM(t *testing.T, dir string) string {
	t.Helper()
	packuments := map[string]map[string]any{}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	names, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || names == nil {
		t.Fatalf("%s has no packages: %v", dir, err)
	}
	for _, name := range names {
		data := []byte(readFile(t, name))
		var m map[string]any
		if err := json.Unmarshal(untar(t, data)["package/package.json"], &m); err != nil {
			t.Fatal(err)
		}
		sum, old := sha512.Sum512(data), sha1.Sum(data)
		m["dist"] = map[string]any{"tarball": server.URL + "/-/" + filepath.Base(name), "shasum": fmt.Sprintf("%x", old),
			"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		version := m["version"].(string)
		packuments[m["name"].(string)] = map[string]any{"name": m["name"], "dist-tags": map[string]any{"latest": version}, "versions": map[string]any{version: m}}
	}
	upstream, err := url.Parse(versions.NPMRegistry)
	if err != nil {
		t.Fatal(err)
	}
	others := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) }}
	mux.Handle("GET /-/", http.StripPrefix("/-/", http.FileServerFS(os.DirFS(dir))))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, req *http.Request) {
		p, ok := packuments[strings.TrimPrefix(req.URL.Path, "/")]
		if !ok {
			others.ServeHTTP(w, req)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(p)
	})
	return server.URL + "/"
}

// untar returns the files of a compressed archive.
func untar(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err == nil {
			files[h.Name], err = io.ReadAll(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// servePyPI is a Python package index with the wheels of a directory.
func servePyPI(t *testing.T, dir, project string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || names == nil {
		t.Fatalf("%s has no wheels: %v", dir, err)
	}
	var page strings.Builder
	page.WriteString("<!DOCTYPE html><html><body>\n")
	for _, name := range names {
		base := html.EscapeString(filepath.Base(name))
		fmt.Fprintf(&page, "<a href=\"/files/%s#sha256=%x\">%s</a>\n", base, sha256.Sum256([]byte(readFile(t, name))), base)
	}
	page.WriteString("</body></html>\n")
	mux := http.NewServeMux()
	mux.Handle("GET /files/", http.StripPrefix("/files/", http.FileServerFS(os.DirFS(dir))))
	mux.HandleFunc("GET /simple/"+project+"/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, page.String())
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/simple/"
}
