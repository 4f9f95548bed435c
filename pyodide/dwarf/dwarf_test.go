package dwarf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"coderunner/pyodide/wasmbin"
)

// module makes a module with debug information.
func module(sections map[string][]byte) []byte {
	b := []byte(wasmbin.Header)
	for _, name := range []string{".debug_abbrev", ".debug_info", ".debug_ranges", ".debug_str", ".debug_line", ".debug_line_str"} {
		if s := sections[name]; s != nil {
			b = wasmbin.AppendSection(b, wasmbin.SecCustom, wasmbin.AppendName(nil, name), s)
		}
	}
	return b
}

// unit is a unit with its length.
func unit(parts ...[]byte) []byte {
	b := slices.Concat(parts...)
	return append([]byte{byte(len(b)), byte(len(b) >> 8), 0, 0}, b...)
}

// table is a line program: lines 10 of a.c from 16 on, 20 of b.h from 24 on, up to 32.
func table() []byte {
	tables := []byte("dir\x00\x00a.c\x00\x00\x00\x00b.h\x00\x01\x00\x00\x00")
	header := slices.Concat([]byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}, tables)
	program := []byte{
		0, 5, lneAddress, 16, 0, 0, 0, lnsAdvanceLine, 9, lnsCopy,
		lnsSetFile, 2, lnsAdvancePC, 8, lnsAdvanceLine, 10, lnsCopy,
		lnsAdvancePC, 8, 0, 1, lneEnd,
		0, 5, lneAddress, 0, 0, 0, 0, lnsCopy, lnsAdvancePC, 100, 0, 1, lneEnd, // of what the linker has left out
	}
	return unit([]byte{4, 0, byte(len(header)), 0, 0, 0}, header, program)
}

// example has a function f from 16 to 32, into which g was inlined at line 11 from 24 on.
func example() map[string][]byte {
	const unitTag, str, addr, data1, offset, ref4 = 0x11, 0x08, 0x01, 0x0b, 0x17, 0x13
	abbrev := []byte{
		1, unitTag, 1, attrStmtList, offset, attrLowPC, addr, 0, 0,
		2, tagSubprogram, 1, attrName, str, attrLowPC, addr, attrHighPC, data1, 0, 0,
		3, tagSubprogram, 0, attrName, str, 0, 0,
		4, tagInlined, 0, attrOrigin, ref4, attrLowPC, addr, attrHighPC, data1, attrCallFile, data1, attrCallLine, data1, 0, 0,
		0,
	}
	head := []byte{4, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0}
	g := byte(4 + len(head)) // its offset in the unit
	info := unit(head, []byte{3, 'g', 0}, []byte{2, 'f', 0, 16, 0, 0, 0, 16}, []byte{4, g, 0, 0, 0, 24, 0, 0, 0, 8, 1, 11}, []byte{0, 0})
	return map[string][]byte{".debug_abbrev": abbrev, ".debug_info": info, ".debug_line": table()}
}

func TestLookup(t *testing.T) {
	got := Open(module(example())).Lookup([]uint32{15, 16, 23, 24, 31, 32})
	f := []Frame{{"f", "a.c", 10}}
	g := []Frame{{"g", "dir/b.h", 20}, {"f", "a.c", 11}}
	for k, want := range [][]Frame{nil, f, f, g, g, nil} {
		if !slices.Equal(got[k], want) {
			t.Errorf("%d: %v, want %v", k, got[k], want)
		}
	}
}

// TestCompiled has the debug information of testdata/whole.c as clang writes it in versions 4
// and 5, of which the lines are the same. The header is in another directory.
func TestCompiled(t *testing.T) {
	var found [2][][]Frame
	offsets := make([]uint32, 400)
	for k := range offsets {
		offsets[k] = uint32(k)
	}
	for k, name := range []string{"dwarf4", "dwarf5"} {
		wasm, err := os.ReadFile("testdata/" + name + ".wasm")
		if err != nil {
			t.Fatal(err)
		}
		found[k] = Open(wasm).Lookup(offsets)
	}
	seen := map[string]bool{}
	for k := range offsets {
		four, five := found[0][k], found[1][k]
		if len(four) == 0 != (len(five) == 0) {
			t.Fatalf("%d: %v and %v", k, four, five)
		}
		if len(four) > 0 {
			seen[fmt.Sprint(four)] = true
			if four[0].File != five[0].File || four[0].Line != five[0].Line {
				t.Errorf("%d: %v and %v", k, four, five)
			}
		}
	}
	for _, want := range []string{
		"[{part sub/part.h 2} {half whole.c 5} {twice whole.c 8}]",
		"[{part sub/part.h 2} {half whole.c 4} {twice whole.c 8}]",
	} {
		if !seen[want] {
			t.Errorf("nothing is at %s: %v", want, seen)
		}
	}
}

func TestWithout(t *testing.T) {
	for name, wasm := range map[string][]byte{"nothing": nil, "no module": []byte("text"), "no lines": module(nil)} {
		if Open(wasm) != nil {
			t.Errorf("%s has lines", name)
		}
	}
}

// bomb repeats what is cheap to write and dear to read.
func bomb() []byte {
	s := example()
	s[".debug_abbrev"] = slices.Concat([]byte{1, tagInlined, 0}, bytes.Repeat([]byte{attrRanges, 0x17, attrCallFile, 0x19}, 1000), []byte{0, 0, 0})
	s[".debug_info"] = nil
	for range 200 {
		s[".debug_info"] = append(s[".debug_info"], unit([]byte{4, 0, 0, 0, 0, 0, 4}, bytes.Repeat([]byte{1}, 50_000))...)
	}
	s[".debug_ranges"] = bytes.Repeat([]byte{9, 0, 0, 0}, 1<<20)
	s[".debug_line"] = bytes.Repeat(table(), 50_000)
	return module(s)
}

func TestBounded(t *testing.T) {
	before := time.Now()
	Open(bomb()).Lookup(make([]uint32, 20))
	if spent := time.Since(before); spent > time.Minute {
		t.Errorf("it took %v", spent)
	}
}

// FuzzLookup wants no panic.
func FuzzLookup(f *testing.F) {
	files, err := filepath.Glob("testdata/*.wasm")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint32(20))
	}
	f.Add(module(example()), uint32(20))
	f.Fuzz(func(t *testing.T, wasm []byte, at uint32) {
		if d := Open(wasm); d != nil {
			for _, list := range d.Lookup([]uint32{at, at + 8}) {
				for _, f := range list {
					if len(f.Function) > 3*maxText || len(f.File) > 6*maxText+1 {
						t.Errorf("a name of %d bytes", len(f.Function)+len(f.File))
					}
				}
			}
		}
	})
}
