//go:build linux

package hostile

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"coderunner/internal/sample"
	"coderunner/runners/python/wheel/wheeltest"
)

// leb writes a number as WebAssembly does.
func leb(n uint64) string {
	var b []byte
	for {
		b = append(b, byte(n&127))
		if n >>= 7; n == 0 {
			return string(b)
		}
		b[len(b)-1] |= 128
	}
}

func section(id byte, body string) string { return string(id) + leb(uint64(len(body))) + body }

// dylink is the section that makes a module a library: how much memory and
// table it wants.
func dylink(memory, align, table, tableAlign uint64) string {
	info := leb(memory) + leb(align) + leb(table) + leb(tableAlign)
	return section(0, "\x08dylink.0\x01"+leb(uint64(len(info)))+info)
}

// sideModules are libraries that are wrong, by the name of the package.
func sideModules() map[string]string {
	const head = "\x00asm\x01\x00\x00\x00"
	ok := dylink(0, 0, 0, 0)
	loop := section(1, "\x01\x60\x00\x00") + section(3, "\x01\x00") + section(8, "\x00") + section(10, "\x01\x07\x00\x03\x40\x0c\x00\x0b\x0b")
	return map[string]string{
		"empty": "", "nowasm": "\x7fELF", "headonly": head, "nodylink": head + loop,
		"truncated": (head + ok + loop)[:40],
		"fourgb":    head + dylink(0xfffffff0, 0, 0, 0), "hugetable": head + dylink(0, 0, 0xfffffff0, 0),
		"halfgb":   head + dylink(512<<20, 0, 0, 0),
		"aligned":  head + dylink(16, 31, 16, 31),
		"overflow": head + dylink(1<<40, 40, 0, 0),
		"longpart": head + ok + "\x00" + leb(0xffffffff),
		"manyfun":  head + ok + section(1, "\x01\x60\x00\x00") + section(3, leb(0xffffffff)+"\x00"),
		"unknown":  head + ok + section(1, "\x01\x60\x00\x00") + section(2, "\x01\x03env\x06nobody\x00\x00"),
		"needs":    head + section(0, "\x08dylink.0\x02\x0b\x01\x09nobody.so"),
		"selfneed": head + section(0, "\x08dylink.0\x02\x0d\x01\x0bselfneed.so"),
		"othermem": head + ok + section(2, "\x01\x03env\x06memory\x02\x00"+leb(65536)),
		"bigdata":  head + ok + section(5, "\x01\x00\x01") + section(11, "\x01\x00\x41"+leb(0x7ffffff0)+"\x0b\x01x"),
		"loops":    head + ok + loop,
		"bomb":     compileBomb(),
	}
}

// compileBomb is a library of 45 KB which takes gigabytes to compile: wazero
// reloads all global variables after each call.
func compileBomb() string {
	body := "\x00" + strings.Repeat("\x10\x00", 10_000) + "\x0b"
	return "\x00asm\x01\x00\x00\x00" + dylink(0, 0, 0, 0) + section(1, "\x01\x60\x00\x00") + section(3, "\x01\x00") +
		section(6, leb(5000)+strings.Repeat("\x7f\x01\x41\x00\x0b", 5000)) +
		section(10, "\x01"+leb(uint64(len(body)))+body)
}

// TestSideModules offers wheels with broken libraries. Each is imported
// three times: what a program imports is put into a snapshot meanwhile, by an
// interpreter of the server's own.
//
// Row 44.
func TestSideModules(t *testing.T) {
	needsServer(t)
	t.Parallel()
	r := newRegistry(t)
	for name, library := range sideModules() {
		w := wheeltest.Wheel{Filename: name + "-1.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl", Files: map[string]string{
			name + ".cpython-314-wasm32-emscripten.so": library,
		}}
		r.wheel(name, w.Filename, w.Build(), "")
	}
	for tags, files := range map[string]map[string]string{
		"cp314-cp314-pyemscripten_2026_0_wasm32": {"both.cpython-314-wasm32-emscripten.so": compileBomb()},
		"py3-none-any":                           {"both.py": "kind = 'pure'"},
	} {
		w := wheeltest.Wheel{Filename: "both-1.0-" + tags + ".whl", Files: files}
		r.wheel("both", w.Filename, w.Build(), "")
	}
	s := start(t, settings{env: r.env(), cache: ownCache(t)})
	for _, name := range sample.Of(t, 3, slices.Sorted(maps.Keys(sideModules()))) {
		t.Run(name, func(t *testing.T) {
			timeout := 30.0
			for range 3 {
				a := expect{status: []string{"failed", "not_installed", "out_of_memory"}}
				if name == "loops" {
					a.status, timeout = timedOut, 2
				}
				o, text, err := s.run(arguments{Language: python, Code: "import " + name, Timeout: timeout})
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range a.judge(o, text) {
					t.Error(w)
				}
				if o.Status == "failed" && (o.Error == nil || o.Error.Type != "ImportError" && o.Error.Type != "MemoryError") {
					t.Errorf("no ImportError: %s", clip(text, 300))
				}
			}
		})
	}
	t.Run("a pure wheel beside it", func(t *testing.T) {
		a := expect{status: succeeded, has: "pure"}
		o, text, err := s.run(arguments{Language: python, Code: "import both\nprint(both.kind)", Timeout: 30})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range a.judge(o, text) {
			t.Error(w)
		}
	})
	t.Run("a program's own", func(t *testing.T) {
		code := fmt.Sprintf("import base64, ctypes\nopen('own.so', 'wb').write(base64.b64decode(%q))\nctypes.CDLL('./own.so')",
			base64.StdEncoding.EncodeToString([]byte(compileBomb())))
		a := expect{status: refused, has: "compiling it takes too much"}
		o, text, err := s.run(arguments{Language: python, Code: code, Timeout: 30})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range a.judge(o, text) {
			t.Error(w)
		}
	})
	if err := s.probe(python); err != nil {
		t.Error(err)
	}
	if rss := s.rss(); rss > 1<<30 {
		t.Errorf("the server takes %d MiB", rss>>20)
	}
}

// TestSilentFailure asks for packages that cannot be had where others would
// report success.
//
// Row 46.
func TestSilentFailure(t *testing.T) {
	needsServer(t)
	t.Parallel()
	install := "import micropip\nawait micropip.install('numpy')\n'installed'"
	type attempt struct {
		name string
		code string
		pkgs []string
		want []string
		has  string
		page http.HandlerFunc
	}
	var attempts []attempt
	for _, c := range []attempt{
		{"import", "import numpy\n'installed'", nil, absent, "numpy", nil},
		{"argument", "'installed'", []string{"numpy"}, absent, "numpy", nil},
		{"in the program", install, nil, []string{"failed", "not_installed"}, "numpy", nil},
		{"caught", "import micropip\ntry:\n    await micropip.install('numpy')\nexcept Exception as e: print('refused', type(e).__name__)\nimport numpy", nil, []string{"failed", "not_installed"}, "numpy", nil},
		{"no such module in it", "import hollow\n'installed'", []string{"hollow"}, refused, "ModuleNotFoundError", nil},
	} {
		name := c.name + " and the CDN "
		c.name, c.page = name+"is away", http.NotFound
		attempts = append(attempts, c)
		c.name, c.page = name+"answers HTML", bytesPage([]byte("<html>Sign in to the hotel</html>"))
		attempts = append(attempts, c)
		c.name, c.page = name+"answers empty", bytesPage(nil)
		attempts = append(attempts, c)
	}
	for _, c := range sample.Of(t, 4, attempts) {
		t.Run(c.name, func(t *testing.T) {
			r := newRegistry(t)
			r.other = c.page // Pyodide's packages are under names that have versions in them
			w := wheeltest.Wheel{Filename: "hollow-1.0-py3-none-any.whl", Files: map[string]string{"other_name.py": ""}}
			r.wheel("hollow", w.Filename, w.Build(), "")
			s := start(t, settings{env: r.env(), cache: suiteCache})
			a := expect{status: c.want, has: c.has, not: "'installed'"}
			o, text, err := s.run(arguments{Language: python, Code: c.code, Packages: c.pkgs, Timeout: 30})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range a.judge(o, text) {
				t.Error(w)
			}
			if o.text() == "'installed'" {
				t.Errorf("it says that it is installed: %s", clip(text, 300))
			}
		})
	}
}

// TestLargeIndex has indexes that are large or are none.
//
// Row 49.
func TestLargeIndex(t *testing.T) {
	needsServer(t)
	t.Parallel()
	r := newRegistry(t)
	s := start(t, settings{env: r.env(), cache: ownCache(t)})
	if err := s.probe(python); err != nil {
		t.Fatal(err)
	}
	typed := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(body))
		}
	}
	const simple = "application/vnd.pypi.simple.v1+json"
	for name, page := range map[string]http.HandlerFunc{
		"manylinks": typed("text/html", strings.Repeat(`<a href="/files/x-1-py3-none-any.whl">x-1-py3-none-any.whl</a>`+"\n", 1_000_000)),
		"malformed": typed(simple, `{"files": [{"filename": "malformed-1.0-py3-none-any.whl"`),
		"nested":    typed(simple, strings.Repeat(`{"files":[`, 200_000)),
		"deephtml":  typed("text/html", strings.Repeat("<div>", 500_000)),
		"longtag":   typed("text/html", "<a href=\""+strings.Repeat("x", 20_000_000)),
		"swapped":   typed(simple, "<html><a href='swapped-1.0-py3-none-any.whl'>x</a>"),
		"script":    typed("text/javascript", "alert(1)"),
		"binary":    typed("", strings.Repeat("\x00\xff", 1_000_000)),
		"oddjson":   typed(simple, `{"meta":{"api-version":"1.0"},"name":1e999,"files":[{"filename":5,"url":{},"hashes":[]}]}`),
	} {
		r.page("/simple/"+name+"/", page)
		t.Run(name, func(t *testing.T) {
			o, text, err := s.run(arguments{Language: python, Code: "import " + name, Timeout: 5})
			if err != nil || o.Status != "not_installed" || !strings.Contains(text, name) {
				t.Errorf("%v %s", err, clip(text, 500))
			}
		})
	}
	if err := s.probe(python); err != nil {
		t.Error(err)
	}
	if rss := s.rss(); rss > 1<<30 {
		t.Errorf("the server takes %d MiB", rss>>20)
	}
}

// TestRegistryRedirects has registries that send us elsewhere. A public one,
// which we reach through a proxy, may not lead to a private address, and one
// that speaks TLS may not lead to one that does not. Deno, which fetches npm
// packages itself, follows redirects; what it gets there is no package.
//
// Row 47.
func TestRegistryRedirects(t *testing.T) {
	needsServer(t)
	t.Parallel()
	private, hits := listen(t)
	cache := ownCache(t)
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, to, http.StatusFound) }
	}
	offer := func(r *registry, name, to string) []arguments {
		r.page("/simple/"+name+"i/", redirect(to))
		w := module(name, "x = 1")
		r.wheel(name, w.Filename, w.Build(), "")
		r.page("/files/"+w.Filename, redirect(to))
		r.page("/npm/"+name, redirect(to))
		return []arguments{{Language: python, Code: "import " + name + "i"}, {Language: python, Code: "import " + name}, {Language: javascript, Code: "import '" + name + "'"}}
	}
	refuse := func(t *testing.T, s *server, what string, calls []arguments) {
		for _, a := range calls {
			before := hits()
			o, text, err := s.run(a)
			if err != nil || o.Status != "not_installed" {
				t.Errorf("%s: %v %s", a.Code, err, clip(text, 400))
			}
			if n := hits() - before; n != 0 && a.Language == python {
				t.Errorf("%s: %s: %d connections to a private address", what, a.Code, n)
			} else if n != 0 { // SECURITY.md says so
				t.Logf("%s: %s: Deno connects to a private address", what, a.Code)
			}
		}
	}
	t.Run("public to private", func(t *testing.T) {
		r := newRegistry(t) // as a proxy, it is any host
		s := start(t, settings{cache: cache, env: append(r.env(), "HTTP_PROXY="+r.server.URL, "http_proxy="+r.server.URL, "NO_PROXY=", "no_proxy=",
			"PIP_INDEX_URL=http://registry.test/simple/", "NPM_CONFIG_REGISTRY=http://registry.test/npm/")})
		_, port, _ := strings.Cut(private, ":")
		for i, host := range sample.Of(t, 2, []string{"127.0.0.1", "[::1]", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"}) {
			refuse(t, s, "redirect to "+host, offer(r, fmt.Sprintf("to%d", i), "http://"+host+":"+port+"/x"))
		}
	})
	t.Run("TLS to none", func(t *testing.T) {
		ca := newAuthority(t)
		r := newSecureRegistry(t, ca.issue(t, nil))
		s := start(t, settings{cache: cache, env: append(r.env(), "SSL_CERT_FILE="+ca.file, "SSL_CERT_DIR=")})
		refuse(t, s, "redirect to http", offer(r, "down", "http://"+private+"/x"))
	})
	t.Run("another scheme", func(t *testing.T) {
		r := newRegistry(t)
		s := start(t, settings{cache: cache, env: r.env()})
		for i, to := range sample.Of(t, 2, []string{"ftp://" + private + "/x", "file:///etc/passwd", "data:text/html,<a>", "//", "http://"}) {
			refuse(t, s, "redirect to "+to, offer(r, fmt.Sprintf("scheme%d", i), to))
		}
	})
}
