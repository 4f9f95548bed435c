package lower

import (
	"bytes"
	"context"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// TestBulk compares bulk memory instructions in chunks with the plain ones.
func TestBulk(t *testing.T) {
	const (
		size = 80 << 16
		mib  = BulkChunk
	)
	in := testdata(t, "bulk.wasm")
	out, info := lowered(t, in, Options{})
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
	got, want := start(t, out, false), start(t, in, false)
	for i, m := range []api.Module{got, want} {
		b, _ := m.Memory().Read(0, size)
		for j := range b {
			b[j] = byte(j * 2654435761 >> 13)
		}
		_ = i
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
