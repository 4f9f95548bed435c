package linmem

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWrittenBothWays has so many pieces that the kernel gives them in several
// portions, and compares the two ways to ask for them.
func TestWrittenBothWays(t *testing.T) {
	m, err := New(64 * PageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Unmap()
	b := m.Reallocate(64 * PageSize)
	for at := 0; at < len(b); at += 3 * 4096 {
		b[at] = 1
	}
	f, err := openPagemap()
	if err != nil {
		t.Skip(err)
	}
	entries, err := m.area.readEntries(f, uint64(len(b)))
	if err != nil {
		t.Skip(err)
	}
	if len(entries) < 300 {
		t.Fatalf("%d pieces only", len(entries))
	}
	scanned, err := m.area.scan(f, uint64(len(b)))
	if err != nil {
		t.Skip(err) // before Linux 6.7
	}
	if !slices.Equal(scanned, entries) {
		t.Errorf("%v, want %v", scanned, entries)
	}
}

// TestRewritten has a memory written to, reset and mapped in every order that an instance meets,
// and compares what Rewritten remembers with what Written finds.
func TestRewritten(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(4 * PageSize); err != nil {
		t.Fatal(err)
	}
	m, err := New(64 * PageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Unmap()
	b := m.Reallocate(16 * PageSize)
	if _, err := m.Written(); err != nil {
		t.Skip(err)
	}
	writes := func(at ...int) func() error {
		return func() error {
			for _, at := range at {
				b[at]++
			}
			return nil
		}
	}
	for i, step := range []func() error{
		func() error { return m.Map(file, 0, 4*PageSize, 4*PageSize) },
		writes(0, 5*PageSize), writes(0, 5*PageSize), writes(0, 5*PageSize),
		writes(5*PageSize + 4096), writes(6 * PageSize),
		func() error { _, err := file.ReadAt(b[7*PageSize:][:PageSize], 0); return err }, // the kernel writes
		func() error { return m.Revert(Range{5 * PageSize, 4096}) },
		writes(0), writes(5 * PageSize),
		func() error { return m.Map(file, 0, 4*PageSize, 4*PageSize) },
		func() error { b = m.Reallocate(32 * PageSize); return nil },
		writes(20 * PageSize), writes(20*PageSize, 31*PageSize),
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time without a fault of the memory's between
			got, err := m.Rewritten()
			if want, werr := m.Written(); err != nil || werr != nil || !slices.Equal(got, want) {
				t.Fatalf("step %d: %v, want %v (%v, %v)", i, got, want, err, werr)
			}
		}
	}
}

func BenchmarkWritten(b *testing.B) {
	m, err := New(512 * PageSize)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Unmap()
	mem := m.Reallocate(512 * PageSize)
	for at := 0; at < len(mem); at += 40 * 4096 {
		mem[at] = 1
	}
	f, err := openPagemap()
	if err != nil {
		b.Skip(err)
	}
	for name, way := range map[string]func() ([]Range, error){
		"scan": func() ([]Range, error) { return m.area.scan(f, uint64(len(mem))) },
		"read": func() ([]Range, error) { return m.area.readEntries(f, uint64(len(mem))) },
		"none": m.Rewritten,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := way(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
