package memfs

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"

	"coderunner/internal/machine/abi"
)

func pipeOf(t testing.TB, fsys *FS, flags uint32) (r, w *File) {
	t.Helper()
	r, w, e := fsys.Pipe(flags)
	ok(t, e)
	return r, w
}

func TestPipe(t *testing.T) {
	fsys := New(Options{})
	r, w := pipeOf(t, fsys, 0)
	if used, _ := fsys.Usage(); used != pipeSize {
		t.Errorf("a pipe is charged %d bytes", used)
	}
	if st := r.Stat(); st.Mode != abi.S_IFIFO|0o600 || st.Ino == 0 || st.Ino != w.Stat().Ino {
		t.Errorf("stat = %+v", st)
	}
	buf := make([]byte, 100)
	for what, e := range map[string]abi.Errno{
		"read the write end": second(w.Read(bg, buf)), "write the read end": second(r.Write(bg, buf)),
	} {
		want(t, what, e, abi.EBADF)
	}
	for what, e := range map[string]abi.Errno{
		"pread": second(r.Pread(bg, buf, 0)), "pwrite": second(w.Pwrite(bg, buf, 0)), "seek": second(r.SeekTo(0, 0)),
	} {
		want(t, what, e, abi.ESPIPE)
	}
	want(t, "truncate", w.Truncate(0), abi.EINVAL)
	want(t, "sync", w.Sync(), abi.EINVAL)
	want(t, "readdir", r.ReadDir(nil), abi.ENOTDIR)
	if n, e := w.Write(bg, []byte("hello")); n != 5 || e != abi.OK {
		t.Errorf("Write = %d, %v", n, e)
	}
	if n, e := r.Read(bg, buf); e != abi.OK || string(buf[:n]) != "hello" {
		t.Errorf("Read = %q, %v", buf[:n], e)
	}
	ok(t, w.Close())
	if n, e := r.Read(bg, buf); n != 0 || e != abi.OK {
		t.Errorf("Read at the end = %d, %v", n, e)
	}
	ok(t, r.Close())
	r, w = pipeOf(t, fsys, 0)
	ok(t, r.Close())
	want(t, "write without readers", second(w.Write(bg, buf)), abi.EPIPE)
	ok(t, w.Close())
	if used, _ := fsys.Usage(); used != 0 {
		t.Errorf("closed pipes are charged %d bytes", used)
	}
}

func TestPipeNonblock(t *testing.T) {
	r, w := pipeOf(t, New(Options{}), abi.O_NONBLOCK)
	buf := make([]byte, pipeSize)
	want(t, "read an empty pipe", second(r.Read(bg, buf)), abi.EAGAIN)
	if n, e := w.Write(bg, buf[1:]); n != pipeSize-1 || e != abi.OK {
		t.Fatalf("Write = %d, %v", n, e)
	}
	want(t, "write of 2 where 1 fits", second(w.Write(bg, buf[:2])), abi.EAGAIN)
	if n, e := w.Write(bg, buf[:pipeBuf+1]); n != 1 || e != abi.OK {
		t.Errorf("a long write where 1 fits = %d, %v", n, e)
	}
	want(t, "long write to a full pipe", second(w.Write(bg, buf)), abi.EAGAIN)
}

// TestPipeBlocks moves more than a pipe holds, with a reader that is slower and
// one that is faster.
func TestPipeBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := pipeOf(t, New(Options{}), 0)
		data := bytes.Repeat([]byte("0123456789abcdef"), 50_000)
		go func() {
			if n, e := w.Write(bg, data); n != len(data) || e != abi.OK {
				t.Errorf("Write = %d, %v", n, e)
			}
			w.Close()
		}()
		var got []byte
		buf := make([]byte, 10_007)
		for {
			n, e := r.Read(bg, buf)
			if e != abi.OK {
				t.Fatal(e)
			}
			if n == 0 {
				break
			}
			got = append(got, buf[:n]...)
		}
		if !bytes.Equal(got, data) {
			t.Errorf("%d bytes came through, or others than were sent", len(got))
		}
	})
}

func TestPipeCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := pipeOf(t, New(Options{}), 0)
		ctx, cancel := context.WithCancel(bg)
		done := make(chan abi.Errno)
		go func() { done <- second(r.Read(ctx, make([]byte, 1))) }()
		synctest.Wait()
		cancel()
		want(t, "cancelled read", <-done, abi.EINTR)

		ctx, cancel = context.WithCancel(bg)
		type result struct {
			n int
			e abi.Errno
		}
		wrote := make(chan result)
		go func() {
			n, e := w.Write(ctx, make([]byte, pipeSize+1))
			wrote <- result{n, e}
		}()
		synctest.Wait()
		cancel()
		if got := <-wrote; got != (result{pipeSize, abi.OK}) {
			t.Errorf("a write cancelled half-way = %v", got)
		}
		want(t, "write with a dead context", second(w.Write(ctx, []byte("x"))), abi.EINTR)

		go func() { done <- second(w.Write(bg, []byte("x"))) }()
		synctest.Wait()
		r.Close()
		want(t, "write when the reader leaves", <-done, abi.EPIPE)
	})
}

func TestPipePoll(t *testing.T) {
	r, w := pipeOf(t, New(Options{}), 0)
	const in, out = abi.POLLIN | abi.POLLRDNORM, abi.POLLOUT | abi.POLLWRNORM
	ready := func(what string, f *File, want abi.Events) {
		t.Helper()
		if got := f.Ready(); got != want {
			t.Errorf("%s: Ready = %#x, want %#x", what, got, want)
		}
	}
	ready("empty", r, 0)
	ready("empty", w, out)
	ch := make(chan struct{}, 1)
	stop := r.Watch(ch)
	woken := func(what string) {
		t.Helper()
		select {
		case <-ch:
		default:
			t.Errorf("%s woke nobody", what)
		}
	}
	w.Write(bg, make([]byte, pipeSize))
	woken("a write")
	ready("full", r, in)
	ready("full", w, 0)
	r.Read(bg, make([]byte, 100))
	woken("a read")
	ready("little room", w, 0)
	r.Read(bg, make([]byte, pipeSize))
	w.Close()
	woken("close")
	ready("no writer", r, abi.POLLHUP)
	stop()

	r, w = pipeOf(t, New(Options{}), 0)
	r.Close()
	ready("no reader", w, out|abi.POLLERR)
}

func TestFIFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := New(Options{})
		ok(t, fsys.Mknod(nil, "/p", abi.S_IFIFO|0o644))
		want(t, "writer alone", opens("/p", abi.O_WRONLY|abi.O_NONBLOCK)(fsys), abi.ENXIO)

		r := open(t, fsys, "/p", abi.O_RDONLY|abi.O_NONBLOCK)
		if got := r.Ready(); got != 0 {
			t.Errorf("a FIFO that had no writer: Ready = %#x", got)
		}
		w := open(t, fsys, "/p", abi.O_WRONLY) // does not wait: there is a reader
		w.Write(bg, []byte("x"))
		w.Close()
		if got := r.Ready(); got != abi.POLLIN|abi.POLLRDNORM|abi.POLLHUP {
			t.Errorf("a FIFO whose writer left: Ready = %#x", got)
		}
		r.Close()

		opened := make(chan *File)
		go func() { opened <- open(t, fsys, "/p", abi.O_RDONLY) }()
		synctest.Wait()
		w = open(t, fsys, "/p", abi.O_WRONLY)
		r = <-opened
		w.Write(bg, []byte("over"))
		buf := make([]byte, 10)
		if n, e := r.Read(bg, buf); string(buf[:n]) != "over" || e != abi.OK {
			t.Errorf("Read = %q, %v", buf[:n], e)
		}
		r.Close()
		w.Close()

		ctx, cancel := context.WithCancel(bg)
		done := make(chan abi.Errno)
		go func() { done <- second(fsys.Open(ctx, nil, "/p", abi.O_WRONLY, 0)) }()
		synctest.Wait()
		cancel()
		want(t, "cancelled open", <-done, abi.EINTR)
		want(t, "after a cancelled open", opens("/p", abi.O_WRONLY|abi.O_NONBLOCK)(fsys), abi.ENXIO)
		if used, _ := fsys.Usage(); used != 0 {
			t.Errorf("a closed FIFO is charged %d bytes", used)
		}
		both := open(t, fsys, "/p", abi.O_RDWR)
		both.Write(bg, []byte("self"))
		if n, e := both.Read(bg, buf); string(buf[:n]) != "self" || e != abi.OK {
			t.Errorf("Read = %q, %v", buf[:n], e)
		}
		both.Close()
	})
}

// null is a device that counts what happens to it.
type null struct{ opened, closed, wrote int }

func (d *null) Read(context.Context, []byte, bool) (int, abi.Errno) { return 0, abi.OK }

func (d *null) Write(_ context.Context, p []byte, _ bool) (int, abi.Errno) {
	d.wrote += len(p)
	return len(p), abi.OK
}

func (d *null) Close() abi.Errno { d.closed++; return abi.OK }

func TestDevice(t *testing.T) {
	fsys := New(Options{})
	must(t, fsys.MkdirAll("/dev", 0o755))
	var d null
	must(t, fsys.Device("/dev/null", 0o666, 0x103, func(_ context.Context, flags uint32) (Stream, abi.Errno) {
		if flags&abi.O_EXCL != 0 {
			return nil, abi.EBUSY
		}
		d.opened++
		return &d, abi.OK
	}))
	if err := fsys.Device("/dev/null", 0o666, 0, nil); err == nil {
		t.Error("two devices have one name")
	}
	f := open(t, fsys, "/dev/null", abi.O_RDWR|abi.O_CREAT|abi.O_TRUNC)
	if st := f.Stat(); st.Mode != abi.S_IFCHR|0o666 || st.Rdev != 0x103 {
		t.Errorf("stat = %+v", st)
	}
	f.Write(bg, make([]byte, 7))
	want(t, "seek", second(f.SeekTo(0, 0)), abi.ESPIPE)
	want(t, "truncate", fsys.Truncate(f.Node(), 0), abi.EINVAL)
	if f.Ready()&abi.POLLIN == 0 || f.Stream() != Stream(&d) {
		t.Error("a device without Poller is always ready")
	}
	f.Ref()
	f.Close()
	f.Close()
	if d != (null{opened: 1, closed: 1, wrote: 7}) {
		t.Errorf("the device saw %+v", d)
	}
	want(t, "open refused by the device", opens("/dev/null", abi.O_EXCL)(fsys), abi.EBUSY)
	ok(t, fsys.Unlink(nil, "/dev/null"))
}

func TestNewFile(t *testing.T) {
	fsys := New(Options{})
	d := new(null)
	f := fsys.NewFile(d, abi.O_WRONLY, abi.S_IFCHR|0o620)
	if st := f.Stat(); st.Mode != abi.S_IFCHR|0o620 || f.Node() != nil {
		t.Errorf("stat = %+v", st)
	}
	want(t, "read of a write-only stream", second(f.Read(bg, make([]byte, 1))), abi.EBADF)
	if n, e := f.Write(bg, []byte("abc")); n != 3 || e != abi.OK {
		t.Errorf("Write = %d, %v", n, e)
	}
	ok(t, f.Close())
}
