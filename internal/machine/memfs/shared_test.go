package memfs

import (
	"bytes"
	"testing"

	"coderunner/internal/machine/abi"
)

// heap is a Shared without a system's help.
type heap struct {
	b      []byte
	closed bool
}

func (h *heap) Bytes() []byte { return h.b }
func (h *heap) Grow(n int64) error {
	b := make([]byte, n)
	copy(b, h.b)
	h.b = b
	return nil
}
func (h *heap) Close() { h.closed = true }

func TestShare(t *testing.T) {
	fsys := New(Options{MaxBytes: 1 << 20})
	must(t, fsys.MkdirAll("/shm", 0o755))
	must(t, fsys.ShareFiles("/shm"))
	open := func(path string) *File {
		t.Helper()
		f, e := fsys.Open(t.Context(), nil, path, abi.O_RDWR|abi.O_CREAT, 0o600)
		if e != abi.OK {
			t.Fatal(e)
		}
		return f
	}
	other := open("/other")
	if _, e := other.Share(1, nil); e != abi.EOPNOTSUPP {
		t.Errorf("Share of another file: %v", e)
	}
	other.Close()
	before, _ := fsys.Usage()
	f, h := open("/shm/f"), new(heap)
	f.Pwrite(t.Context(), []byte("hello"), chunkSize-2)
	s, e := f.Share(10, func() (Shared, error) { return h, nil })
	if e != abi.OK || len(s.Bytes()) != 2*chunkSize || !bytes.Equal(h.b[chunkSize-2:chunkSize+3], []byte("hello")) {
		t.Fatalf("Share: %v, %d bytes", e, len(h.b))
	}
	h.b[chunkSize] = 'L'
	f.Pwrite(t.Context(), []byte("J"), chunkSize-2)
	b := make([]byte, 5)
	if n, e := f.Pread(t.Context(), b, chunkSize-2); string(b[:n]) != "JeLlo" || e != abi.OK || h.b[chunkSize-2] != 'J' {
		t.Errorf("read %q %v", b[:n], e)
	}
	if e := f.Truncate(3); e != abi.OK || h.b[chunkSize] != 0 || len(h.b) != 2*chunkSize {
		t.Errorf("Truncate: %v", e)
	}
	if _, e := f.Share(2<<20, nil); e != abi.ENOMEM {
		t.Errorf("Share of more than there is: %v", e)
	}
	if _, e := f.Share(5*chunkSize, nil); e != abi.OK || len(h.b) != 5*chunkSize {
		t.Errorf("Share of more: %v", e)
	}
	f.Close()
	if e := fsys.Unlink(nil, "/shm/f"); e != abi.OK || !h.closed {
		t.Errorf("Unlink: %v, closed %v", e, h.closed)
	}
	if used, _ := fsys.Usage(); used != before {
		t.Errorf("%d bytes are charged, %d before", used, before)
	}
}
