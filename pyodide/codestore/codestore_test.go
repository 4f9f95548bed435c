package codestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/wasmbin"
)

// answering makes a module with a function that returns a number.
func answering(t testing.TB, n int32) Source {
	b := new(wasmbin.Builder)
	f := b.Func(wasmbin.FuncType{Results: []wasmbin.ValType{wasmbin.I32}}, nil, wasmbin.AppendI32Const(nil, n))
	b.Export("answer", wasmbin.KindFunc, f)
	m, err := wasmbin.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return Source{Whole: b.Bytes(), Stub: m.Stub(nil), Info: []byte("info")}
}

// built builds a module in a new directory.
func built(t *testing.T, n int32) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := Build(context.Background(), dir, answering(t, n)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// engine is a loader.
type engine struct{ *Loader }

func newEngine(t *testing.T) engine {
	t.Helper()
	ctx := context.Background()
	l, err := NewLoader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(ctx); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(l.temp.Path()); err == nil {
			t.Errorf("%s is left", l.temp.Path())
		}
	})
	return engine{l}
}

// stubIn reads the stub module that was built in dir.
func stubIn(t *testing.T, dir string) *Stub {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, StubFile))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadStub(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func moduleConfig() wazero.ModuleConfig { return wazero.NewModuleConfig().WithName("") }

// load loads what was built in dir.
func (e engine) load(dir string) (wazero.CompiledModule, error) {
	b, err := os.ReadFile(filepath.Join(dir, StubFile))
	if err != nil {
		return nil, err
	}
	s, err := ReadStub(b)
	if err != nil {
		return nil, err
	}
	return e.Load(context.Background(), s, filepath.Join(dir, CodeFile))
}

func (e engine) call(c wazero.CompiledModule) (uint64, error) {
	ctx := context.Background()
	mod, err := e.wz.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return 0, err
	}
	defer mod.Close(ctx)
	res, err := mod.ExportedFunction("answer").Call(ctx)
	if err != nil {
		return 0, fmt.Errorf("the stub's body has run: %w", err)
	}
	return res[0], nil
}

// TestLoad wants the whole module's code to run, also of two modules that differ
// in their bodies only, loaded at the same time.
func TestLoad(t *testing.T) {
	dirs := []string{built(t, 42), built(t, 43)}
	var wg sync.WaitGroup
	for range 2 {
		e := newEngine(t)
		for i := range 4 {
			wg.Go(func() {
				c, err := e.load(dirs[i%2])
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := e.call(c); err != nil || got != uint64(42+i%2) {
					t.Errorf("%d, %v; want %d", got, err, 42+i%2)
				}
			})
		}
		wg.Wait()
		if left, err := os.ReadDir(filepath.Dir(e.inner)); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

// TestLayout wants the machine code of each module to be laid out anew, where that is
// possible, and the stub to say so.
func TestLayout(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(built(t, 42), StubFile))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadStub(b)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	if runtime.GOARCH == "amd64" {
		want = 1
	}
	if !s.Layout.Whole() || s.Layout.Functions != want {
		t.Errorf("%+v", s.Layout)
	}
}

// TestLayOut runs machine code that was laid out, and as wazero writes it.
func TestLayOut(t *testing.T) {
	for _, later := range []bool{true, false} {
		dir := t.TempDir()
		source := answering(t, 42)
		source.Later = later
		if err := Build(context.Background(), dir, source); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, StubFile))
		if err != nil {
			t.Fatal(err)
		}
		s, err := ReadStub(b)
		if err != nil {
			t.Fatal(err)
		}
		if laid := !later && LaysOut; s.Layout.Later != (later && LaysOut) || s.Layout.Functions > 0 != laid || !s.Layout.Whole() {
			t.Errorf("later %v: %+v", later, s.Layout)
		}
		e := newEngine(t)
		c, err := e.load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.call(c); err != nil || got != 42 {
			t.Errorf("later %v: %d, %v", later, got, err)
		}
	}
}

// TestNotTaken wants an error when wazero, for whatever reason, does not use the
// machine code: nothing may run with a stub's bodies.
func TestNotTaken(t *testing.T) {
	write := func(data []byte) func(string) {
		return func(code string) {
			if err := errors.Join(os.Remove(code), os.WriteFile(code, data, 0o400)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tamper := range map[string]func(code string){
		"gone":               func(code string) { os.Remove(code) },
		"empty":              write(nil),
		"of another version": write(append([]byte("WAZEVO\x05v0.0."), make([]byte, 100)...)),
		"something else":     write([]byte("something else, of some length")),
		"changed": func(code string) {
			b, err := os.ReadFile(code)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)-1] ^= 1 // of the code, in a packed file
			b[len(b)-6] ^= 1 // of the code or its checksum
			write(b)(code)
		},
		"cut": func(code string) {
			b, err := os.ReadFile(code)
			if err != nil {
				t.Fatal(err)
			}
			write(b[:len(b)-len(b)/4])(code)
		},
	} {
		dir := built(t, 42)
		tamper(filepath.Join(dir, CodeFile))
		if c, err := newEngine(t).load(dir); c != nil || err == nil {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}

// TestAnotherName has a stub module whose code wazero looks for elsewhere.
func TestAnotherName(t *testing.T) {
	dir := built(t, 42)
	b, err := os.ReadFile(filepath.Join(dir, StubFile))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadStub(b)
	if err != nil {
		t.Fatal(err)
	}
	s.code = strings.Repeat("0", len(s.code))
	e := newEngine(t)
	if c, err := e.Load(context.Background(), s, filepath.Join(dir, CodeFile)); c != nil || !errors.Is(err, errNotTaken) {
		t.Errorf("%v, %v", c, err)
	}
}

// TestStamp wants the same words of every process for the same machine code.
func TestStamp(t *testing.T) {
	var stamps [2]string
	for i := range stamps {
		e := newEngine(t)
		var err error
		if stamps[i], err = e.stamp(); err != nil {
			t.Fatal(err)
		}
	}
	if stamps[0] != stamps[1] || !strings.HasPrefix(stamps[0], "wazero-") || len(stamps[0]) < 80 {
		t.Errorf("%q", stamps)
	}
}

func stubFile(t testing.TB) []byte {
	t.Helper()
	s := Stub{Wasm: []byte("wasm"), Info: []byte("info"), Digest: "d", code: "name",
		places: []byte("places"), Data: []wasmbin.Segment{{Addr: 3, Bytes: []byte("ab")}, {Addr: 9, Bytes: []byte("cde")}}}
	var b bytes.Buffer
	if err := s.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadStub(t *testing.T) {
	b := stubFile(t)
	got, err := ReadStub(b)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Wasm) != "wasm" || got.code != "name" || string(got.Info) != "info" || string(got.places) != "places" || len(got.Data) != 2 ||
		got.Data[1].Addr != 9 || string(got.Data[1].Bytes) != "cde" {
		t.Errorf("got %+v", got)
	}
	for n := range b {
		if _, err := ReadStub(b[:n]); !errors.Is(err, errDamaged) {
			t.Errorf("of %d bytes: %v", n, err)
		}
	}
}

// TestNoData tells a stub whose data is apart, and empty, from one that has its data itself.
func TestNoData(t *testing.T) {
	for _, data := range [][]wasmbin.Segment{nil, {}} {
		var b bytes.Buffer
		s := Stub{Wasm: []byte("wasm"), Data: data, code: "name"}
		if err := s.write(&b); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadStub(b.Bytes()); err != nil || (got.Data == nil) != (data == nil) {
			t.Errorf("of %#v: %+v, %v", data, got, err)
		}
	}
}

// FuzzReadStub wants no panic.
func FuzzReadStub(f *testing.F) {
	b := stubFile(f)
	f.Add(b)
	for n := range b { // each byte is damaged once, as are the lengths
		f.Add(append(append(bytes.Clone(b[:n]), b[n]^0x1f), b[n+1:]...))
	}
	f.Add(append([]byte(format), 5, 0, 0, 0, 0x9a, 0xff, 0xff, 0xff, 0xff)) // a list of 4 G elements
	f.Add(append([]byte("STUB0001"), b[len(format):]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadStub(b)
		if err == nil && len(s.Wasm) > len(b) {
			t.Errorf("%d bytes out of %d", len(s.Wasm), len(b))
		}
	})
}

// TestLoadWaits: whoever waits while another module is compiled stops with its
// context.
func TestLoadWaits(t *testing.T) {
	e := newEngine(t)
	started, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- e.within(context.Background(), func() error { close(started); <-release; return nil })
	}()
	<-started
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	if _, err := e.Compile(ctx, answering(t, 1).Whole); !errors.Is(err, over) {
		t.Errorf("Compile: %v, want %v", err, over)
	}
	if _, err := e.Load(ctx, &Stub{}, "code"); !errors.Is(err, over) {
		t.Errorf("Load: %v, want %v", err, over)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
