package pyodide

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"coderunner/pyodide/dylink/dylinktest"
)

// dirty are programs that leave as much behind as they can.
var dirty = map[string]string{
	"value":     "1+1",
	"names":     "import builtins, sys, json\nbuiltins.secret = json.secret = sys.secret = 'secret'\njson.dumps = None",
	"memory":    "x = [bytes([i % 256]) * 1000 for i in range(3000)]",
	"files":     "import os\nopen('/tmp/secret', 'w').write('secret' * 1000)\nos.chdir('/tmp')\nos.environ['SECRET'] = '1'",
	"open file": "f = open('/tmp/secret', 'w')\nimport builtins\nbuiltins.f = f",
	"raise":     "def f(n):\n    return f(n - 1) if n else 1 / 0\nf(200)",
	"exit":      "import sys\nsys.exit(3)",
	"garbage":   "import gc\ngc.unfreeze()\nx = []\nx.append(x)\ndel x\ngc.collect()",
	"modules":   "import sqlite3, xml.dom.minidom, lzma\nsqlite3.connect(':memory:').execute('create table secret (x)')",
	"alarm":     "import signal\nsignal.signal(signal.SIGALRM, lambda *a: None)\nsignal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)",
	"async":     "import asyncio\nawait asyncio.sleep(0)",
	"intern":    "import sys\n[sys.intern(f'secret{i}') for i in range(2000)]",
	"threads":   "import threading\nthreading.local().x = 1\nthreading.stack_size(1 << 20)",
	"started":   "import threading\nt = threading.Thread(target=print, args=('x',)); t.start(); t.join()",
	"left":      "import threading, time\nfor i in range(5): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\ntime.sleep(0.01)",
	"recursion": "import sys\nsys.setrecursionlimit(5000)\nsys.setswitchinterval(1)",
}

// TestReusedIsRestored compares an instance that was used, and made ready for
// the next, with the snapshot, byte for byte.
func TestReusedIsRestored(t *testing.T) {
	NeedWritten(t)
	rt := OpenForTest(t)
	const memory = 512 << 20
	want := restored(t, rt, memory)
	defer want.close()
	in := restored(t, rt, memory)
	defer func() { in.close() }()
	in.key = poolKey{rt.base, memory}
	for name, code := range dirty {
		if res, err := runIn(t, in, Program{Code: code}); err != nil || res.Ended != Finished {
			t.Fatalf("%s: %+v, %v", name, res, err)
		}
		if !in.reusable() || !in.detach() {
			t.Fatalf("%s: the instance cannot be used again", name)
		}
		if err := in.reset(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sameInstance(t, name, in, want)
	}
}

// TestLayeredIsNotReused has an interpreter write a layer, whose pages are then mapped: its
// instance is not used again, or the next program would find what a session left.
func TestLayeredIsNotReused(t *testing.T) {
	NeedWritten(t)
	rt := OpenForTest(t)
	in, err := rt.New(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	dir := t.TempDir()
	create := func(name string) (*os.File, error) { return os.Create(filepath.Join(dir, name)) }
	if res, err := in.Run(context.Background(), Program{Code: "import random\nx = random.randbytes(200_000)", Session: true}); err != nil || res.Ended != Finished {
		t.Fatalf("%+v, %v", res, err)
	}
	f, err := create("memory")
	if err != nil {
		t.Fatal(err)
	}
	err = in.Snapshot(f, false, func() (*os.File, error) { return create("layer") })
	if err := errors.Join(err, f.Close()); err != nil || !in.Layered() {
		t.Fatalf("layered: %v, %v", in.Layered(), err)
	}
	want := restored(t, rt, in.key.memory)
	defer want.close()
	if in.reusable() && in.detach() {
		if err := in.reset(); err != nil {
			t.Fatal(err)
		}
		sameInstance(t, "a session", in.instance, want)
		t.Error("it is used again")
	}
}

// runIn runs a program in an interpreter that has the instance.
func runIn(t *testing.T, instance *instance, p Program) (*Result, error) {
	t.Helper()
	in := &Interp{instance: instance}
	if err := in.makeFiles(Options{Stdout: io.Discard}, 0); err != nil {
		t.Fatal(err)
	}
	defer in.proc.Close()
	return in.Run(context.Background(), p)
}

// restored makes an instance as it waits for its program.
func restored(t *testing.T, rt *Runtime, memory int64) *instance {
	t.Helper()
	in, err := rt.restore(context.Background(), rt.base, memory)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func sameInstance(t *testing.T, name string, got, want *instance) {
	t.Helper()
	size := want.mod.Memory().Size()
	a, _ := got.mod.Memory().Read(0, got.mod.Memory().Size())
	b, _ := want.mod.Memory().Read(0, size)
	for at := 0; !bytes.Equal(a, b) && at < len(b); at += 4096 {
		if len(a) != len(b) || !bytes.Equal(a[at:at+4096], b[at:at+4096]) {
			t.Fatalf("%s: the memory differs at %#x of %#x", name, at, len(a))
		}
	}
	for _, global := range append(ownGlobals, want.compiled.module.info.Globals...) {
		x, err := got.global(global)
		if err != nil {
			t.Fatal(err)
		}
		y, _ := want.global(global)
		if x.Get() != y.Get() && !strings.Contains(global, "fuel") {
			t.Errorf("%s: global %s is %#x, want %#x", name, global, x.Get(), y.Get())
		}
	}
	g, h := got.guest(context.Background()), want.guest(context.Background())
	for _, table := range want.compiled.module.info.Tables {
		n, err := g.call(table.Size)
		if m, _ := h.call(table.Size); err != nil || n != m {
			t.Errorf("%s: table %s has %d elements, want %d (%v)", name, table.Export, n, m, err)
		}
	}
}

// TestReusedWithLibraries does so with an instance that has a library, whose data
// and function table are part of the snapshot.
func TestReusedWithLibraries(t *testing.T) {
	NeedWritten(t)
	rt := OpenForTest(t)
	ctx := context.Background()
	const memory = 512 << 20
	const body = `
import ctypes
lib = ctypes.CDLL('/opt/lib.so')
answer = ctypes.c_int.in_dll(lib, 'answer')
F = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
tenfold = F(lambda n: n * 10)
`
	z, err := rt.Snapshot(ctx, []string{"probe"}, []Mount{
		{Dir: SitePackages, Key: "probe", Tree: fstest.MapFS{"probe.py": {Data: []byte(body)}}},
		{Dir: "/opt", Key: "library", Tree: fstest.MapFS{"lib.so": {Data: dylinktest.Library(), Mode: 0o444}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	restored := func() *instance {
		in, err := rt.restore(ctx, z, memory)
		if err != nil {
			t.Fatal(err)
		}
		in.key = poolKey{z, memory}
		return in
	}
	want := restored()
	defer want.close()
	in := restored()
	defer func() { in.close() }()
	again := func(code, value string) (reusable bool) {
		t.Helper()
		res, err := runIn(t, in, Program{Code: code})
		if err != nil || res.Value == nil || res.Value.Repr != value {
			t.Fatalf("%s: %+v, %v, want %s", code, res, err, value)
		}
		return in.reusable()
	}
	for range 3 {
		if !again("import probe\nprobe.answer.value += 1\nprobe.answer.value", "43") {
			t.Fatal("the instance cannot be used again")
		}
		if !in.detach() {
			t.Fatal("it is not known what was written")
		}
		if err := in.reset(); err != nil {
			t.Fatal(err)
		}
		sameInstance(t, "reused", in, want)
	}
	// The linker and libffi serve the interpreter that the instance is now.
	if again("import ctypes, probe\nlib = ctypes.CDLL('/opt/lib.so')\nlib.twice(-4), lib.apply(probe.tenfold, 7), lib._handle == probe.lib._handle", "(8, 70, True)") {
		t.Error("an instance is used again though functions of C were called")
	}
}

// TestNotReused has programs after which an instance is given up.
func TestNotReused(t *testing.T) {
	rt := OpenForTest(t)
	const memory = 512 << 20
	for name, p := range map[string]Program{
		"grown":   {Code: "x = bytearray(64 << 20)"},
		"refused": {Code: "try:\n    bytearray(1 << 30)\nexcept MemoryError:\n    pass"},
		"ctypes":  {Code: "import ctypes\nctypes.pythonapi.Py_IncRef"},
		"killed":  {Code: "import os\nos._exit(1)"},
		"stopped": {Code: "try:\n    while True: pass\nexcept KeyboardInterrupt:\n    while True: pass", Timeout: time.Second},
	} {
		in := restored(t, rt, memory)
		in.key = poolKey{rt.base, memory}
		if _, err := runIn(t, in, p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !in.dead && in.reusable() {
			t.Errorf("%s: the instance would be used again", name)
		}
		if err := in.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSignalAfterClose is a timer that fires late.
func TestSignalAfterClose(t *testing.T) {
	in, err := OpenForTest(t).New(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	late := in.signals
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	late.send(timerSignals[0])
	late.stop()
}
