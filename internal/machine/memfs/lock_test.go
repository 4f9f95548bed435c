package memfs

import (
	"context"
	"testing"

	"coderunner/internal/machine/abi"
)

func TestLock(t *testing.T) {
	fsys := New(Options{})
	open := func() *File {
		t.Helper()
		f, e := fsys.Open(t.Context(), nil, "/f", abi.O_RDWR|abi.O_CREAT, 0o644)
		if e != abi.OK {
			t.Fatal(e)
		}
		return f
	}
	a, b, c := open(), open(), open()
	try := func(f *File, exclusive bool, want abi.Errno) {
		t.Helper()
		if e := f.Lock(t.Context(), exclusive, true); e != want {
			t.Errorf("Lock(%v) = %v, want %v", exclusive, e, want)
		}
	}
	try(a, false, abi.OK)
	try(b, false, abi.OK)
	try(c, true, abi.EAGAIN)
	try(a, true, abi.EAGAIN)
	b.Unlock()
	try(a, true, abi.OK)
	try(c, false, abi.EAGAIN)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e := c.Lock(ctx, true, false); e != abi.EINTR {
		t.Errorf("Lock with an ended context = %v", e)
	}
	done := make(chan abi.Errno)
	go func() { done <- c.Lock(context.Background(), true, false) }()
	a.Ref().Close()
	try(b, true, abi.EAGAIN)
	a.Close()
	if e := <-done; e != abi.OK {
		t.Errorf("Lock after the holder's Close = %v", e)
	}
	c.Close()
	b.Close()
	if n := len(fsys.locks.held); n != 0 {
		t.Errorf("%d files are locked", n)
	}
}
