package linmem

import (
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
