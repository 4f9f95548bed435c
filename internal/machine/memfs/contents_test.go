package memfs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"coderunner/internal/machine/abi"
)

func TestSparseFile(t *testing.T) {
	fsys := New(Options{MaxBytes: 1 << 20})
	f := open(t, fsys, "/f", abi.O_RDWR|abi.O_CREAT)
	ok(t, f.Truncate(1<<40))
	if used, _ := fsys.Usage(); used != 0 {
		t.Errorf("a hole of 1 TiB holds %d bytes", used)
	}
	if n, e := f.Pwrite(bg, []byte("end"), 1<<40-3); n != 3 || e != abi.OK {
		t.Fatalf("Pwrite = %d, %v", n, e)
	}
	st := f.Stat()
	if st.Size != 1<<40 || st.Blocks*512 > chunkSize {
		t.Errorf("size, blocks = %d, %d", st.Size, st.Blocks)
	}
	p := bytes.Repeat([]byte("x"), 6)
	if n, e := f.Pread(bg, p, 1<<40-6); n != 6 || e != abi.OK || string(p) != "\x00\x00\x00end" {
		t.Errorf("Pread = %d, %v, %q", n, e, p)
	}
	want(t, "write past the largest file", second(f.Pwrite(bg, p, maxFileSize)), abi.EFBIG)
	if n, e := f.Pwrite(bg, p, maxFileSize-2); n != 2 || e != abi.OK {
		t.Errorf("write across the largest size = %d, %v", n, e)
	}
	ok(t, f.Truncate(0))
	if used, _ := fsys.Usage(); used != 0 {
		t.Errorf("an empty file holds %d bytes", used)
	}
	want(t, "allocate too much", f.Allocate(0, 1<<30), abi.ENOSPC)
	want(t, "allocate without end", f.Allocate(1<<62, 1<<62), abi.EFBIG)
	want(t, "allocate nothing", f.Allocate(0, 0), abi.EINVAL)
	ok(t, f.Allocate(10, 90))
	if st := f.Stat(); st.Size != 100 {
		t.Errorf("size = %d, want 100", st.Size)
	}
}

// TestContents writes and cuts at random and compares with a plain slice.
func TestContents(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const limit = 5 * chunkSize
	var c contents
	var model []byte
	b := &budget{max: 1 << 30}
	for i := range 3000 {
		off := rng.IntN(limit)
		if rng.IntN(3) == 0 {
			off = rng.IntN(6)*chunkSize + rng.IntN(3)
		}
		n := rng.IntN(100)
		if rng.IntN(4) == 0 {
			n = rng.IntN(2 * chunkSize)
		}
		if rng.IntN(3) == 0 {
			c.truncate(b, int64(off))
			model = append(model[:min(off, len(model))], make([]byte, max(0, off-len(model)))...)
		} else {
			p := bytes.Repeat([]byte{byte(i) | 1}, n)
			if got, e := c.writeAt(b, p, int64(off)); got != n || e != abi.OK {
				t.Fatalf("writeAt = %d, %v, want %d", got, e, n)
			}
			if n > 0 {
				model = append(model, make([]byte, max(0, off+n-len(model)))...)
				copy(model[off:], p)
			}
		}
		got := make([]byte, len(model)+1)
		if n := c.readAt(got, 0); n != len(model) || !bytes.Equal(got[:n], model) {
			t.Fatalf("step %d: contents differ (%d bytes, want %d)", i, n, len(model))
		}
		if c.held != b.used.Load() || c.held < 0 {
			t.Fatalf("step %d: holds %d, charged %d", i, c.held, b.used.Load())
		}
	}
	c.truncate(b, 0)
	if b.used.Load() != 0 || len(c.rest) != 0 {
		t.Errorf("%d bytes and %d chunks are left", b.used.Load(), len(c.rest))
	}
}

func TestBudgets(t *testing.T) {
	fsys := New(Options{MaxBytes: 100_000, MaxNodes: 10})
	if st := fsys.Statfs(); st.Blocks != 24 || st.Bfree != 23 {
		t.Errorf("%d of %d blocks are free, want all but the root's", st.Bfree, st.Blocks)
	}
	f := open(t, fsys, "/f", abi.O_RDWR|abi.O_CREAT)
	if n, e := f.Write(bg, make([]byte, 150_000)); n != 100_000 || e != abi.OK {
		t.Errorf("a write over the budget = %d, %v; want 100000, OK", n, e)
	}
	want(t, "write to a full file system", second(f.Write(bg, []byte("x"))), abi.ENOSPC)
	want(t, "overwriting on a full file system", second(f.Pwrite(bg, []byte("x"), 5)), abi.OK)
	want(t, "symlink on a full file system", fsys.Symlink("x", nil, "/s"), abi.ENOSPC)
	if _, _, e := fsys.Pipe(0); e != abi.ENFILE {
		t.Errorf("Pipe = %v, want ENFILE", e)
	}
	if st := fsys.Statfs(); st.Bfree != 0 || st.Ffree != 9 {
		t.Errorf("free = %d blocks, %d files", st.Bfree, st.Ffree)
	}
	ok(t, f.Truncate(0))
	want(t, "symlink", fsys.Symlink("x", nil, "/s"), abi.OK)
	for i := range 8 {
		want(t, "mkdir", fsys.Mkdir(nil, fmt.Sprint("/", i), 0o755), abi.OK)
	}
	want(t, "one name too many", fsys.Mkdir(nil, "/x", 0o755), abi.ENOSPC)
	want(t, "one link too many", fsys.Link(nil, "/f", nil, "/x", false), abi.ENOSPC)
	want(t, "one file too many", opens("/x", abi.O_CREAT)(fsys), abi.ENOSPC)
	want(t, "one symlink too many", fsys.Symlink("x", nil, "/x"), abi.ENOSPC)
	want(t, "rename", fsys.Rename(nil, "/0", nil, "/x", 0), abi.OK)
	want(t, "rename over", fsys.Rename(nil, "/1", nil, "/x", 0), abi.OK)
	want(t, "room for a name", fsys.Link(nil, "/f", nil, "/y", false), abi.OK)
	for _, name := range []string{"/s", "/y", "/f"} {
		ok(t, fsys.Unlink(nil, name))
	}
	ok(t, f.Close())
	for _, name := range []string{"/x", "/2", "/3", "/4", "/5", "/6", "/7"} {
		ok(t, fsys.Rmdir(nil, name))
	}
	if bytes, nodes := fsys.Usage(); bytes != 0 || nodes != 0 {
		t.Errorf("an empty file system is charged %d bytes and %d names", bytes, nodes)
	}
}

func TestLinkLimit(t *testing.T) {
	fsys := New(Options{})
	must(t, fsys.WriteFile("/f", nil, 0o644))
	for i := range maxLinkCount - 1 {
		ok(t, fsys.Link(nil, "/f", nil, fmt.Sprint("/", i), false))
	}
	want(t, "one link too many", fsys.Link(nil, "/f", nil, "/x", false), abi.EMLINK)
}
