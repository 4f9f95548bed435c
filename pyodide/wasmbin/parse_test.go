package wasmbin

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parsed(t testing.TB, name string) *Module {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParse(t *testing.T) {
	m := parsed(t, "all.wasm")
	ii := FuncType{[]ValType{I32}, []ValType{I32}}
	got := map[string]any{
		"imports":  m.Imports,
		"exports":  m.Exports,
		"tables":   m.Tables,
		"memories": m.Memories,
		"funcs":    len(m.Funcs),
		"type":     m.FuncType(1),
		"tags":     []int{len(m.Tags), m.ImportedTags, len(m.TagType(0).Params), len(m.TagType(1).Params)},
		"start":    m.Start,
		"bodies":   len(m.Bodies),
		"locals":   m.Bodies[0].Locals,
		"count":    m.DataCount,
		"data":     []string{string(m.Data[0].Bytes), string(m.Data[1].Bytes)},
		"modes":    []Mode{m.Data[0].Mode, m.Data[1].Mode, m.Elements[0].Mode, m.Elements[1].Mode, m.Elements[2].Mode, m.Elements[3].Mode},
		"elements": [][]uint32{m.Elements[0].Funcs, m.Elements[1].Funcs, m.Elements[2].Funcs, m.Elements[3].Funcs},
		"dylink":   m.Dylink,
	}
	want := map[string]any{
		"imports": []Import{{"env", "abc", KindFunc, 0}, {"env", "__table_base", KindGlobal, 0}, {"env", "t", KindTable, 0},
			{"env", "m", KindMemory, 0}, {"env", "tag", KindTag, 0}},
		"exports":  []Export{{"g", KindGlobal, 1}, {"addr", KindGlobal, 2}, {"one", KindFunc, 1}},
		"tables":   []Table{{FuncRef, Limits{Min: 1, Max: 2, HasMax: true}}, {ExternRef, Limits{Min: 3}}},
		"memories": []Limits{{Min: 1}},
		"funcs":    5,
		"type":     ii,
		"tags":     []int{2, 1, 1, 0},
		"start":    uint32(3),
		"bodies":   4,
		"locals":   7,
		"count":    2,
		"data":     []string{"active", "passive"},
		"modes":    []Mode{Active, Passive, Active, Passive, Passive, Declared},
		"elements": [][]uint32{{1, 2}, {2}, {1, NoFunc}, {0}},
		"dylink": &Dylink{MemorySize: 16, MemoryAlign: 4, TableSize: 2, Needed: []string{"libz.so"},
			Imports: []DylinkImport{{"env", "abc", 1}}, RuntimePath: []string{"$ORIGIN/lib"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("all.wasm (-want +got):\n%s", d)
	}
	if v, ok := m.Globals[2].Init.Const32(); !ok || v != 4660 {
		t.Errorf("addr = %d, %v, want 4660", v, ok)
	}
	if s, ok := m.FuncSlots[2]; !ok || s != 1 {
		t.Errorf("slot of function 2 = %d, %v, want 1", s, ok)
	}
	if f, ok := m.ImportedFunc("env", "abc"); !ok || f != 0 {
		t.Errorf("import env.abc = %d, %v", f, ok)
	}
	if f, ok := m.ExportedFunc("one"); !ok || f != 1 {
		t.Errorf("export one = %d, %v", f, ok)
	}
	if _, ok := m.ExportedFunc("addr"); ok {
		t.Error("the global addr passes for a function")
	}
	if !m.Dylink.Imports[0].Weak() {
		t.Error("abc is not weak")
	}
}

// TestParseImports: what it reads is what Parse reads, and what is behind it may be anything.
func TestParseImports(t *testing.T) {
	m := parsed(t, "all.wasm")
	s, ok := m.SectionOf(SecImport)
	if !ok {
		t.Fatal("all.wasm has no imports")
	}
	for _, b := range [][]byte{m.Bytes, m.Bytes[:s.End], append(slices.Clip(m.Bytes[:s.End]), byte(SecCode), 1, 0xff)} {
		got, err := ParseImports(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]any{m.Types, m.Imports}, []any{got.Types, got.Imports}); d != "" {
			t.Errorf("the first %d bytes of all.wasm (-Parse +ParseImports):\n%s", len(b), d)
		}
	}
	if _, err := ParseImports(m.Bytes[:s.End-1]); err == nil {
		t.Error("an import section without its end is read")
	}
}

func TestInstructions(t *testing.T) {
	m := parsed(t, "all.wasm")
	seen := map[byte]int{}
	for i, b := range m.Bodies {
		c := m.CodeOf(m.Bytes, m.Bodies[i], m.FuncType(uint32(i+m.ImportedFuncs)))
		var in Instr
		at := b.Code
		for c.Next(&in) {
			if in.Start != at || in.Imm <= in.Start || in.End < in.Imm {
				t.Fatalf("body %d: instruction at %d..%d..%d, want it at %d", i, in.Start, in.Imm, in.End, at)
			}
			at = in.End
			seen[in.Op]++
			switch in.Op {
			case OpBrTable:
				var labels []uint32
				c.Labels(&in, func(l uint32) { labels = append(labels, l) })
				if d := cmp.Diff([]uint32{0, 1, 0}, labels); d != "" {
					t.Errorf("br_table (-want +got):\n%s", d)
				}
			case OpTry:
				if d := cmp.Diff(FuncType{Results: []ValType{I32}}, m.BlockType(in.A)); d != "" {
					t.Errorf("try (-want +got):\n%s", d)
				}
			case OpLoop:
				if in.A != BlockEmpty {
					t.Errorf("loop has type %#x", in.A)
				}
			}
		}
		if err := c.Err(); err != nil || at != b.End {
			t.Errorf("body %d ends at %d of %d: %v", i, at, b.End, err)
		}
	}
	for op, n := range map[byte]int{OpTry: 2, OpDelegate: 1, OpRethrow: 1, OpThrow: 1, OpCatch: 1, OpCatchAll: 1, OpReturnCall: 1,
		OpReturnCallIndirect: 1, PrefixSIMD: 4, PrefixMisc: 8, OpSelectT: 1, OpEnd: 4 + 5} {
		if seen[op] != n {
			t.Errorf("opcode %#x occurs %d times, want %d", op, seen[op], n)
		}
	}
}

func TestMalformed(t *testing.T) {
	for in, want := range map[string]string{
		"":                                      "not a WebAssembly module",
		"\x00asm\x0d\x00\x01\x00":               "not version 1",
		Header + "\x0e\x00":                     "unknown section 14",
		Header + "\x01\x05\x01":                 "5 bytes in a section in 1 bytes",
		Header + "\x01\x80\x80\x80\x80\x70":     "does not fit 32 bits",
		Header + "\x03\x01\x00\x01\x01\x00":     "out of order",
		Header + "\x01\x01\x00\x01\x01\x00":     "out of order",
		Header + "\x01\x05\xff\xff\xff\xff\x0f": "at most 1000000",
		Header + "\x01\x02\x05\x60":             "5 type entries in 1 bytes",
		Header + "\x01\x04\x01\x5f\x00\x00":     "unsupported type form 0x5f",
		Header + "\x01\x05\x01\x60\x01\x69\x00": "unsupported value type 0x69",
		Header + "\x01\x05\x01\x60\x00\x00\x00": "1 bytes too many",
		Header + "\x03\x02\x01\x00":             "type index 0 out of range",
		Header + "\x05\x03\x01\x04\x01":         "unsupported memory flags 0x4",
		Header + "\x05\x04\x01\x01\x05\x04":     "memory of 5 to 4",
		Header + "\x05\x03\x01\x00\x01\x07\x09\x02\x01a\x02\x00\x01a\x02\x00": `export "a" occurs twice`,
		Header + "\x08\x01\x00":                                 "function index 0 out of range",
		Header + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00":     "1 functions, 0 bodies",
		Header + "\x0c\x01\x03":                                 "0 segments, 3 were announced",
		Header + "\x00\x03\x02\xff\xfe":                         "not UTF-8",
		Header + "\x00\x0f\x08dylink.0\x01\x04\x10\x20\x00\x00": "alignments",
		Header + "\x00\x0e\x08dylink.0\x02\xff\xff\x03\x00":     "bytes in a sub-section",
	} {
		_, err := Parse([]byte(in))
		var fe *FormatError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want an error with %q", in, err, want)
		}
	}
}

func TestEval32(t *testing.T) {
	x := Expr{OpGlobalGet, 3, OpI32Const, 8, OpI32Add, OpI32Const, 2, OpI32Mul, OpEnd}
	global := func(g uint32) (uint32, bool) { return 100, g == 3 }
	if v, ok := x.Eval32(global); !ok || v != 216 {
		t.Errorf("(global 3 + 8) * 2 = %d, %v, want 216", v, ok)
	}
	for _, bad := range []Expr{nil, {OpEnd}, {OpI32Add, OpEnd}, {OpGlobalGet, 4, OpEnd}, {OpI64Const, 0, OpEnd}, {OpI32Const, 1, OpI32Const, 2, OpEnd}} {
		if v, ok := bad.Eval32(global); ok {
			t.Errorf("%x = %d", []byte(bad), v)
		}
	}
	var seen []uint32
	x.Globals(func(start, end int, g uint32) { seen = append(seen, uint32(start), uint32(end), g) })
	if d := cmp.Diff([]uint32{1, 2, 3}, seen); d != "" {
		t.Errorf("globals (-want +got):\n%s", d)
	}
}

// addModules seeds a fuzz test with the modules in testdata.
func addModules(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.wasm")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// FuzzParse reads arbitrary modules with all their code.
func FuzzParse(f *testing.F) {
	addModules(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			if fe := (*FormatError)(nil); !errors.As(err, &fe) || fe.Off < 0 || fe.Off > len(b) {
				t.Errorf("error %v", err)
			}
			return
		}
		for i := range m.Bodies {
			c := m.CodeOf(m.Bytes, m.Bodies[i], m.FuncType(uint32(i+m.ImportedFuncs)))
			var in Instr
			for c.Next(&in) {
				if in.Op == OpBrTable {
					c.Labels(&in, func(uint32) {})
				}
			}
			if c.Err() == nil && c.Len() != 0 {
				t.Errorf("body %d: %d bytes left", i, c.Len())
			}
		}
		m.Slots(func(_, fn uint32) { m.FuncType(fn) })
		for _, e := range m.Exports {
			if e.Kind == KindFunc {
				m.FuncType(e.Index)
			}
		}
	})
}
