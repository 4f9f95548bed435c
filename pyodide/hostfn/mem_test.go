package hostfn

import (
	"math"
	"testing"

	"github.com/tetratelabs/wazero/experimental/wazerotest"
)

const size = 0x10000

func TestMemBounds(t *testing.T) {
	m := NewMem(wazerotest.NewFixedMemory(size))
	for _, c := range []struct {
		addr, n uint32
		want    bool
	}{
		{0, 0, true}, {0, size, true}, {size - 1, 1, true},
		{size - 1, 2, false}, {size, 1, false}, {size + 1, 0, false},
		{math.MaxUint32, 1, false}, {1, math.MaxUint32, false}, {math.MaxUint32, math.MaxUint32, false},
	} {
		if b, ok := m.Bytes(c.addr, c.n); ok != c.want || ok && uint32(len(b)) != c.n {
			t.Errorf("Bytes(%#x, %#x) = %d bytes, %v", c.addr, c.n, len(b), ok)
		}
	}
	for _, addr := range []uint32{size - 3, size, math.MaxUint32, math.MaxUint32 - 3} {
		if _, ok := m.Uint32(addr); ok || m.PutUint32(addr, 1) {
			t.Errorf("a word at %#x is inside", addr)
		}
	}
	for _, addr := range []uint32{size - 7, size, math.MaxUint32 - 7} {
		if _, ok := m.Uint64(addr); ok || m.PutUint64(addr, 1) || m.Put(addr, make([]byte, 8)) {
			t.Errorf("8 bytes at %#x are inside", addr)
		}
	}
	if b, ok := m.Rest(size-3, 10); !ok || len(b) != 3 {
		t.Errorf("Rest at the end: %d bytes, %v", len(b), ok)
	}
	if _, ok := m.Rest(size+1, 0); ok {
		t.Error("Rest outside is fine")
	}
}

func TestMemNumbers(t *testing.T) {
	m := NewMem(wazerotest.NewFixedMemory(size))
	m.PutUint32(5, 0x04030201)
	m.PutUint64(9, 0x0807060504030201)
	if b, _ := m.Bytes(4, 14); string(b) != "\x00\x01\x02\x03\x04\x01\x02\x03\x04\x05\x06\x07\x08\x00" {
		t.Errorf("memory is %q", b)
	}
	if v, ok := m.Uint32(5); v != 0x04030201 || !ok {
		t.Errorf("Uint32 = %#x", v)
	}
	if v, ok := m.Uint64(9); v != 0x0807060504030201 || !ok {
		t.Errorf("Uint64 = %#x", v)
	}
}

func TestCString(t *testing.T) {
	m := NewMem(wazerotest.NewFixedMemory(size))
	m.Put(0x100, []byte("hello\x00"))
	end, _ := m.Bytes(size-3, 3)
	copy(end, "abc")
	for _, c := range []struct {
		addr, limit uint32
		s           string
		long, ok    bool
	}{
		{0x100, 100, "hello", false, true},
		{0x100, 5, "hello", false, true},
		{0x100, 4, "", true, false},
		{0x105, 0, "", false, true},
		{size - 3, 100, "", false, false}, // ends without a NUL
		{size - 3, 2, "", true, false},
		{size, 100, "", false, false},
		{math.MaxUint32, 100, "", false, false},
	} {
		if s, long, ok := m.CString(c.addr, c.limit); s != c.s || long != c.long || ok != c.ok {
			t.Errorf("CString(%#x, %d) = %q, %v, %v", c.addr, c.limit, s, long, ok)
		}
	}
}

func TestPutCString(t *testing.T) {
	m := NewMem(wazerotest.NewFixedMemory(size))
	b, _ := m.Bytes(0x100, 8)
	copy(b, "????????")
	if n, ok := m.PutCString(0x100, 4, "hello"); n != 3 || !ok || string(b) != "hel\x00????" {
		t.Errorf("cut: %d %v %q", n, ok, b)
	}
	if n, ok := m.PutCString(0x100, 0, "x"); n != 0 || !ok || b[0] != 'h' {
		t.Errorf("no room: %d %v %q", n, ok, b)
	}
	if _, ok := m.PutCString(size-2, 10, "abc"); ok {
		t.Error("a string past the end was written")
	}
}

func TestNoMemory(t *testing.T) {
	var m Mem
	if _, ok := m.Bytes(0, 0); ok || m.Size() != 0 || m.Grow(1) {
		t.Error("no memory has bytes")
	}
	if _, _, ok := m.CString(0, 10); ok {
		t.Error("no memory has a string")
	}
}
