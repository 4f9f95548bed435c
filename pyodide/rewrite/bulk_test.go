package rewrite

import (
	"bytes"
	"context"
	"testing"

	"coderunner/pyodide/wasmbin"

	"github.com/tetratelabs/wazero/api"
)

// TestBulk compares bulk memory instructions in chunks with the plain ones.
func TestBulk(t *testing.T) {
	const (
		size = 80 << 16
		mib  = bulkChunk
	)
	in := testdata(t, "bulk.wasm")
	out, info := rewritten(t, in, Options{})
	if info.Stats.Bulk != 4 { // all of variable or great size; the segment is small
		t.Errorf("%d instructions were replaced, want 4", info.Stats.Bulk)
	}
	cases := []struct {
		fn   string
		args []uint64
	}{
		{"fill", []uint64{0, 7, size}},
		{"fill", []uint64{3, 8, 2*mib + 5}},
		{"fill", []uint64{3, 9, mib}},
		{"fill", []uint64{3, 10, mib + 1}},
		{"fill", []uint64{size, 1, 0}},
		{"fill", []uint64{size + 1, 1, 0}},
		{"fill", []uint64{size - 3*mib, 1, 3*mib + 1}}, // writes nothing before it traps
		{"fill", []uint64{1, 11, 0xffffffff}},
		{"fill_small", []uint64{5, 12}},
		{"fill_large", []uint64{5, 13}},
		{"fill_large", []uint64{size - 100, 14}},
		{"fill_huge", []uint64{0, 15}},
		{"copy", []uint64{0, 2 * mib, 2*mib + 9}},
		{"copy", []uint64{0, 1, 4 * mib}},              // down, by one
		{"copy", []uint64{1, 0, 4 * mib}},              // up, by one
		{"copy", []uint64{mib / 2, 0, 4 * mib}},        // up, by half a chunk
		{"copy", []uint64{0, mib / 2, 4 * mib}},        // down, by half a chunk
		{"copy", []uint64{mib, 0, 4 * mib}},            // up, by a chunk
		{"copy", []uint64{2*mib + 1, 5, 2*mib - 4}},    // ranges that touch
		{"copy", []uint64{77, 77, 3 * mib}},            // onto itself
		{"copy", []uint64{size - 2*mib, 0, 2 * mib}},   // to the very end
		{"copy", []uint64{0, size - 2*mib, 2*mib + 1}}, // traps
		{"copy", []uint64{size - 2*mib, 0, 2*mib + 1}}, // traps
		{"copy", []uint64{0, 0xffffffff, 2 * mib}},
		{"copy", []uint64{0xffffffff, 0, 2 * mib}},
		{"init", []uint64{10, 2, 5}},
		{"init", []uint64{10, 2, 9}},
	}
	for n := range uint64(70) {
		for _, at := range [][2]uint64{{99, 300}, {99, 100}, {100, 99}, {99, 99 + n/2}, {99 + n/2, 99}, {size - n, 5}, {5, size - n}, {size + 1 - n, 5},
			{5, size + 1 - n}, {1<<32 - 1, 5}, {1<<32 - n, 5}, {5, 1<<32 - 1}, {1<<32 - n/2, 5}, {5, 1<<32 - n/2}} {
			cases = append(cases, struct {
				fn   string
				args []uint64
			}{"copy", []uint64{at[0], at[1], n}})
		}
	}
	got, want := start(t, out, false), start(t, in, false)
	for _, m := range []api.Module{got, want} {
		b, _ := m.Memory().Read(0, size)
		for j := range b {
			b[j] = byte(j * 2654435761 >> 13)
		}
	}
	for _, c := range cases {
		_, ge := got.ExportedFunction(c.fn).Call(context.Background(), c.args...)
		_, we := want.ExportedFunction(c.fn).Call(context.Background(), c.args...)
		if (ge == nil) != (we == nil) {
			t.Errorf("%s%v: %v, want %v", c.fn, c.args, ge, we)
		}
		g, _ := got.Memory().Read(0, size)
		w, _ := want.Memory().Read(0, size)
		if !bytes.Equal(g, w) {
			t.Fatalf("%s%v: memory differs", c.fn, c.args)
		}
	}
}

// withSegment returns bulk.wasm with another data segment.
func withSegment(t *testing.T, data []byte) []byte {
	t.Helper()
	in := testdata(t, "bulk.wasm")
	m, err := wasmbin.Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	out := []byte(wasmbin.Header)
	for _, s := range m.Sections {
		if s.ID == wasmbin.SecData {
			n := wasmbin.AppendU32([]byte{1, 1}, uint32(len(data))) // one passive segment
			out = wasmbin.AppendSection(out, s.ID, n, data)
			continue
		}
		out = wasmbin.AppendSection(out, s.ID, in[s.Start:s.End])
	}
	return out
}

// TestInit is TestBulk for memory.init of a segment larger than a chunk.
func TestInit(t *testing.T) {
	const size, seg = 80 << 16, 5 << 19
	data := make([]byte, seg)
	for i := range data {
		data[i] = byte(i * 2654435761 >> 11)
	}
	in := withSegment(t, data)
	out, info := rewritten(t, in, Options{})
	if info.Stats.Bulk != 5 {
		t.Errorf("%d instructions were replaced, want 5", info.Stats.Bulk)
	}
	got, want := start(t, out, false), start(t, in, false)
	check := func(args ...uint64) {
		t.Helper()
		_, ge := got.ExportedFunction("init").Call(context.Background(), args...)
		_, we := want.ExportedFunction("init").Call(context.Background(), args...)
		g, _ := got.Memory().Read(0, size)
		w, _ := want.Memory().Read(0, size)
		if (ge == nil) != (we == nil) || !bytes.Equal(g, w) {
			t.Errorf("init%v: %v, want %v; memory equal: %v", args, ge, we, bytes.Equal(g, w))
		}
	}
	check(0, 0, seg)
	check(size-seg, 0, seg)
	check(7, 3, bulkChunk)
	check(8, 3, 2*bulkChunk+1)
	check(9, 4, seg)          // past the segment
	check(size-seg+1, 0, seg) // past the memory
	check(0, 0xffffffff, seg) // both sums overflow 32 bits
	check(0xffffffff, 0, seg)
	for _, m := range []api.Module{got, want} {
		run(t, m, "drop")
		m.Memory().Write(0, make([]byte, size))
	}
	check(0, 0, seg)
	check(0, 0, 0)
}
