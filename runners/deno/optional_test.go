package deno

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"coderunner/cache"
	"coderunner/runners"
	"coderunner/runners/deno/process"
)

// TestOptionalPackages has packages that can do without others, which the registry lacks, and one
// that cannot.
func TestOptionalPackages(t *testing.T) {
	const script = "let got = 'none'; try { got = require('gone') } catch (e) { got = e.code } module.exports = got"
	packages := map[string]string{
		"absent":   `"optionalDependencies":{"gone":"^1.0.0"}`,
		"outdated": `"optionalDependencies":{"gone":"^1.0.0","kept":"^9.0.0"}`,
		"above":    `"dependencies":{"absent":"1.0.0"}`,
		"needing":  `"dependencies":{"gone":"^1.0.0"}`,
		"kept":     `"dependencies":{}`,
	}
	archive := func(name string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, file := range [][2]string{{"package.json", fmt.Sprintf(`{"name":%q,"version":"1.0.0","main":"a.js",%s}`, name, packages[name])}, {"a.js", script}} {
			if err := w.WriteHeader(&tar.Header{Name: "package/" + file[0], Mode: 0o600, Size: int64(len(file[1]))}); err != nil {
				t.Error(err)
			}
			fmt.Fprint(w, file[1])
		}
		w.Close()
		z.Close()
		return b.Bytes()
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name, isArchive := strings.CutSuffix(strings.TrimPrefix(req.URL.Path, "/"), ".tgz")
		switch {
		case packages[name] == "":
			http.NotFound(w, req)
		case isArchive:
			_, _ = w.Write(archive(name))
		default:
			sum := sha512.Sum512(archive(name))
			dist, _ := json.Marshal(map[string]string{"tarball": "http://" + req.Host + "/" + name + ".tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])})
			fmt.Fprintf(w, `{"name":%q,"dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":%[1]q,"version":"1.0.0","dist":%s,%s}}}`, name, dist, packages[name])
		}
	}))
	defer server.Close()
	r := open(t, "", func(c *process.Config) {
		var err error
		if c.Cache, err = cache.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		c.NPMRegistry = server.URL + "/"
	})
	for _, name := range []string{"absent", "outdated", "above", "absent"} {
		if o := run(t, r, runners.Request{Code: "import got from 'npm:" + name + "@1'; console.log(got)"}); !strings.Contains(o.Stdout, "MODULE_NOT_FOUND") {
			t.Errorf("%s: %s %+v %s", name, o.Status, o.Error, o.Stdout)
		}
	}
	if o := run(t, r, runners.Request{Code: "import got from 'npm:needing@1'; console.log(got)"}); o.Status != runners.NotInstalled || !strings.Contains(o.Error.Packages[0].Reason, "it needs gone") {
		t.Errorf("needing: %s %+v", o.Status, o.Error)
	}
}
