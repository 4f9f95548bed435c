package pyodide_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coderunner/internal/fetch"
	"coderunner/internal/versions"
	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
	"coderunner/pyodide/wasmbin"
)

// TestImportTable compares the list of imports with the pinned module.
func TestImportTable(t *testing.T) {
	dir, err := fetch.New(pyodidetest.Cache(t), fetch.Options{}).NPM(context.Background(), versions.Pyodide(os.Getenv("NPM_CONFIG_REGISTRY")), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, versions.PyodideWasm))
	if err != nil {
		t.Fatal(err)
	}
	m, err := wasmbin.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	letters := map[wasmbin.ValType]string{wasmbin.I32: "i", wasmbin.I64: "j", wasmbin.F32: "f", wasmbin.F64: "d", wasmbin.ExternRef: "e"}
	var imports []string
	for _, im := range m.Imports {
		if im.Kind != wasmbin.KindFunc {
			continue
		}
		line := im.Module + " " + im.Name + " "
		for _, v := range m.FuncType(im.Index).Params {
			line += letters[v]
		}
		line += ":"
		for _, v := range m.FuncType(im.Index).Results {
			line += letters[v]
		}
		imports = append(imports, line)
	}
	slices.Sort(imports)
	if d := cmp.Diff(importList(t), imports); d != "" {
		t.Error("hostfn/testdata/imports.txt is not what the module imports:", d)
	}
}

// TestRows compares the host functions with the list of imports.
func TestRows(t *testing.T) {
	var rows []string
	for _, r := range pyodide.Rows() {
		rows = append(rows, r.Module+" "+r.Name+" "+r.Sig)
	}
	slices.Sort(rows)
	if d := cmp.Diff(importList(t), rows); d != "" {
		t.Error(d)
	}
	if err := pyodide.Rows().Check(); err != nil {
		t.Error(err)
	}
}

// importList returns the lines of imports.txt, sorted.
func importList(t *testing.T) (list []string) {
	b, err := os.ReadFile("hostfn/testdata/imports.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	slices.Sort(list)
	if len(list) != 268 {
		t.Fatalf("%d imports, want 268", len(list))
	}
	return list
}

// begun is a writer that closes itself when the program has printed.
type begun chan struct{}

func (b begun) Write(p []byte) (int, error) {
	close(b)
	return len(p), nil
}

// TestGarbageCollectionWhilePythonComputes never ends if a collection has to
// wait for the program, whose loop calls nothing of the host.
func TestGarbageCollectionWhilePythonComputes(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	printed := make(begun)
	in, err := rt.New(context.Background(), pyodide.Options{Stdout: printed})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-printed
		for range 3 {
			runtime.GC()
		}
		cancel()
	}()
	res, err := in.Run(ctx, pyodide.Program{Code: "import itertools\nprint()\nsum(itertools.repeat(1))"})
	if err != nil || res.Ended != pyodide.Cancelled {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := in.Run(context.Background(), pyodide.Program{Code: "1"}); err == nil {
		t.Error("a stopped interpreter ran a program")
	}
}

func TestOutputRefused(t *testing.T) {
	full := errors.New("full")
	var w writer = func(p []byte) (int, error) { return 0, full }
	res, _, _ := run(t, pyodide.Options{Stdout: w}, pyodide.Program{Code: "while True: print('x')"})
	if res.Ended != pyodide.Flooded || !errors.Is(res.Cause, full) {
		t.Errorf("%v, %v", res.Ended, res.Cause)
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestStdinObeysCancellation(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	r, w := io.Pipe()
	defer w.Close()
	printed := make(begun)
	in, err := rt.New(context.Background(), pyodide.Options{Stdin: r, Stdout: printed})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-printed; cancel() }()
	res, err := in.Run(ctx, pyodide.Program{Code: "print()\ninput()"})
	if err != nil || res.Ended != pyodide.Cancelled {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestNoJavaScript tries the doors that led to the host in other runners.
func TestNoJavaScript(t *testing.T) {
	for _, code := range []string{
		"from js import document",
		"import js\njs.eval('1')",
		"from js import XMLHttpRequest",
		"import pyodide_js",
		"from js import eval",
		"from pyodide.code import run_js\nrun_js('1')",
		"import _pyodide_core",
		"from pyodide.ffi import run_sync\nimport asyncio\nrun_sync(asyncio.sleep(0))",
		"import pyodide.http\nawait pyodide.http.pyfetch('http://localhost')",
	} {
		res, _, _ := run(t, pyodide.Options{}, pyodide.Program{Code: code})
		if res.Ended != pyodide.Finished || res.Exception == nil {
			t.Errorf("%q: %v %+v %v", code, res.Ended, res.Exception, res.Cause)
		} else if !strings.Contains(res.Exception.Type, "Error") {
			t.Errorf("%q raised %s", code, res.Exception.Type)
		} else {
			t.Logf("%q: %s: %s", code, res.Exception.Type, res.Exception.Message)
		}
	}
}

// TestNothingIsShared looks from one interpreter for what another one did, and
// for what copies of one snapshot must not have in common.
func TestNothingIsShared(t *testing.T) {
	run(t, pyodide.Options{}, pyodide.Program{Code: `
import builtins, json, os, sys
builtins.left = json.left = sys.left = 1
os.environ["LEFT"] = "1"
open("left", "w").close(); open("/tmp/left", "w").close(); os.mkdir("/left")
sys.modules["left"] = sys; sys.path.append("left")
`})
	res, _, _ := run(t, pyodide.Options{}, pyodide.Program{Code: `
import builtins, json, os, sys
[hasattr(m, "left") for m in (builtins, json, sys)] + ["LEFT" in os.environ, "left" in sys.modules, "left" in sys.path] + [
    os.path.exists(p) for p in ("left", "/tmp/left", "/left")]`})
	if res.Value == nil || strings.Contains(res.Value.Repr, "True") {
		t.Errorf("seen: %+v", res.Value)
	}
	const differ = "import multiprocessing, random, uuid, secrets, os, tempfile\n[multiprocessing.current_process().authkey.hex(), random.random(), str(uuid.uuid4()), secrets.token_hex(), os.urandom(8), next(tempfile._get_candidate_names())]"
	a, _, _ := run(t, pyodide.Options{}, pyodide.Program{Code: differ})
	b, _, _ := run(t, pyodide.Options{}, pyodide.Program{Code: differ})
	for i, x := range strings.Split(a.Value.Repr, ", ") {
		if y := strings.Split(b.Value.Repr, ", ")[i]; x == y {
			t.Errorf("two interpreters have in common: %s", x)
		}
	}
}

func TestCPUTime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not measured on this system")
	}
	res, _, _ := run(t, pyodide.Options{}, pyodide.Program{Code: "import time\nt = time.perf_counter()\nwhile time.perf_counter() - t < 0.05: pass\ntime.sleep(0.5)"})
	if res.CPUTime <= 0 || res.CPUTime > 450*time.Millisecond {
		t.Errorf("a busy twentieth and a sleeping half of a second took %v", res.CPUTime)
	}

	// The program sees the same on a busy machine.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 * runtime.NumCPU() {
		go func() {
			for ctx.Err() == nil {
			}
		}()
	}
	res, _, _ = run(t, pyodide.Options{}, pyodide.Program{Code: `import os, threading, time
def shown(): return [time.process_time(), time.thread_time(), time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID), os.times().user]
begin = shown()
sum(range(3 * 10**5))
t = threading.Thread(target=lambda: sum(range(3 * 10**5)))
t.start()
t.join()
took = [b - a for a, b in zip(begin, shown())]
max(took) - min(took) < 0.05 or took`})
	if res.Value == nil || res.Value.Repr != "True" {
		t.Errorf("the clocks of the processor disagree: %+v, %+v", res.Value, res.Exception)
	}
}
