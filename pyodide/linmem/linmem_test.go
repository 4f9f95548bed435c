package linmem

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestGrowInPlace(t *testing.T) {
	m, err := New(16 * PageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Unmap()
	b := m.Reallocate(PageSize)
	b[0], b[PageSize-1] = 1, 2
	for pages := uint64(2); pages <= 16; pages++ {
		b = m.Reallocate(pages * PageSize)
		if uint64(len(b)) != pages*PageSize || uint64(cap(b)) != pages*PageSize {
			t.Fatalf("Reallocate(%d pages): len %d, cap %d", pages, len(b), cap(b))
		}
		if b[0] != 1 || b[PageSize-1] != 2 || b[len(b)-1] != 0 {
			t.Fatalf("Reallocate(%d pages) changed the contents", pages)
		}
	}
	if m.Committed() != 16*PageSize || m.Refused() {
		t.Errorf("Committed() = %d, Refused() = %v", m.Committed(), m.Refused())
	}
}

func TestCapRefuses(t *testing.T) {
	m, err := New(2*PageSize + 5)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Unmap()
	if m.Limit() != 2*PageSize {
		t.Errorf("Limit() = %d, want two pages", m.Limit())
	}
	if m.Reallocate(3*PageSize) != nil {
		t.Error("Reallocate past the cap gave memory")
	}
	if !m.Refused() || m.Committed() != 0 {
		t.Errorf("Refused() = %v, Committed() = %d", m.Refused(), m.Committed())
	}
	if b := m.Reallocate(2 * PageSize); len(b) != 2*PageSize {
		t.Errorf("a refusal must not spoil the memory: got %d bytes", len(b))
	}
	if m.Refused() {
		t.Error("Refused() after an attempt that was granted")
	}
}

// Emscripten's malloc asks twice: for more than it needs, and for what it needs.
func TestRefused(t *testing.T) {
	const limit = 1000 * PageSize
	for _, c := range []struct {
		name    string
		pages   []uint64 // what is asked for after the first 900, in order
		refused bool
	}{
		{"all in stock", []uint64{950}, false},
		{"none in stock", []uint64{1001, 999}, false},
		{"refused", []uint64{1001, 1001}, true},
		{"twice", []uint64{1001, 1001, 1001, 1001}, true},
		{"and tells of it", []uint64{1010, 1010, 1001, 901}, true},
		{"and tells of it, again", []uint64{1010, 1010, 1001, 901, 902}, true},
		{"and tells of it with what is in stock", []uint64{1010, 1010, 902}, true},
		{"content with less", []uint64{1100, 1100, 950}, false},
		{"content with less, and refused", []uint64{1100, 1100, 950, 1001, 1001}, true},
	} {
		m, err := New(limit)
		if err != nil {
			t.Fatal(err)
		}
		m.Reallocate(900 * PageSize)
		for _, n := range c.pages {
			if b := m.Reallocate(n * PageSize); (b == nil) != (n > 1000) {
				t.Errorf("%s: %d pages: %d bytes", c.name, n, len(b))
			}
		}
		if m.Refused() != c.refused {
			t.Errorf("%s: Refused() = %v", c.name, m.Refused())
		}
		if err := m.Unmap(); err != nil {
			t.Error(err)
		}
	}
}

func TestBadLimits(t *testing.T) {
	for _, n := range []uint64{0, PageSize - 1, 1<<32 + PageSize} {
		if m, err := New(n); err == nil {
			m.Unmap()
			t.Errorf("New(%d) succeeded", n)
		}
	}
}

func TestUnmapTwice(t *testing.T) {
	m, err := New(PageSize)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := m.Unmap(); err != nil {
			t.Error(err)
		}
	}
}

func TestStore32(t *testing.T) {
	m, err := New(2 * PageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Unmap()
	b := m.Reallocate(PageSize)
	if !m.Store32(8, 0x01020304) || string(b[8:12]) != "\x04\x03\x02\x01" {
		t.Errorf("stored % x", b[8:12])
	}
	for _, addr := range []uint32{2, PageSize - 3, PageSize, ^uint32(3)} {
		if m.Store32(addr, 1) {
			t.Errorf("Store32(%#x) succeeded", addr)
		}
	}
}

func TestMap(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(bytes.Repeat([]byte{7}, 3*PageSize)); err != nil {
		t.Fatal(err)
	}
	m, err := New(4 * PageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Unmap()
	b := m.Reallocate(2 * PageSize)
	if err := m.Map(f, 2*PageSize, PageSize, PageSize); err != nil {
		t.Fatal(err)
	}
	b[PageSize] = 8 // private: the file does not see it
	if b[PageSize-1] != 0 || b[PageSize+1] != 7 {
		t.Errorf("mapped % x", b[PageSize-1:PageSize+2])
	}
	if b := m.Reallocate(4 * PageSize); b[PageSize] != 8 || b[2*PageSize] != 0 {
		t.Errorf("after growing: %d, %d", b[PageSize], b[2*PageSize])
	}
	var one [1]byte
	if f.ReadAt(one[:], 2*PageSize); one[0] != 7 {
		t.Error("a write reached the file")
	}
	if err := m.Map(f, 0, 3*PageSize, 2*PageSize); err == nil {
		t.Error("mapped outside of the memory")
	}
}

// TestWritten finds what was written to and takes it back, in mapped and in
// other parts.
func TestWritten(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(bytes.Repeat([]byte{7}, 2*PageSize)); err != nil {
		t.Fatal(err)
	}
	m, err := New(8 * PageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Unmap()
	b := m.Reallocate(8 * PageSize)
	if err := m.Map(f, 0, 4*PageSize, 2*PageSize); err != nil {
		t.Fatal(err)
	}
	if b[5*PageSize] != 7 { // only looked at
		t.Fatal("not mapped")
	}
	if r, err := m.Written(); errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		t.Skip(err)
	} else if err != nil || len(r) != 0 {
		t.Fatalf("nothing was written, but %v, %v", r, err)
	}
	touched := []int{PageSize + 100, 4*PageSize + 5, 5*PageSize - 1, 6*PageSize - 1, 7 * PageSize}
	for _, at := range touched {
		b[at] = 9
	}
	ranges, err := m.Written()
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range touched {
		in := func(r Range) bool { return r.Offset <= uint64(at) && uint64(at) < r.Offset+r.Length }
		if !slices.ContainsFunc(ranges, in) {
			t.Errorf("byte %d of %v is not in %v", i, touched, ranges)
		}
	}
	for _, r := range ranges {
		if err := m.Revert(r); err != nil {
			t.Fatal(err)
		}
	}
	for i := range b {
		want := byte(0)
		if i >= 4*PageSize && i < 6*PageSize {
			want = 7
		}
		if b[i] != want {
			t.Fatalf("byte %d is %d", i, b[i])
		}
	}
	if err := m.Revert(Range{7 * PageSize, 2 * PageSize}); err == nil {
		t.Error("reverted outside of the memory")
	}
}
