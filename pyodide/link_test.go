package pyodide_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"coderunner/pyodide"
	"coderunner/pyodide/dylink/dylinktest"
	"coderunner/pyodide/pyodidetest"
	"coderunner/pyodide/wasmbin"
)

// library makes a shared library.
var library = dylinktest.Library

// withLibrary runs a program with the library written beside it, and mounted.
func withLibrary(t *testing.T, code string, limit time.Duration) *pyodide.Result {
	t.Helper()
	in, err := pyodidetest.Runtime(t).New(context.Background(), pyodide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, b := range map[string][]byte{"own.so": library(), "bad.so": library("nothing_b", "nothing_a"), "no.so": []byte("no"), "spin.so": spinning()} {
		if err := in.WriteFile(name, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Mount("/opt", fstest.MapFS{"lib.so": {Data: library(), Mode: 0o444}}); err != nil {
		t.Fatal(err)
	}
	res, err := in.Run(context.Background(), pyodide.Program{Code: code, Timeout: limit})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestSharedLibraries(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"mounted", "lib = ctypes.CDLL('/opt/lib.so'); lib.twice(-4), ctypes.c_int.in_dll(lib, 'answer').value", "(8, 42)"},
		{"the program's own", "lib = ctypes.CDLL('./own.so'); lib.twice(-4), ctypes.c_int.in_dll(lib, 'answer').value", "(8, 42)"},
		{"called back", `
lib = ctypes.CDLL('/opt/lib.so')
F = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
f = F(lambda n: n * 10)
lib.apply(f, 7), lib.apply(ctypes.cast(lib.twice, F), 7)`, "(70, 14)"},
		{"exception while called back", `
import sys
sys.unraisablehook = lambda u: seen.append(u.exc_type.__name__)
seen = []
f = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: 1 // 0)
ctypes.CDLL('/opt/lib.so').apply(f, 7), seen`, "(0, ['ZeroDivisionError'])"},
		{"qsort", `
CMP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
a = (ctypes.c_int * 6)(5, 3, 9, 1, 7, 2)
ctypes.CDLL(None).qsort(a, 6, 4, CMP(lambda x, y: x[0] - y[0]))
list(a)`, "[1, 2, 3, 5, 7, 9]"},
		{"variadic", `
b = ctypes.create_string_buffer(64); libc = ctypes.CDLL(None)
libc.snprintf.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
libc.snprintf(b, 64, b'%d-%s-%.2f', ctypes.c_int(7), b'xy', ctypes.c_double(1.5)), b.value`, "(9, b'7-xy-1.50')"},
		{"variadic, not said to be", `
b = ctypes.create_string_buffer(64); libc = ctypes.CDLL("libc.so.6")
n = libc.snprintf(b, 64, b'%d-%s-%.2f', 7, b'xy', ctypes.c_double(1.5)), b.value
libc.sprintf.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
n, libc.sprintf(b, b'%d', -3), b.value, libc.sprintf(b, b'x', 0)`, "((9, b'7-xy-1.50'), 2, b'-3', 1)"},
		{"a long result, not declared", "ctypes.CDLL(None).time(None) > 1 << 30", "True"},
		{"libm", "s = ctypes.CDLL('libm.so.6').sqrt; s.restype = ctypes.c_double; s.argtypes = [ctypes.c_double]; s(6.25)", "2.5"},
		{"struct", `
class D(ctypes.Structure): _fields_ = [('quot', ctypes.c_int), ('rem', ctypes.c_int)]
div = ctypes.CDLL(None).div; div.restype = D
r = div(17, 5); r.quot, r.rem`, "(3, 2)"},
		{"double", "s = ctypes.CDLL(None).sqrt; s.restype = ctypes.c_double; s.argtypes = [ctypes.c_double]; s(6.25)", "2.5"},
		{"Python's own", "ctypes.pythonapi.PyLong_FromLong.restype = ctypes.py_object\nctypes.pythonapi.PyLong_FromLong(5)", "5"},
		{"callbacks come and go", `
F = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
lib = ctypes.CDLL('/opt/lib.so')
sum(lib.apply(F(lambda n: n), i) for i in range(20000))`, "199990000"},
		{"no function", `
def call(n):
    try: ctypes.CFUNCTYPE(None)(n)()
    except Exception as e: return type(e.__cause__ or e).__name__
[call(n) for n in (5 << 20, 2**31)], 'alive'`, "(['NotImplementedError', 'NotImplementedError'], 'alive')"},
		{"undefined", errorOf("ctypes.CDLL('./bad.so')"), `"could not load dynamic lib: ./bad.so\n/home/user/bad.so: undefined 2 symbols: nothing_a, nothing_b"`},
		{"not a library", errorOf("ctypes.CDLL('./no.so')"), `'could not load dynamic lib: ./no.so\n/home/user/no.so: wasm: header section, offset 0x0: not a WebAssembly module'`},
		{"no file", errorOf("ctypes.CDLL('/nope.so')"), `'could not load dynamic lib: /nope.so\n/nope.so: file not found'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := withLibrary(t, "import ctypes\n"+c.code, time.Minute)
			if res.Value == nil {
				t.Fatalf("no value: %+v %+v", res, res.Exception)
			}
			if got := strings.ReplaceAll(res.Value.Repr, `"`, `'`); got != strings.ReplaceAll(c.want, `"`, `'`) {
				t.Errorf("value %s, want %s", res.Value.Repr, c.want)
			}
		})
	}
}

// errorOf is a program whose value is an expression's error.
func errorOf(expression string) string {
	return fmt.Sprintf("try: %s; r = None\nexcept OSError as e: r = str(e)\nr", expression)
}

// TestNoHostFunctions wants no way from C's names to the host: what Python can
// look up is the guest's own code.
func TestNoHostFunctions(t *testing.T) {
	const code = `
import ctypes
libc = ctypes.CDLL(None)
found = []
for name in '''emscripten_run_script emscripten_run_script_int emscripten_run_script_string
	emscripten_asm_const_int raw_call_js JsvFunction_CallBound hiwire_call _dlopen_js ffi_call_js
	__syscall_openat fd_write proc_exit __table_grow_0 __global_0 memory'''.split():
    for lib in libc, ctypes.pythonapi:
        try: found.append(getattr(lib, name))
        except AttributeError: pass
found`
	if res := withLibrary(t, code, time.Minute); res.Value == nil || res.Value.Repr != "[]" {
		t.Errorf("found %+v %+v", res.Value, res.Exception)
	}
	// Nor may a library import what would be JavaScript's.
	for _, name := range []string{"emscripten_run_script", "emscripten_asm_const_int", "hiwire_call"} {
		in, err := pyodidetest.Runtime(t).New(context.Background(), pyodide.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if err := in.WriteFile("a.so", library(name)); err != nil {
			t.Fatal(err)
		}
		res, err := in.Run(context.Background(), pyodide.Program{Code: "import ctypes\n" + errorOf("ctypes.CDLL('./a.so')")})
		if err != nil {
			t.Fatal(err)
		}
		if res.Value == nil || !strings.Contains(res.Value.Repr, "undefined symbol "+name) {
			t.Errorf("a library that imports %s: %+v %+v", name, res.Value, res.Exception)
		}
	}
}

// TestHostileC wants what C can do wrong to end the program at most.
func TestHostileC(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		want pyodide.Ended
	}{
		"uncaught": {"libc.__cxa_throw(ctypes.create_string_buffer(64), 0, 0)", pyodide.Trapped},
		"longjmp":  {"libc.__wasm_longjmp(ctypes.create_string_buffer(256), 1)", pyodide.Trapped},
		"wild":     {"ctypes.memmove(0x7fffffff, 0x7fffff00, 8)", pyodide.Trapped},
		"deep": {`
F = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
def f(n): return lib.apply(g, n + 1)
g = F(f)
f(0)`, pyodide.Finished},
		"many kinds": {`
n = 0
try:
    for n in range(3000):
        ctypes.CFUNCTYPE(None, *[(ctypes.c_int, ctypes.c_double)[n >> i & 1] for i in range(12)])(print)
except Exception as e: pass
assert 100 < n < 2000, n`, pyodide.Finished},
		"abort": {"libc.abort()", pyodide.Trapped},
	} {
		t.Run(name, func(t *testing.T) {
			res := withLibrary(t, "import ctypes\nlibc = ctypes.CDLL(None); lib = ctypes.CDLL('/opt/lib.so')\n"+c.code, time.Minute)
			if res.Ended != c.want {
				t.Errorf("ended %v, want %v: %+v %v", res.Ended, c.want, res.Exception, res.Cause)
			}
			if c.want == pyodide.Finished && res.Exception != nil && name != "deep" {
				t.Errorf("%+v", res.Exception)
			}
		})
	}
}

// spinning makes a library whose constructor never returns.
func spinning() []byte {
	var b wasmbin.Builder
	b.Export("__wasm_call_ctors", wasmbin.KindFunc, b.Func(wasmbin.FuncType{}, nil, []byte{wasmbin.OpLoop, 0x40, wasmbin.OpBr, 0, wasmbin.OpEnd}))
	out := wasmbin.AppendSection([]byte(wasmbin.Header), wasmbin.SecCustom, wasmbin.AppendName(nil, "dylink.0"), []byte{1, 4, 0, 0, 0, 0})
	return append(out, b.Bytes()[len(wasmbin.Header):]...)
}

func TestLibraryIsStopped(t *testing.T) {
	const limit = 3 * time.Second // within which a busy machine comes to the library
	if res := withLibrary(t, "import ctypes; ctypes.CDLL('./spin.so')", limit); res.Ended != pyodide.Stopped {
		t.Errorf("a constructor that never returns: ended %v, want stopped (%+v)", res.Ended, res.Exception)
	}
	begin := time.Now()
	res := withLibrary(t, "import ctypes; lib = ctypes.CDLL('/opt/lib.so'); lib.spin()", limit)
	if res.Ended != pyodide.Stopped {
		t.Errorf("ended %v, want stopped (%+v)", res.Ended, res.Exception)
	}
	if d := time.Since(begin); d > 30*time.Second {
		t.Errorf("after %v", d)
	}
}

// TestLibrariesInParallel loads one library into many interpreters at once.
func TestLibrariesInParallel(t *testing.T) {
	pyodidetest.Runtime(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			const code = "import ctypes\n[ctypes.CDLL(p).twice(3) for p in ('/opt/lib.so', './own.so')]"
			if res := withLibrary(t, code, time.Minute); res.Value == nil || res.Value.Repr != "[6, 6]" {
				t.Errorf("value %+v, %+v", res.Value, res.Exception)
			}
		})
	}
	wg.Wait()
}

// TestPrepareLibrary prepares a library, and wants clear errors for those that
// cannot be.
func TestPrepareLibrary(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	if err := rt.PrepareLibrary(context.Background(), "lib.so", library()); err != nil {
		t.Error(err)
	}
	for want, b := range map[string][]byte{"prepare x.so: wasm: ": []byte("x"), "not a shared library": []byte(wasmbin.Header)} {
		if err := rt.PrepareLibrary(context.Background(), "x.so", b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("prepare: %v, want %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := rt.PrepareLibrary(ctx, "new.so", library("never_seen_before")); err == nil {
		t.Error("a cancelled preparation succeeded")
	}
}

// TestFreezeWithLibraries wants libraries, and functions that C can call, to be
// where they were after a snapshot.
func TestFreezeWithLibraries(t *testing.T) {
	const body = `
import ctypes
lib = ctypes.CDLL('/opt/lib.so')
ctypes.c_int.in_dll(lib, 'answer').value += 1
F = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
tenfold = F(lambda n: n * 10)
short_lived = F(lambda n: n)
del short_lived
address = ctypes.cast(lib.twice, ctypes.c_void_p).value
absolute = ctypes.CDLL(None).abs
`
	mounts := append(tree(body), pyodide.Mount{Dir: "/opt", Key: "library", Tree: fstest.MapFS{"lib.so": {Data: library(), Mode: 0o444}}})
	frozen, err := pyodidetest.Runtime(t).Snapshot(context.Background(), []string{"probe"}, mounts)
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	const program = `
import ctypes, probe
lib = ctypes.CDLL('/opt/lib.so')
later = probe.F(lambda n: n + 1)
[lib._handle == probe.lib._handle, ctypes.c_int.in_dll(lib, 'answer').value, lib.twice(-4), probe.lib.apply(probe.tenfold, 7),
 probe.lib.apply(later, 7), ctypes.cast(lib.twice, ctypes.c_void_p).value == probe.address, probe.absolute(-9)]`
	for range 2 {
		res, _, _ := run(t, pyodide.Options{From: frozen}, pyodide.Program{Code: program})
		if res.Value == nil || res.Value.Repr != "[True, 43, 8, 70, 8, True, 9]" {
			t.Errorf("%+v %+v %v", res.Value, res.Exception, res.Cause)
		}
	}
}
