package coderunner_test

import (
	"go/build"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the prefix of our own import paths.
const module = "coderunner/"

// imports says for each package which of ours it may import. A package that
// is missing here fails, and so does a row without a package. Sibling packages
// under pyodide/ never import one another but for abi, hostfn, memfs,
// netstack and wasmbin; pyodide joins them.
const imports = `
	internal/netpolicy:
	internal/intercept: internal/netpolicy
	runners: internal/netpolicy
	internal/procdir:
	internal/pool:
	internal/recent:
	cache: internal/procdir
	internal/fetch: cache
	internal/versions: internal/fetch

	pyodide/abi:
	pyodide/wasmbin:
	pyodide/baton:
	pyodide/hostfn: pyodide/abi
	pyodide/memfs: pyodide/abi
	pyodide/hostdir: pyodide/abi pyodide/memfs
	pyodide/netstack: pyodide/abi pyodide/memfs
	pyodide/emscripten: pyodide/abi pyodide/hostfn pyodide/memfs pyodide/netstack
	pyodide/jsffi: pyodide/abi pyodide/hostfn
	pyodide/hashlib:
	pyodide/tlsbio:
	pyodide/linmem:
	pyodide/codestore: internal/procdir pyodide/wasmbin
	pyodide/snapshot:
	pyodide/rewrite: pyodide/wasmbin
	pyodide/dylink: pyodide/hostfn pyodide/wasmbin
	pyodide/libffi: pyodide/hostfn pyodide/wasmbin
	pyodide: internal/calendar internal/pool internal/recent pyodide/abi pyodide/baton pyodide/codestore pyodide/dylink pyodide/emscripten pyodide/hashlib pyodide/hostdir pyodide/hostfn pyodide/jsffi pyodide/libffi pyodide/linmem pyodide/memfs pyodide/netstack pyodide/rewrite pyodide/snapshot pyodide/tlsbio pyodide/wasmbin
	pyodide/modeltest:
	pyodide/pyodidetest: cache internal/fetch internal/testcache internal/versions pyodide

	internal/kernel: pyodide/abi pyodide/memfs
	internal/glob:
	internal/shell: internal/calendar internal/commands/printf internal/commands/regex internal/glob internal/kernel pyodide/abi pyodide/memfs
	internal/builder: cache internal/recent
	internal/commands/clock: internal/calendar
	internal/commands/command: internal/calendar internal/kernel pyodide/abi pyodide/memfs
	internal/commands/printf:
	internal/commands/regex:
	internal/commands/file: internal/calendar internal/commands/clock internal/commands/command internal/commands/printf internal/commands/regex internal/glob pyodide/abi
	internal/commands/archive: internal/commands/clock internal/commands/command internal/commands/file internal/commands/regex internal/glob pyodide/abi
	internal/commands/awk: internal/calendar internal/commands/command internal/commands/printf internal/commands/regex internal/kernel pyodide/abi pyodide/memfs
	internal/commands/bc: internal/commands/command
	internal/commands/diff: internal/commands/command internal/commands/file internal/commands/printf internal/commands/regex internal/glob pyodide/abi
	internal/commands/find: internal/calendar internal/commands/clock internal/commands/command internal/commands/file internal/commands/printf internal/commands/regex internal/glob pyodide/abi
	internal/commands/jq: internal/commands/command
	internal/commands/sqlite: internal/commands/command
	internal/commands/sed: internal/commands/command internal/commands/regex pyodide/abi
	internal/commands/system: internal/calendar internal/commands/clock internal/commands/command internal/commands/file internal/commands/printf internal/commands/regex internal/kernel pyodide/abi pyodide/memfs
	internal/commands/text: internal/commands/command internal/commands/printf internal/commands/regex internal/glob pyodide/abi
	internal/commands/web: internal/commands/clock internal/commands/command internal/kernel pyodide/abi pyodide/memfs pyodide/netstack
	internal/commands: internal/commands/archive internal/commands/awk internal/commands/bc internal/commands/command internal/commands/diff internal/commands/file internal/commands/find internal/commands/jq internal/commands/sed internal/commands/sqlite internal/commands/system internal/commands/text internal/commands/web internal/kernel internal/shell
	internal/sandbox:
	internal/process: internal/sandbox runners
	internal/hostile:
	runners/deno/codecache: cache internal/builder internal/recent
	internal/sample:
	internal/calendar:
	internal/testcache:
	runners/deno/deps: internal/fetch runners runners/deno/jsparse
	runners/deno/jsparse:
	runners/deno/guard: internal/netpolicy internal/sandbox
	runners/deno: cache internal/fetch internal/netpolicy internal/pool internal/procdir internal/process internal/recent internal/sandbox internal/versions runners runners/deno/codecache runners/deno/deps runners/deno/guard runners/deno/jsparse
	runners/bash: internal/commands internal/commands/web internal/kernel internal/netpolicy internal/shell pyodide/abi pyodide/memfs runners
	runners/host: internal/procdir internal/process internal/sandbox runners
	runners/python/wheel:
	runners/python/wheel/wheeltest:
	runners/python/index:
	runners/python/requirement: runners/python/wheel
	runners/python/imports: runners/python/requirement runners/python/wheel
	runners/python/hostdirs: pyodide runners
	runners/python/lockfile: runners/python/wheel
	runners/python/resolver: cache internal/fetch internal/versions runners runners/python/index runners/python/lockfile runners/python/requirement runners/python/wheel
	runners/python: cache internal/builder internal/commands internal/commands/web internal/fetch internal/kernel internal/netpolicy internal/notebook internal/pool internal/recent internal/shell internal/versions pyodide pyodide/abi pyodide/memfs pyodide/netstack runners runners/python/hostdirs runners/python/imports runners/python/lockfile runners/python/requirement runners/python/resolver
	runners/runnertest: internal/sample runners

	internal/session: runners
	internal/session/bucket: internal/session
	internal/images:
	internal/notebook: runners
	internal/answer: internal/images runners
	internal/server: internal/answer internal/images internal/netpolicy internal/notebook internal/session internal/sysmem runners
	internal/httpserve: internal/server internal/session runners
	internal/sysmem:
	internal/clients:
	internal/bench:
	internal/compiler: pyodide
	cmd/coderunner: cache internal/clients internal/compiler internal/fetch internal/httpserve internal/intercept internal/netpolicy internal/notebook internal/session/bucket internal/versions internal/sandbox internal/server internal/session internal/sysmem runners runners/bash runners/deno runners/host runners/python
`

// capabilities says for each thing that reaches out of Go's safe world the
// only packages that may use it.
const capabilities = `
	os/exec: internal/bench internal/compiler internal/process runners/deno runners/host
	net: internal/commands/web internal/fetch internal/httpserve internal/intercept internal/netpolicy pyodide/netstack pyodide/tlsbio runners/deno/guard runners/python
	net/http: internal/commands/web internal/fetch internal/httpserve internal/intercept internal/netpolicy internal/server internal/session/bucket runners/python/resolver
	unsafe: internal/sandbox pyodide/linmem
	plugin:
	C:
	github.com/mark3labs/mcp-go: internal/bench internal/server
	github.com/tetratelabs/wazero: pyodide pyodide/codestore pyodide/dylink pyodide/emscripten pyodide/hostfn pyodide/jsffi pyodide/libffi pyodide/linmem
	mvdan.cc/sh/v3: internal/shell
	github.com/spf13/cobra: cmd/coderunner
	github.com/spf13/pflag: cmd/coderunner
	github.com/schollz/progressbar/v3: cmd/coderunner
	github.com/peterh/liner: cmd/coderunner
	github.com/google/shlex: cmd/coderunner
	github.com/dlclark/regexp2: internal/commands/regex
	github.com/itchyny/gojq: internal/commands/jq
	github.com/ulikunitz/xz: internal/commands/archive
	golang.org/x/term: cmd/coderunner
	golang.org/x/crypto: internal/commands/text pyodide/hashlib
	golang.org/x/sys: cache cmd/coderunner internal/compiler internal/process internal/sandbox pyodide pyodide/hostdir pyodide/linmem runners/deno/guard
	golang.org/x/sync: cache cmd/coderunner internal/bench internal/compiler internal/httpserve internal/session pyodide runners/deno runners/python runners/python/resolver
	golang.org/x/image: internal/images
	golang.org/x/net: cmd/coderunner internal/httpserve runners/deno/guard runners/python/index
	golang.org/x/text: cmd/coderunner internal/commands/text
	golang.org/x/tools/txtar: runners/runnertest
	go.uber.org/zap: cmd/coderunner internal/builder internal/httpserve internal/server internal/session runners/bash runners/deno runners/deno/codecache runners/python
	github.com/minio/minio-go/v7: internal/session/bucket
	github.com/prometheus/client_golang: internal/httpserve
	github.com/coreos/go-oidc/v3: internal/httpserve
	go.opentelemetry.io/otel: internal/httpserve
	github.com/gofrs/flock: cache internal/procdir internal/session
	github.com/google/renameio/v2: cmd/coderunner internal/clients runners/python/resolver
	github.com/rogpeppe/go-internal: internal/clients
	github.com/tailscale/hujson: internal/clients
	go.yaml.in/yaml/v3: internal/clients
	github.com/pelletier/go-toml/v2: internal/clients runners/python/requirement
	deps.dev/util/pypi: runners/python/resolver runners/python/wheel
	deps.dev/util/semver: runners/deno runners/python/requirement runners/python/resolver
`

// parse reads a table of "name: word word".
func parse(t *testing.T, table string) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, words, ok := strings.Cut(line, ":")
		if _, twice := rows[name]; !ok || twice {
			t.Fatalf("bad row %q", line)
		}
		rows[name] = strings.Fields(words)
	}
	return rows
}

// packages reads the imports of every package in the tree, for all systems.
// It reads the sources itself: the answer of a go command would be kept from
// a run on another tree.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	ctx := build.Default
	ctx.UseAllFiles = true
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); dir != "." && (name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			return filepath.SkipDir
		}
		p, err := ctx.ImportDir(dir, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		if err != nil {
			return err
		}
		if len(p.GoFiles) > 0 {
			found[filepath.ToSlash(dir)] = p.Imports
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 5 {
		t.Fatalf("found only %d packages", len(found))
	}
	return found
}

func TestImports(t *testing.T) {
	allowed := parse(t, imports)
	found := packages(t)
	for _, p := range slices.Sorted(maps.Keys(found)) {
		may, ok := allowed[p]
		if !ok {
			t.Errorf("%s is not in the table of imports", p)
			continue
		}
		for _, path := range found[p] {
			if ours, ok := strings.CutPrefix(path, module); ok && !slices.Contains(may, ours) {
				t.Errorf("%s must not import %s", p, ours)
			}
		}
	}
	for p, may := range allowed {
		if found[p] == nil && !isPackage(p) {
			t.Errorf("%s is in the table of imports, but not in the tree", p)
		}
		for _, q := range may {
			if _, ok := allowed[q]; !ok {
				t.Errorf("%s may import %s, which is not in the table", p, q)
			}
		}
	}
}

// isPackage tells a package without imports from one that is not there.
func isPackage(dir string) bool {
	files, err := filepath.Glob(path.Join(dir, "*.go"))
	return err == nil && len(files) > 0
}

// TestPackageComments looks for a comment in each package that says what it is.
func TestPackageComments(t *testing.T) {
	for dir := range packages(t) {
		p, err := build.ImportDir(dir, build.ImportComment)
		if err != nil {
			t.Fatal(err)
		}
		if name := path.Base(dir); !strings.HasPrefix(p.Doc, "Package "+name+" ") && !strings.HasPrefix(p.Doc, "Command "+name+" ") {
			t.Errorf("%s: the package comment is %q", dir, p.Doc)
		}
	}
}

func TestCapabilities(t *testing.T) {
	allowed := parse(t, capabilities)
	found := packages(t)
	for _, p := range slices.Sorted(maps.Keys(found)) {
		for _, path := range found[p] {
			if strings.HasPrefix(path, module) {
				continue
			}
			capability := longestPrefix(allowed, path)
			switch {
			case capability != "":
				if !slices.Contains(allowed[capability], p) {
					t.Errorf("%s must not use %s", p, path)
				}
			case strings.Contains(strings.Split(path, "/")[0], "."):
				t.Errorf("%s uses %s, which is not in the table of capabilities", p, path)
			}
		}
	}
}

// longestPrefix returns the row that an import path falls under.
func longestPrefix(rows map[string][]string, importPath string) (best string) {
	for name := range rows {
		if (importPath == name || strings.HasPrefix(importPath, name+"/")) && len(name) > len(best) {
			best = name
		}
	}
	// "net" is not "net/url".
	if !strings.Contains(strings.Split(best, "/")[0], ".") && best != importPath {
		return ""
	}
	return best
}

// The tests would find what they forbid.
func TestLongestPrefix(t *testing.T) {
	rows := parse(t, capabilities)
	for path, want := range map[string]string{
		"net": "net", "net/http": "net/http", "net/url": "", "os": "",
		"github.com/mark3labs/mcp-go/server": "github.com/mark3labs/mcp-go",
		"github.com/mark3labs/mcp-gopher":    "",
		"golang.org/x/sys/unix":              "golang.org/x/sys",
	} {
		if got := longestPrefix(rows, path); got != want {
			t.Errorf("longestPrefix(%q) = %q, want %q", path, got, want)
		}
	}
}

// TestNoLargeFiles finds what was committed by mistake, such as a built program.
func TestNoLargeFiles(t *testing.T) {
	const most = 4 << 20
	out, err := exec.Command("git", "ls-tree", "-r", "-l", "HEAD").Output()
	if err != nil {
		t.Skip("this is not a clone: ", err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 4 {
			if size, err := strconv.ParseInt(f[3], 10, 64); err == nil && size > most {
				t.Errorf("%s has %d bytes", f[4], size)
			}
		}
	}
}
