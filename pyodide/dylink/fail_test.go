package dylink

import (
	"strings"
	"testing"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

// TestFailedLoad wants a clear message, and everything as it was.
func TestFailedLoad(t *testing.T) {
	module := func(f func(*side)) []byte {
		s := side{}
		f(&s)
		return s.bytes()
	}
	for _, c := range []struct {
		name  string
		files map[string][]byte
		want  []string
	}{
		{"no file", nil, []string{"/lib/root.so: file not found"}},
		{"no module", map[string][]byte{"/lib/root.so": []byte("hello")}, []string{"not a WebAssembly module"}},
		{"no library", map[string][]byte{"/lib/root.so": mainModule()}, []string{"not a shared library"}},
		{"undefined", map[string][]byte{"/lib/root.so": module(func(s *side) {
			s.calls("f", "zeta", "alpha")
			s.reads("gamma")
		})}, []string{"/lib/root.so: undefined 3 symbols: alpha, gamma, zeta"}},
		{"undefined in a needed one", map[string][]byte{
			"/lib/root.so": module(func(s *side) { s.needed, s.memory, s.table = []string{"/lib/dep.so"}, 64, 8; s.calls("f", "dep") }),
			"/lib/dep.so":  module(func(s *side) { s.calls("dep", "nowhere") }),
		}, []string{"undefined symbol nowhere"}},
		{"another type", map[string][]byte{"/lib/root.so": module(func(s *side) { s.ImportFunc(envModule, "plain", i32Func(2, 0)) })},
			[]string{"plain ((i32, i32) -> () wanted, (i32) -> (i32) defined)"}},
		{"missing needed", map[string][]byte{"/lib/root.so": module(func(s *side) { s.needed = []string{"libz.so"} })},
			[]string{"/lib/root.so: needs libz.so: file not found"}},
		{"bad needed", map[string][]byte{
			"/lib/root.so": module(func(s *side) { s.needed = []string{"/lib/dep.so"} }),
			"/lib/dep.so":  []byte("\x00asm"),
		}, []string{"needs /lib/dep.so"}},
		{"EM_JS", map[string][]byte{"/lib/root.so": module(func(s *side) {
			s.Export("__em_js__alert", wasmbin.KindGlobal, s.GlobalI32(false, 0))
		})}, []string{"inline JavaScript (EM_JS alert)"}},
		{"EM_ASM", map[string][]byte{"/lib/root.so": module(func(s *side) {
			s.Export("__start_em_asm", wasmbin.KindGlobal, s.GlobalI32(false, 0))
		})}, []string{"inline JavaScript (EM_ASM)"}},
		{"own memory", map[string][]byte{"/lib/root.so": module(func(s *side) {
			s.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 60000}))
		})}, []string{"a memory of its own"}},
		{"own table", map[string][]byte{"/lib/root.so": module(func(s *side) {
			s.Define(wasmbin.KindTable, wasmbin.SecTable, wasmbin.AppendTable(nil, wasmbin.Table{Type: wasmbin.FuncRef}))
		})}, []string{"a table of its own"}},
		{"another module", map[string][]byte{"/lib/root.so": module(func(s *side) { s.ImportFunc("main", "grow", i32Func(1, 1)) })}, []string{`from the module "main"`}},
		{"another global", map[string][]byte{"/lib/root.so": module(func(s *side) { s.ImportGlobal(envModule, "arity_len", wasmbin.I32, true) })}, []string{"arity_len"}},
		{"threads", map[string][]byte{"/lib/root.so": module(func(s *side) {
			s.ImportMemory(envModule, "memory", wasmbin.Limits{Max: 9, HasMax: true, Shared: true})
		})}, []string{"threads"}},
		{"much memory", map[string][]byte{"/lib/root.so": module(func(s *side) { s.memory = 1<<30 + 1 })}, []string{"1073741825 bytes of memory"}},
		{"more memory than there is", map[string][]byte{"/lib/root.so": module(func(s *side) { s.memory = 1 << 29 })}, []string{"out of memory"}},
		{"many slots", map[string][]byte{"/lib/root.so": module(func(s *side) { s.table = 1<<20 + 1 })}, []string{"1048577 table slots"}},
		{"more slots than there are", map[string][]byte{
			"/lib/root.so": module(func(s *side) { s.needed, s.table = []string{"/lib/dep.so"}, 1000 }),
			"/lib/dep.so": module(func(s *side) {
				s.memory, s.table = 64, 16
				s.ImportTable(envModule, tableName, wasmbin.Table{Type: wasmbin.FuncRef})
				s.reads("plain")
				s.Elements(0, 0, []uint32{s.adds("f", 1)})
			}),
		}, []string{"the table of functions is full"}},
		{"memory beyond the main module's", map[string][]byte{
			"/lib/root.so": module(func(s *side) {
				s.needed = []string{"/lib/dep.so"}
				s.ImportMemory(envModule, "memory", wasmbin.Limits{Min: 1000})
			}),
			"/lib/dep.so": module(func(s *side) { s.memory, s.table = 64, 16; s.reads("plain"); s.adds("f", 1) }),
		}, []string{"minimum size mismatch"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			good := side{memory: 16}
			good.adds("good", 3)
			w.files["/lib/good.so"] = good.bytes()
			w.mustOpen("/lib/good.so", rtldGlobal)
			for name, b := range c.files {
				w.files[name] = b
			}
			before := w.state()
			_, err := w.dlopen("/lib/root.so", 0)
			if err == nil || hostfn.Trapped(err) {
				t.Fatalf("dlopen: %v, want an error that is not fatal", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("dlopen: %v, want %q", err, want)
				}
			}
			if after := w.state(); after != before {
				t.Errorf("a failed load left something behind:\nbefore %s\nafter  %s", before, after)
			}
			last := side{table: 20}
			last.calls("last", "good", "plain")
			w.files["/lib/last.so"] = last.bytes()
			if got := w.run(w.sym(w.mustOpen("/lib/last.so", 0), "last"), 1); got != 6 {
				t.Errorf("last(1) = %d, want 6", got)
			}
		})
	}
}

// ctor makes a library with a constructor.
func ctor(body []byte, imports func(*side)) []byte {
	s := side{memory: 16}
	if imports != nil {
		imports(&s)
	}
	s.Export("__wasm_call_ctors", wasmbin.KindFunc, s.Func(wasmbin.FuncType{}, nil, body))
	s.adds("f", 1)
	return s.bytes()
}

func TestConstructors(t *testing.T) {
	w := newWorld(t)
	throw := wasmbin.AppendOp(wasmbin.AppendI32Const(nil, 1), wasmbin.OpGlobalSet, 0)
	w.files["/lib/throws.so"] = ctor(throw, func(s *side) { s.ImportGlobal(envModule, "__eh_flag", wasmbin.I32, true) })
	before := len(w.defs)
	if _, err := w.dlopen("/lib/throws.so", rtldGlobal); err == nil || hostfn.Trapped(err) || !strings.Contains(err.Error(), "exception") {
		t.Errorf("a constructor threw: %v", err)
	}
	if g := w.c.Instance.ExportedGlobal("__eh_flag").Get(); g != 0 {
		t.Errorf("the exception is still pending: %d", g)
	}
	if len(w.libs) != 0 || len(w.global) != 0 || len(w.defs) != before {
		t.Errorf("its names are still known: %s", w.state())
	}
	for name, body := range map[string][]byte{"trap": {wasmbin.OpUnreachable}, "panic": {wasmbin.OpCall, 0}} {
		w := newWorld(t)
		w.files["/lib/a.so"] = ctor(body, func(s *side) { s.ImportFunc(envModule, "host_panic", wasmbin.FuncType{}) })
		if _, err := w.dlopen("/lib/a.so", 0); !hostfn.Trapped(err) {
			t.Errorf("%s in a constructor: %v, want a fatal error", name, err)
		}
	}
}

func TestManyNeeded(t *testing.T) {
	w := newWorld(t)
	for i := range maxDepth + 2 {
		s := side{needed: []string{"/lib/" + strings.Repeat("x", i+2) + ".so"}}
		w.files["/lib/"+strings.Repeat("x", i+1)+".so"] = s.bytes()
	}
	if _, err := w.dlopen("/lib/x.so", 0); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("dlopen: %v", err)
	}
}

func TestSlots(t *testing.T) {
	w := newWorld(t)
	take := func(n, align uint32) uint32 {
		t.Helper()
		s, err := w.takeSlots(w.ctx, n, align)
		if err != nil || s%align != 0 {
			t.Fatalf("takeSlots(%d, %d) = %d, %v", n, align, s, err)
		}
		return s
	}
	a, b, c := take(3, 1), take(5, 8), take(2, 1)
	used := map[uint32]bool{}
	for _, r := range []span{{a, 3}, {b, 5}, {c, 2}} {
		for s := r.start; s < r.start+r.n; s++ {
			if used[s] || s < 4 {
				t.Fatalf("slot %d was given twice, or is not free", s)
			}
			used[s] = true
		}
	}
	w.freeSlots(b, 5)
	w.freeSlots(a, 3)
	w.freeSlots(c, 2)
	if len(w.slots.free) != 1 || w.slots.free[0] != (span{4, 64}) {
		t.Errorf("free slots: %v, want one range of 64", w.slots.free)
	}
	if _, err := w.takeSlots(w.ctx, 1000, 1); err != errTableFull {
		t.Errorf("takeSlots(1000): %v", err)
	}
}
