package worker_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"coderunner/cache"
	"coderunner/internal/worker"
	"coderunner/pyodide"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink/dylinktest"
	"coderunner/pyodide/pyodidetest"
	"coderunner/pyodide/snapshot"
	"coderunner/pyodide/wasmbin"
	"coderunner/runners"
	"coderunner/runners/python"
	"coderunner/runners/python/install"
	"coderunner/runners/python/resolver"
)

// packagePool returns a pool of workers for the code of packages, which call compile for a library
// of their own, with its cache and what prepares packages for it.
func packagePool(t *testing.T, config python.Config, compile func(ctx context.Context, dir string, memory int64) error) (*cache.Cache, *python.Runner, *worker.Pool) {
	config.Cache, config.Log = pyodidetest.Cache(t), zaptest.NewLogger(t)
	p, err := python.New(config)
	if err != nil {
		t.Fatal(err)
	}
	pool := worker.NewPool(worker.Options{Cache: config.Cache, Local: p.Local(), Max: 1, Log: config.Log, Compile: compile})
	t.Cleanup(func() {
		pool.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return config.Cache, p, pool
}

// installed returns a package with a module package and a library.
func installed(t *testing.T, c *cache.Cache, code string, library []byte) install.State {
	t.Helper()
	tree, err := c.Dir(t.Context(), "wheel", "test of confined code "+code+codestore.Digest(library), func(_ context.Context, dir string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "package.py"), []byte(code), 0o644), os.WriteFile(filepath.Join(dir, "library.so"), library, 0o644))
	})
	if err != nil {
		t.Fatal(err)
	}
	return install.State{Installed: map[string]resolver.Package{"package": {Package: runners.Package{Name: "package", Version: "1"}, Tree: tree}}}
}

// takeSnapshot takes a snapshot of that package, and returns how much memory it has.
func takeSnapshot(t *testing.T, pool *worker.Pool, installed install.State) (size int64, err error) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = pool.Snapshot(t.Context(), []string{"package"}, installed, f)
	z, oerr := snapshot.Open(f.Name())
	if oerr == nil {
		size = int64(z.Memory)
		oerr = z.Close()
	}
	if err == nil {
		err = oerr
	}
	return size, err
}

// TestConfined has packages' code run in workers, whatever it does there: what imports for
// snapshots run, and what builds sdists.
func TestConfined(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Pyodide")
	}
	compiled := 0
	c, _, pool := packagePool(t, python.Config{}, func(ctx context.Context, dir string, _ int64) error {
		compiled++
		return pyodide.BuildLibrary(ctx, dir)
	})
	take := func(t *testing.T, code string) (size int64, err error) {
		return takeSnapshot(t, pool, installed(t, c, code, dylinktest.Library()))
	}
	for _, code := range []string{"x = 1", "import ctypes, os; ctypes.CDLL(os.path.dirname(__file__) + '/library.so')"} {
		if size, err := take(t, code); err != nil || size == 0 {
			t.Errorf("%s: a snapshot of %d bytes, %v", code, size, err)
		}
	}
	for name, code := range map[string]string{
		"raises":  "raise OSError('x')",
		"ends":    "import os; os._exit(0)",
		"prints":  "print('x')",
		"takes":   "x = [bytearray(1 << 24) for _ in range(1000)]",
		"looks":   "import os; assert os.path.exists('/etc/passwd') or os.path.exists('/proc/1/environ')",
		"reaches": "import socket; socket.create_connection(('127.0.0.1', 1))",
	} {
		if _, err := take(t, code); err == nil {
			t.Errorf("%s: there is a snapshot", name)
		} else if name != "ends" && !errors.Is(err, pyodide.ErrUnfit) {
			t.Errorf("%s: %v, want %v", name, err, pyodide.ErrUnfit)
		}
	}
	bytecode, begun := map[string]bool{}, 0
	tree := t.TempDir()
	sources := map[string]string{"good.py": "x = 1", "other.py": "y = 2", "bad.py": "x = (", "deep.py": "x = " + strings.Repeat("(", 1<<17), "junk.py": "\x00\xff"}
	for name, text := range sources {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := c.Dir(t.Context(), "wheel", "test of sources", func(_ context.Context, dir string) error { return os.CopyFS(dir, os.DirFS(tree)) })
	if err != nil {
		t.Fatal(err)
	}
	err = pool.Compile(t.Context(), []string{tree}, slices.Sorted(maps.Keys(sources)), 0, func(module string, pyc []byte) error {
		bytecode[module] = len(pyc) > 16
		return nil
	}, func(string) { begun++ })
	if err != nil || begun != len(sources) || !maps.Equal(bytecode, map[string]bool{"good.py": true, "other.py": true}) {
		t.Errorf("of %d sources that were begun there is bytecode of %v, %v", begun, bytecode, err)
	}
	large := wasmbin.AppendSection(dylinktest.Library(), wasmbin.SecCustom, wasmbin.AppendName(nil, "padding"), make([]byte, 8<<10))
	_, _, err = pool.Build(t.Context(), resolver.Sdist{Filename: "probe-1.0.tar.gz", Data: sdist(t, "probe-1.0", map[string]string{
		"pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n",
		"backend.py":     "import ctypes, os\nctypes.CDLL(os.path.abspath('own.so'))\n" + backend,
		"own.so":         string(large), "probe.py": "",
	})})
	if err != nil || compiled != 1 {
		t.Errorf("a build that loads a library of its own, which was compiled %d times: %v", compiled, err)
	}
	_, _, err = pool.Build(t.Context(), resolver.Sdist{Filename: "junk-1.0.tar.gz", Data: []byte("junk")})
	if failed, ok := errors.AsType[*resolver.BuildError](err); !ok || !strings.Contains(failed.Reason, "ReadError") {
		t.Errorf("a build of junk: %v", err)
	}
}

// TestPackagesAreConfined has a server whose programs run in workers build an sdist and make a
// snapshot in workers, too.
func TestPackagesAreConfined(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Pyodide")
	}
	fresh := fmt.Sprintf("seen = %d", time.Now().UnixNano()) // or the cache has the snapshot
	files := map[string][]byte{"probe-1.0.tar.gz": sdist(t, "probe-1.0", map[string]string{
		"pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n",
		"backend.py":     backend,
		"probe.py":       fresh,
	})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		switch b := files[name]; {
		case b != nil:
			_, _ = w.Write(b)
		case name == "probe":
			for name, b := range files {
				fmt.Fprintf(w, "<a href=\"/files/%s#sha256=%x\">%[1]s</a>", name, sha256.Sum256(b))
			}
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	_, p, pool := packagePool(t, python.Config{MaxIdle: 1, Index: server.URL + "/simple/"}, nil)
	jobs := &counted{Confined: pool, made: make(chan error, 10)}
	p.Local().Confine(jobs)
	o, _, err := pool.Run(t.Context(), runners.Request{Language: runners.Python, Code: "import probe\nprint(probe." + strings.Fields(fresh)[0] + ")"})
	if err != nil || o.Status != runners.Succeeded || o.Stdout != strings.Fields(fresh)[2]+"\n" {
		t.Fatalf("%+v, %v", o, err)
	}
	if jobs.builds.Load() != 1 || jobs.compiled.Load() == 0 {
		t.Errorf("%d builds, and sources compiled %d times", jobs.builds.Load(), jobs.compiled.Load())
	}
	if err := <-jobs.made; err != nil {
		t.Error(err)
	}
}

// backend is a build backend that packs the module beside it.
const backend = `
import base64, hashlib, os, zipfile
def build_wheel(directory, settings=None, metadata=None):
    name, info = "probe-1.0-py3-none-any.whl", "probe-1.0.dist-info/"
    files = {
        "probe.py": open("probe.py").read(),
        info + "METADATA": "Metadata-Version: 2.1\nName: probe\nVersion: 1.0\n",
        info + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(t.encode()).digest()).rstrip(b'=').decode()},{len(t)}\n" for n, t in files.items())
    with zipfile.ZipFile(os.path.join(directory, name), "w") as z:
        for n, t in {**files, info + "RECORD": record + info + "RECORD,,\n"}.items():
            z.writestr(n, t)
    return name
`

// sdist packs files below a directory.
func sdist(t *testing.T, dir string, files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: dir + "/" + name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// counted counts builds and compilations, and tells of snapshots.
type counted struct {
	python.Confined
	builds, compiled atomic.Int32
	made             chan error
}

func (c *counted) Compile(ctx context.Context, trees, modules []string, workers int, emit func(module string, pyc []byte) error, begins func(module string)) error {
	c.compiled.Add(1)
	return c.Confined.Compile(ctx, trees, modules, workers, emit, begins)
}

func (c *counted) Build(ctx context.Context, s resolver.Sdist) (string, []byte, error) {
	c.builds.Add(1)
	return c.Confined.Build(ctx, s)
}

func (c *counted) Snapshot(ctx context.Context, modules []string, installed install.State, f *os.File) error {
	err := c.Confined.Snapshot(ctx, modules, installed, f)
	c.made <- err
	return err
}
