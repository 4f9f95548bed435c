package pyodide_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

// TestSnapshotOfALiveInterpreter puts an interpreter away after a program, and
// goes on in another runtime: with its variables, its files, an open file at
// its place, its libraries and a callback of ctypes.
func TestSnapshotOfALiveInterpreter(t *testing.T) {
	ctx := context.Background()
	in, err := pyodidetest.Runtime(t).New(ctx, pyodide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	mounts := []pyodide.Mount{{Dir: "/opt", Key: "library", Tree: fstest.MapFS{"lib.so": {Data: library(), Mode: 0o444}}}}
	if err := in.Mount(mounts[0].Dir, mounts[0].Tree); err != nil {
		t.Fatal(err)
	}
	if err := pyodidetest.Runtime(t).PrepareLibrary(ctx, "lib.so", library()); err != nil {
		t.Fatal(err)
	}
	const before = `
import ctypes, os, random, builtins, sys
class Kept: pass
k = builtins.kept = Kept()
k.numbers = [1, 2, 3]
os.mkdir("deep")
with open("deep/note.txt", "w") as f: f.write("first\nsecond\nthird\n")
os.symlink("deep/note.txt", "link")
os.chdir("deep")
k.file = open("note.txt")
k.file.readline()
k.compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: ctypes.c_int.from_address(a).value - ctypes.c_int.from_address(b).value)
k.lib = ctypes.CDLL("/opt/lib.so")
ctypes.c_int.in_dll(k.lib, "answer").value += 1
k.tenfold = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: n * 10)
random.seed(7)
k.drawn = random.random()
`
	if res, err := in.Run(ctx, pyodide.Program{Code: before}); err != nil || res.ExitCode != 0 {
		t.Fatal(res.Exception, err)
	}
	path := filepath.Join(t.TempDir(), "snapshot")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(in.Snapshot(f, false, nil), f.Close()); err != nil {
		t.Fatal(err)
	}
	home := homeOf(t, in)
	const after = `
import builtins, ctypes, os, random
k = builtins.kept
numbers = (ctypes.c_int * 3)(3, 1, 2)
ctypes.CDLL(None).qsort(numbers, 3, 4, k.compare)
again = random.Random(7)
again.random()
type(k).__name__, k.numbers, k.file.readline(), k.file.read(), open("../link").readline(), os.path.basename(os.getcwd()), list(numbers), k.lib.twice(-4), k.lib.apply(k.tenfold, 7), ctypes.c_int.in_dll(k.lib, "answer").value, random.random() == again.random()
`
	const want = `('Kept', [1, 2, 3], 'second\n', 'third\n', 'first\n', 'deep', [1, 2, 3], 8, 70, 43, True)`
	other, err := pyodidetest.Open(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	z, err := other.OpenSnapshot(path, "", in.Base().Name(), mounts)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for range 2 { // it can be brought back more than once
		back, err := other.New(ctx, pyodide.Options{From: z, Populate: home})
		if err != nil {
			t.Fatal(err)
		}
		res, err := back.Run(ctx, pyodide.Program{Code: after})
		if err != nil || res.Value == nil || res.Value.Repr != want {
			t.Errorf("%+v %+v %v, want %s", res.Value, res.Exception, err, want)
		}
		if err := back.Close(); err != nil {
			t.Error(err)
		}
	}
}

// homeOf returns a function that makes what is in an interpreter's home.
func homeOf(t *testing.T, in *pyodide.Interp) func(*pyodide.Interp) error {
	t.Helper()
	home, err := fs.Sub(in.Files(), pyodide.Home[1:])
	if err != nil {
		t.Fatal(err)
	}
	return func(to *pyodide.Interp) error {
		return fs.WalkDir(home, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || name == "." {
				return err
			}
			var data []byte
			var target string
			switch d.Type() {
			case 0:
				data, err = fs.ReadFile(home, name)
			case fs.ModeSymlink:
				target, err = fs.ReadLink(home, name)
			}
			if err != nil {
				return err
			}
			return to.Put(name, d.Type()|0o755, data, target)
		})
	}
}

// TestSnapshotSize writes an interpreter again and again: what it wrote to counts,
// not what it was made of.
func TestSnapshotSize(t *testing.T) {
	ctx := context.Background()
	rt := pyodidetest.Runtime(t)
	in, err := rt.New(ctx, pyodide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	base := in.Base().Name()
	for i := range 4 {
		code := fmt.Sprintf("import builtins\nbuiltins.blocks = getattr(builtins, 'blocks', []) + [bytes([%d]) * 1_000_000]\n[b[0] for b in blocks]", i)
		res, err := in.Run(ctx, pyodide.Program{Code: code})
		if err != nil || res.Value == nil || strings.Count(res.Value.Repr, ",") != i {
			t.Fatalf("%d: %+v %+v %v", i, res.Value, res.Exception, err)
		}
		path := filepath.Join(dir, fmt.Sprint(i))
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(in.Snapshot(f, false, nil), f.Close(), in.Close()); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if most := int64(3_000_000 + 1_100_000*i); err != nil || info.Size() > most {
			t.Errorf("%d: %d bytes, want at most %d", i, info.Size(), most)
		}
		z, err := rt.OpenSnapshot(path, "", base, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		if in, err = rt.New(ctx, pyodide.Options{From: z}); err != nil {
			t.Fatal(err)
		}
		if in.Base().Name() != base {
			t.Errorf("the base is now %s", in.Base().Name())
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// TestSnapshotLayers writes an interpreter whose memory is mostly in a layer, time
// and again, restored between, and compares the memory as the program sees it.
func TestSnapshotLayers(t *testing.T) {
	ctx := context.Background()
	rt := pyodidetest.Runtime(t)
	in, err := rt.New(ctx, pyodide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(code string) string {
		t.Helper()
		res, err := in.Run(ctx, pyodide.Program{Code: code, Session: true})
		if err != nil || res.Value == nil {
			t.Fatalf("%s: %+v %v", code, res, err)
		}
		return res.Value.Repr
	}
	dir, base, layer := t.TempDir(), in.Base().Name(), ""
	run("import zlib, random\nblob = bytearray(random.randbytes(6_000_000))\n0")
	const sum = "zlib.crc32(blob), len(blob), total"
	for i, c := range []struct {
		code   string
		layers bool // the layer is written anew
		lost   bool
	}{
		{"total = 0", true, false},
		{"total += 1; blob[1000] = 7", false, false},
		{"total += 2; blob[5_000_000] ^= 1; blob[:4096] = bytes(4096)", false, false},
		{"total += 3; blob += random.randbytes(7_000_000)", true, false},
		{"total += 4; blob[100_000] ^= 9", false, false},
		{"total += 5; blob[200_000] ^= 9", true, true},
		{"total += 6; del blob[1000:]; more = [object() for _ in range(1000)]", false, false},
	} {
		want := run(c.code + "\n" + sum)
		path := filepath.Join(dir, fmt.Sprint(i))
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		layers := false
		err = in.Snapshot(f, c.lost, func() (*os.File, error) {
			layers, layer = true, path+"-layer"
			return os.Create(layer)
		})
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Size() > 3<<20 || layers != c.layers || !in.Layered() {
			t.Errorf("%s: %d bytes, layer written %v, want %v, %v", c.code, info.Size(), layers, c.layers, err)
		}
		if got := run(sum); got != want {
			t.Errorf("%s: after its snapshot %s, before %s", c.code, got, want)
		}
		if i%2 == 0 { // go on with the one that was written, or with one that was restored
			continue
		}
		z, err := rt.OpenSnapshot(path, layer, base, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		if in, err = rt.New(ctx, pyodide.Options{From: z}); err != nil {
			t.Fatal(err)
		}
		if got := run(sum); got != want {
			t.Errorf("%s: restored %s, before %s", c.code, got, want)
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// TestSnapshotOfACall writes what a small call has changed, not all that is no longer as at
// the start.
func TestSnapshotOfACall(t *testing.T) {
	ctx := context.Background()
	rt := pyodidetest.Runtime(t)
	in, err := rt.New(ctx, pyodide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	dir, layers := t.TempDir(), 0
	for i := range 10 {
		res, err := in.Run(ctx, pyodide.Program{Code: "x = 1 + globals().get('x', 0)\nx", Session: true})
		if err != nil || res.Value == nil || res.Value.Repr != fmt.Sprint(i+1) {
			t.Fatalf("%d: %+v %v", i, res, err)
		}
		path := filepath.Join(dir, fmt.Sprint(i))
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		err = in.Snapshot(f, false, func() (*os.File, error) {
			layers++
			return os.Create(path + "-layer")
		})
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() > 128<<10 {
			t.Errorf("call %d: %d bytes, %v", i, info.Size(), err)
		}
	}
	if layers > 3 {
		t.Errorf("%d layers were written, want few", layers)
	}
}

// TestSnapshotAhead makes interpreters of an instance that was used before.
func TestSnapshotAhead(t *testing.T) {
	ctx := context.Background()
	rt, err := pyodidetest.Open(t, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	in, err := rt.New(ctx, pyodide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := in.Run(ctx, pyodide.Program{Code: "import builtins\nbuiltins.kept = [1]\nopen('f', 'w').write('x')"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "snapshot")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(in.Snapshot(f, false, nil), f.Close()); err != nil {
		t.Fatal(err)
	}
	z, err := rt.OpenSnapshot(path, "", in.Base().Name(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	home := homeOf(t, in)
	for range 6 {
		back, err := rt.New(ctx, pyodide.Options{From: z, Populate: home})
		if err != nil {
			t.Fatal(err)
		}
		res, err := back.Run(ctx, pyodide.Program{Code: "kept.append(2)\nopen('f', 'a').write('y')\nkept, open('f').read()"})
		if err != nil || res.Value == nil || res.Value.Repr != "([1, 2], 'xy')" {
			t.Errorf("%+v %+v %v", res.Value, res.Exception, err)
		}
		if err := back.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSnapshotRefuses names what cannot be put away.
func TestSnapshotRefuses(t *testing.T) {
	for code, want := range map[string]string{
		"import builtins, os; builtins.p = os.pipe()":           "pipe",
		"import builtins, socket; builtins.s = socket.socket()": "a socket",
		"import builtins, ssl\nbuiltins.c = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname='x')\ntry: c.do_handshake()\nexcept ssl.SSLWantReadError: pass": "a TLS connection",
		"import builtins, os; builtins.f = open('x', 'w+'); os.remove('x')":                                                             "no name",
		"import os; os.dup2(os.open('x', os.O_CREAT | os.O_RDWR), 1)":                                                                   "standard descriptor 1",
		"import builtins, mmap, os\nwith open('x', 'wb') as f: f.write(b'x' * 10)\nbuiltins.m = mmap.mmap(os.open('x', os.O_RDWR), 10)": "mapped",
	} {
		in, err := pyodidetest.Runtime(t).New(context.Background(), pyodide.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := in.Run(context.Background(), pyodide.Program{Code: code}); err != nil || res.ExitCode != 0 {
			t.Fatalf("%s: %+v %v", code, res.Exception, err)
		}
		f, err := os.Create(filepath.Join(t.TempDir(), "snapshot"))
		if err != nil {
			t.Fatal(err)
		}
		err = in.Snapshot(f, false, nil)
		if !errors.Is(err, pyodide.ErrUnfit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", code, err, want)
		}
		if err := errors.Join(f.Close(), in.Close()); err != nil {
			t.Error(err)
		}
	}
}
