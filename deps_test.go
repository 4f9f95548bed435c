package coderunner_test

import (
	"go/build"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the prefix of our own import paths.
var module = modulePath() + "/"

func modulePath() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		panic("the tests were built without modules")
	}
	return info.Main.Path
}

// imports lists for each package which of ours it may import, floor by floor. A
// package that is missing here fails, and so does a row without a package. The
// machine imports nothing else of ours, the userland the machine only. Sibling
// packages under pyodide/ never import one another but for hostfn and wasmbin;
// pyodide joins them. What the row of * has, all may import.
const imports = `
	*: internal/lazyregexp internal/order internal/trace
	internal/lazyregexp:
	internal/order:
	internal/trace:

	# the machine
	internal/machine:
	internal/machine/abi:
	internal/machine/baton:
	internal/machine/clock:
	internal/machine/hostdir: internal/machine/abi internal/machine/memfs
	internal/machine/kernel: internal/machine/abi internal/machine/memfs
	internal/machine/memfs: internal/machine/abi
	internal/machine/modeltest:
	internal/machine/netstack: internal/machine/abi internal/machine/memfs

	# the userland, on a machine
	internal/userland:
	internal/userland/commands: internal/machine/kernel internal/userland/commands/archive internal/userland/commands/awk internal/userland/commands/bc internal/userland/commands/command internal/userland/commands/diff internal/userland/commands/file internal/userland/commands/find internal/userland/commands/jq internal/userland/commands/sed internal/userland/commands/sqlite internal/userland/commands/system internal/userland/commands/text internal/userland/commands/tool internal/userland/commands/web internal/userland/shell
	internal/userland/commands/archive: internal/machine/abi internal/machine/clock internal/userland/commands/command internal/userland/commands/file internal/userland/commands/sed internal/userland/glob
	internal/userland/commands/awk: internal/machine/abi internal/machine/clock internal/machine/kernel internal/machine/memfs internal/userland/commands/command internal/userland/printf internal/userland/regex
	internal/userland/commands/bc: internal/userland/commands/command
	internal/userland/commands/command: internal/machine/abi internal/machine/clock internal/machine/kernel internal/machine/memfs internal/userland/regex
	internal/userland/commands/diff: internal/machine/abi internal/userland/commands/command internal/userland/commands/file internal/userland/glob internal/userland/printf internal/userland/regex
	internal/userland/commands/file: internal/machine/abi internal/machine/clock internal/userland/commands/command internal/userland/glob internal/userland/printf internal/userland/regex
	internal/userland/commands/find: internal/machine/abi internal/machine/clock internal/userland/commands/command internal/userland/commands/file internal/userland/glob internal/userland/printf internal/userland/regex
	internal/userland/commands/jq: internal/userland/commands/command
	internal/userland/commands/sed: internal/machine/abi internal/userland/commands/command internal/userland/regex
	internal/userland/commands/sqlite: internal/userland/commands/command
	internal/userland/commands/system: internal/machine/abi internal/machine/clock internal/machine/kernel internal/machine/memfs internal/userland/commands/command internal/userland/commands/file internal/userland/printf internal/userland/regex
	internal/userland/commands/text: internal/machine/abi internal/userland/commands/command internal/userland/glob internal/userland/printf internal/userland/regex
	internal/userland/commands/tool: internal/machine/abi internal/machine/kernel internal/userland/commands/command
	internal/userland/commands/web: internal/machine/abi internal/machine/clock internal/machine/kernel internal/machine/memfs internal/machine/netstack internal/userland/commands/command
	internal/userland/glob:
	internal/userland/printf:
	internal/userland/regex:
	internal/userland/shell: internal/machine/abi internal/machine/kernel internal/machine/memfs internal/userland/glob internal/userland/regex internal/userland/shell/arith internal/userland/shell/builtins internal/userland/shell/expand internal/userland/shell/files internal/userland/shell/options internal/userland/shell/parse internal/userland/shell/quote internal/userland/shell/vars
	internal/userland/shell/arith: internal/machine/kernel internal/userland/shell/parse internal/userland/shell/vars
	internal/userland/shell/builtins: internal/machine/abi internal/machine/clock internal/machine/kernel internal/machine/memfs internal/userland/glob internal/userland/printf internal/userland/shell/arith internal/userland/shell/expand internal/userland/shell/files internal/userland/shell/options internal/userland/shell/parse internal/userland/shell/quote internal/userland/shell/vars
	internal/userland/shell/expand: internal/machine/abi internal/machine/kernel internal/userland/glob internal/userland/shell/arith internal/userland/shell/files internal/userland/shell/options internal/userland/shell/parse internal/userland/shell/quote internal/userland/shell/vars
	internal/userland/shell/files: internal/machine/abi internal/machine/memfs
	internal/userland/shell/options:
	internal/userland/shell/parse:
	internal/userland/shell/quote: internal/userland/glob internal/userland/printf
	internal/userland/shell/vars: internal/machine/memfs internal/userland/shell/parse internal/userland/shell/quote

	# CPython, on a machine
	pyodide: internal/cbor internal/machine/abi internal/machine/baton internal/machine/clock internal/machine/hostdir internal/machine/kernel internal/machine/memfs internal/machine/netstack internal/pool internal/recent pyodide/codestore pyodide/dylink pyodide/emscripten pyodide/gofunc pyodide/hashlib pyodide/hostfn pyodide/jsffi pyodide/libffi pyodide/linmem pyodide/rewrite pyodide/snapshot pyodide/split pyodide/tlsbio pyodide/wasmbin
	pyodide/codestore: internal/cbor internal/procdir pyodide/dwarf pyodide/relayout pyodide/wasmbin
	pyodide/dwarf: pyodide/wasmbin
	pyodide/dylink: pyodide/hostfn pyodide/wasmbin
	pyodide/dylink/dylinktest: pyodide/wasmbin
	internal/preview1: internal/machine/abi internal/machine/kernel internal/machine/memfs pyodide/hostfn
	pyodide/emscripten: internal/machine/abi internal/machine/memfs internal/machine/netstack internal/preview1 pyodide/emscripten/layout pyodide/hostfn
	pyodide/emscripten/layout: internal/machine/abi
	pyodide/gofunc:
	pyodide/hashlib:
	pyodide/hostfn: internal/machine/abi
	pyodide/jsffi: internal/machine/abi pyodide/hostfn
	pyodide/libffi: pyodide/hostfn pyodide/wasmbin
	pyodide/linmem:
	pyodide/pyodidetest: cache internal/fetch internal/testcache internal/versions pyodide pyodide/codestore
	pyodide/relayout:
	pyodide/rewrite: pyodide/wasmbin
	pyodide/snapshot:
	pyodide/split: pyodide/wasmbin
	pyodide/tlsbio:
	pyodide/wasmbin:

	# what is trusted, without a word of a language
	cache: internal/procdir internal/recent
	cache/contents: cache
	internal/bench: cache internal/fetch internal/versions
	internal/builder: cache internal/recent
	internal/cbor:
	internal/clients:
	internal/conformance: cache internal/fetch internal/testcache internal/versions
	internal/fetch: cache
	internal/hostile:
	internal/images:
	internal/intercept: internal/netpolicy
	internal/netpolicy:
	internal/crew:
	internal/pool: internal/crew
	internal/inflight:
	internal/prelink:
	internal/procdir:
	internal/project: internal/machine/abi
	internal/recent:
	internal/sample:
	internal/sandbox:
	internal/stdin:
	internal/sysmem:
	internal/testcache:
	internal/testchild:
	internal/versions: internal/fetch

	# tools of other servers
	internal/tools: internal/tools/catalog internal/tools/config internal/tools/connect internal/tools/gate runners
	internal/tools/catalog: runners
	internal/tools/config: internal/clients
	internal/tools/connect: internal/process internal/sandbox internal/tools/config internal/tools/openapi runners
	internal/tools/openapi:
	internal/tools/gate: internal/tools/config runners

	# runners
	internal/notebook: runners
	internal/process: internal/sandbox runners
	runners: internal/netpolicy internal/project
	runners/bash: internal/machine/abi internal/machine/kernel internal/machine/memfs internal/netpolicy internal/sysmem internal/userland/commands internal/userland/shell internal/userland/shell/parse runners
	runners/deno: internal/netpolicy internal/pool internal/process internal/project internal/sandbox internal/trace runners runners/deno/codecache runners/deno/deps runners/deno/ending runners/deno/explain runners/deno/exports runners/deno/install runners/deno/jsparse runners/deno/process runners/deno/program runners/deno/stacktrace runners/toolbox
	runners/deno/install: cache internal/fetch internal/process internal/recent internal/versions runners runners/deno/deps runners/deno/exports runners/deno/process runners/hint
	runners/deno/codecache: cache internal/builder internal/recent
	runners/deno/deps: internal/fetch runners runners/deno/jsparse runners/deno/npm runners/deno/testing runners/hint runners/lookalike
	runners/deno/ending: internal/process runners runners/deno/deps runners/deno/jsparse runners/deno/process runners/deno/stacktrace runners/hint
	runners/deno/explain: internal/sandbox runners runners/deno/deps runners/deno/ending runners/deno/exports runners/deno/install runners/deno/jsparse runners/deno/npm runners/deno/process runners/deno/stacktrace runners/hint
	runners/deno/exports: internal/recent runners/deno/deps runners/deno/jsparse runners/deno/npm runners/deno/process
	runners/deno/program: internal/project runners runners/deno/deps runners/deno/jsparse
	runners/deno/guard: internal/netpolicy internal/sandbox
	runners/deno/jsparse: runners/deno/npm runners/deno/testing
	runners/deno/npm:
	runners/deno/process: cache internal/fetch internal/inflight internal/netpolicy internal/pool internal/prelink internal/procdir internal/process internal/project internal/recent internal/sandbox internal/versions runners runners/deno/codecache runners/deno/deps runners/deno/guard runners/deno/standins
	runners/deno/standins: runners
	runners/deno/testing:
	runners/deno/stacktrace: runners/deno/jsparse
	runners/hint:
	runners/lookalike:
	runners/host: internal/procdir internal/process internal/project internal/sandbox runners
	runners/python: cache internal/builder internal/fetch internal/machine/kernel internal/machine/memfs internal/machine/netstack internal/netpolicy internal/notebook internal/pool internal/project internal/userland/shell internal/versions pyodide pyodide/codestore runners runners/hint runners/python/hostdirs runners/python/imports runners/python/install runners/python/lockfile runners/python/process runners/python/pypi runners/python/requirement runners/python/resolver runners/python/site runners/python/snapshots runners/python/trusted runners/toolbox
	runners/python/encoding:
	runners/python/hostdirs: pyodide runners
	runners/python/imports: runners/python/pypi runners/python/requirement runners/python/wheel
	runners/python/index:
	runners/python/install: cache internal/recent pyodide runners runners/lookalike runners/python/imports runners/python/lockfile runners/python/pypi runners/python/requirement runners/python/resolver runners/python/site runners/python/wheel
	runners/python/lockfile: runners/python/wheel
	runners/python/pypi:
	runners/python/process: internal/machine/abi internal/machine/kernel internal/machine/memfs internal/machine/netstack internal/netpolicy internal/sysmem internal/userland/commands internal/userland/commands/tool internal/userland/commands/web pyodide runners runners/toolbox
	runners/python/reach:
	runners/python/requirement: runners/python/wheel
	runners/python/resolver: cache internal/fetch internal/recent internal/versions runners runners/python/index runners/python/lockfile runners/python/pypi runners/python/reach runners/python/requirement runners/python/resolver/solver runners/python/standins runners/python/wheel
	runners/python/site: cache internal/machine/memfs pyodide runners/python/process runners/python/resolver
	runners/python/standins:
	runners/python/resolver/solver: runners/python/requirement
	runners/python/snapshots: cache internal/builder pyodide
	runners/python/trusted: cache pyodide runners/python/resolver
	runners/python/wheel:
	runners/python/wheel/wheeltest:
	runners/runnertest: internal/sample runners
	runners/toolbox: runners
	runners/wasi: internal/machine/kernel internal/machine/memfs runners runners/bash runners/wasi/clang runners/wasi/engine runners/wasi/guest runners/wasi/module runners/wasi/perl runners/wasi/php runners/wasi/quickjs runners/wasi/ruby runners/wasi/sql
	runners/wasi/clang: cache internal/cbor internal/machine/abi internal/machine/kernel internal/machine/memfs internal/recent internal/versions pyodide/wasmbin runners runners/wasi/engine runners/wasi/guest
	runners/wasi/engine: internal/cbor internal/fetch internal/machine/abi internal/machine/kernel internal/machine/memfs internal/preview1 internal/recent pyodide pyodide/codestore pyodide/dwarf pyodide/hostfn pyodide/linmem pyodide/rewrite pyodide/wasmbin runners
	runners/wasi/guest: internal/machine/abi internal/machine/kernel internal/machine/memfs internal/preview1 pyodide/dwarf runners runners/wasi/engine
	runners/wasi/module: internal/machine/abi internal/machine/kernel runners runners/wasi/engine runners/wasi/guest
	runners/wasi/perl: internal/lazyregexp internal/machine/abi internal/machine/memfs internal/versions pyodide/hostfn runners runners/wasi/engine runners/wasi/guest
	runners/wasi/php: internal/lazyregexp internal/machine/abi internal/machine/memfs internal/versions runners runners/wasi/engine runners/wasi/guest
	runners/wasi/quickjs: internal/machine/abi internal/preview1 internal/versions pyodide/hostfn runners runners/wasi/engine runners/wasi/guest
	runners/wasi/ruby: internal/versions pyodide/hostfn runners runners/wasi/engine runners/wasi/guest
	runners/wasi/sql: internal/machine/memfs runners runners/wasi/guest

	# what serves them
	cmd/coderunner: cache cache/contents internal/backend internal/clients internal/compiler internal/doctor internal/fetch internal/httpserve internal/intercept internal/notebook internal/process internal/project internal/repl internal/server internal/server/queue internal/session internal/stdin internal/sysmem internal/tools internal/tools/config internal/userland/shell/quote internal/worker runners runners/python/encoding
	cmd/release: internal/versions
	internal/backend: cache cache/contents internal/compiler internal/fetch internal/intercept internal/netpolicy internal/sandbox internal/session internal/session/bucket internal/sysmem internal/versions internal/worker runners runners/bash runners/deno runners/host runners/python runners/python/hostdirs runners/toolbox runners/wasi runners/wasi/engine
	internal/doctor: cache cache/contents internal/backend internal/fetch internal/sandbox internal/versions internal/worker runners runners/deno
	internal/answer: internal/images runners
	internal/worker: cache internal/machine/netstack internal/netpolicy internal/process internal/sandbox internal/sysmem internal/worker/wire pyodide pyodide/codestore pyodide/linmem runners runners/bash runners/python runners/python/install runners/python/process runners/python/requirement runners/python/resolver runners/toolbox runners/wasi runners/wasi/engine
	internal/worker/wire: internal/crew
	internal/compiler: internal/process internal/sysmem pyodide runners/wasi/engine
	internal/httpserve: internal/inflight internal/server internal/server/queue internal/session runners
	internal/repl: internal/project internal/session runners runners/bash runners/deno
	internal/server: internal/answer internal/crew internal/images internal/netpolicy internal/notebook internal/server/queue internal/session internal/tools runners
	internal/server/queue: internal/sysmem
	internal/session: internal/project runners
	internal/session/bucket: internal/session
`

// capabilities says for each thing that reaches out of Go's safe world the
// only packages that may use it.
const capabilities = `
	os/exec: cmd/release internal/bench internal/compiler internal/conformance internal/process internal/tools/config internal/tools/connect runners/deno/process runners/host
	net: internal/fetch internal/httpserve internal/intercept internal/machine/netstack internal/netpolicy internal/tools/connect internal/userland/commands/web internal/worker internal/worker/wire pyodide/tlsbio runners/deno/guard runners/python/process
	net/http: internal/fetch internal/httpserve internal/intercept internal/netpolicy internal/server internal/session/bucket internal/tools/connect internal/tools/openapi internal/userland/commands/web runners/python/resolver
	unsafe: internal/sandbox pyodide/codestore pyodide/linmem
	plugin:
	C:
	github.com/mark3labs/mcp-go: internal/bench internal/server internal/tools/connect
	github.com/google/jsonschema-go: internal/tools/catalog
	github.com/tetratelabs/wazero: pyodide pyodide/codestore pyodide/dylink pyodide/emscripten pyodide/hostfn pyodide/jsffi pyodide/libffi pyodide/linmem runners/wasi/engine
	mvdan.cc/sh/v3: internal/userland/shell internal/userland/shell/arith internal/userland/shell/builtins internal/userland/shell/expand internal/userland/shell/parse
	github.com/spf13/cobra: cmd/coderunner
	github.com/spf13/pflag: cmd/coderunner
	github.com/schollz/progressbar/v3: cmd/coderunner
	github.com/peterh/liner: internal/repl
	github.com/mattn/go-sixel: internal/repl
	github.com/dustin/go-humanize: cache/contents cmd/coderunner internal/answer internal/server internal/session
	github.com/google/shlex: cmd/coderunner
	github.com/fxamacker/cbor/v2: internal/cbor
	github.com/go-json-experiment/json: runners/python/index
	github.com/dlclark/regexp2: internal/userland/regex
	github.com/itchyny/gojq: internal/userland/commands/jq
	github.com/ulikunitz/xz: internal/userland/commands/archive
	golang.org/x/term: cmd/coderunner
	golang.org/x/crypto: internal/userland/commands/text pyodide/hashlib
	golang.org/x/sys: cache cmd/coderunner internal/compiler internal/machine/hostdir internal/process internal/sandbox internal/stdin pyodide pyodide/codestore pyodide/linmem runners/deno/guard
	golang.org/x/sync: cache internal/backend internal/bench internal/compiler internal/httpserve internal/session pyodide runners/deno runners/python runners/python/reach runners/python/resolver runners/python/resolver/solver runners/python/wheel runners/wasi/engine
	golang.org/x/image: internal/images
	golang.org/x/net: internal/backend internal/httpserve runners/deno/guard runners/python/index
	golang.org/x/text: internal/userland/commands/text runners/python/encoding
	golang.org/x/tools/txtar: runners/runnertest
	go.uber.org/zap: cmd/coderunner internal/backend internal/builder internal/httpserve internal/server internal/session internal/tools internal/tools/connect internal/worker runners/deno runners/deno/codecache runners/deno/install runners/deno/process runners/python runners/python/process runners/python/snapshots
	github.com/minio/minio-go/v7: internal/session/bucket
	github.com/VictoriaMetrics/metrics: internal/httpserve
	github.com/coreos/go-oidc/v3: internal/httpserve
	github.com/gobwas/ws: internal/intercept
	github.com/gofrs/flock: cache internal/procdir internal/session
	github.com/google/renameio/v2: cmd/coderunner internal/clients internal/tools internal/tools/connect runners/python/resolver
	github.com/rogpeppe/go-internal: internal/clients
	github.com/tailscale/hujson: internal/clients runners/deno/deps
	go.yaml.in/yaml/v3: internal/clients internal/tools/openapi
	github.com/pelletier/go-toml/v2: internal/clients runners/deno/npm runners/hint runners/python/pypi runners/python/requirement runners/python/standins
	github.com/google/go-containerregistry: cmd/release
	github.com/CycloneDX/cyclonedx-go: cmd/release
	deps.dev/util/pypi: runners/python/resolver runners/python/wheel
	deps.dev/util/semver: runners/deno/process runners/python/resolver
`

// parse reads a table of "name: word word" with comments behind "#".
func parse(t *testing.T, table string) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
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
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && dir != "." {
			return filepath.SkipDir // a module of its own
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
			if ours, ok := strings.CutPrefix(path, module); ok && !slices.Contains(may, ours) && !slices.Contains(allowed["*"], ours) {
				t.Errorf("%s must not import %s", p, ours)
			}
		}
	}
	for p, may := range allowed {
		if p != "*" && found[p] == nil && !isPackage(p) {
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

// floors lists what may stand below the packages of a directory.
var floors = map[string][]string{
	"internal/machine/":  {"internal/machine/"},
	"internal/userland/": {"internal/machine/", "internal/userland/"},
}

func TestFloors(t *testing.T) {
	for p, may := range parse(t, imports) {
		for floor, below := range floors {
			if !strings.HasPrefix(p, floor) {
				continue
			}
			for _, q := range may {
				if !slices.ContainsFunc(below, func(dir string) bool { return strings.HasPrefix(q, dir) }) {
					t.Errorf("%s may import %s, which is not below it", p, q)
				}
			}
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
