package emscripten

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coderunner/internal/machine/abi"
)

// pollfd puts a struct pollfd into memory, and revents reads it.
func (k *kernel) pollfd(fd int, events abi.Events) uint32 {
	return k.words(uint32(fd), uint32(events)|0x3f3f0000)
}

func (k *kernel) revents(addr uint32) abi.Events { return abi.Events(k.word(addr+4) >> 16) }

func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernel(t, Config{})
		k.want(0, "pipe", 0x100)
		r, w := int(k.word(0x100)), int(k.word(0x104))
		fds := k.pollfd(r, abi.POLLIN)
		k.want(0, "poll", fds, 1, 0)
		begin := time.Now()
		k.want(0, "poll", fds, 1, 1500)
		if d := time.Since(begin); d != 1500*time.Millisecond {
			t.Errorf("waited %v", d)
		}
		k.want(0, "poll", 0, 0, 250) // a sleep
		time.AfterFunc(time.Second, func() { k.write(w, "x") })
		begin = time.Now()
		k.want(1, "poll", fds, 1, -1)
		if d := time.Since(begin); d != time.Second || k.revents(fds) != abi.POLLIN {
			t.Errorf("waited %v for %#x", d, k.revents(fds))
		}
		k.want(abi.OK, "fd_close", w)
		k.read(r, 10)
		k.want(1, "poll", fds, 1, -1)
		if k.revents(fds)&abi.POLLHUP == 0 {
			t.Errorf("no writer: %#x", k.revents(fds))
		}
		fds = k.pollfd(99, abi.POLLIN)
		k.want(1, "poll", fds, 1, -1)
		if k.revents(fds) != abi.POLLNVAL {
			t.Errorf("not open: %#x", k.revents(fds))
		}
		k.want(0, "poll", k.pollfd(-1, abi.POLLIN), 1, 10) // ignored
		k.want(abi.EINVAL, "poll", fds, 100000, 0)
		k.want(abi.EFAULT, "poll", memorySize-4, 1, 0)
	})
}

// TestWaits: whatever waits ends with EINTR when the program is interrupted
// and unwinds the guest when its context is done.
func TestWaits(t *testing.T) {
	never, host := io.Pipe()
	defer host.Close()
	for _, c := range []struct {
		name string
		wait func(k *kernel, ctx context.Context, r int) int64
	}{
		{"poll", func(k *kernel, ctx context.Context, r int) int64 {
			return -k.callContext(ctx, "poll", k.pollfd(r, abi.POLLIN), 1, -1)
		}},
		{"poll for nothing", func(k *kernel, ctx context.Context, r int) int64 {
			return -k.callContext(ctx, "poll", 0, 0, -1)
		}},
		{"read of a pipe", func(k *kernel, ctx context.Context, r int) int64 {
			return k.callContext(ctx, "fd_read", r, k.words(0x200, 10), 1, 0x100)
		}},
		{"read of stdin", func(k *kernel, ctx context.Context, r int) int64 {
			return k.callContext(ctx, "fd_read", 0, k.words(0x200, 10), 1, 0x100)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKernel(t, Config{Stdin: never})
			k.want(0, "pipe", 0x100)
			r := int(k.word(0x100))
			time.AfterFunc(time.Millisecond, k.p.Interrupt)
			if got := c.wait(k, k.ctx, r); got != int64(abi.EINTR) {
				t.Errorf("interrupted: %v", abi.Errno(got))
			}
			ctx, cancel := context.WithTimeout(k.ctx, time.Millisecond)
			defer cancel()
			var stopped *Stopped
			err := unwinds(func() { c.wait(k, ctx, r) })
			if !errors.As(err, &stopped) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("stopped: %v", err)
			}
		})
	}
}

func TestInterruptBeforeWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernel(t, Config{})
		var errno int32
		k.p.Guest.SetErrno = func(_ context.Context, e int32) { errno = e }
		k.p.Interrupt()
		k.want(abi.EINTR, "poll", 0, 0, -1)
		if errno != int32(abi.EINTR) {
			t.Errorf("errno is %d", errno)
		}
		k.want(0, "poll", 0, 0, 10)
		k.p.Interrupt()
		time.Sleep(time.Second) // it is too old to be meant for what follows
		k.want(0, "poll", 0, 0, 10)
	})
}

func TestStdio(t *testing.T) {
	var out, errs bytes.Buffer
	r, w := io.Pipe()
	k := newKernel(t, Config{Stdin: r, Stdout: &out, Stderr: &errs})
	fds := k.pollfd(0, abi.POLLIN)
	k.want(0, "poll", fds, 1, 0)
	go func() {
		w.Write([]byte("abc"))
		w.Close()
	}()
	k.want(1, "poll", fds, 1, -1)
	if s, errno := k.read(0, 2); s != "ab" || errno != abi.OK {
		t.Errorf("read %q %v", s, errno)
	}
	if s, errno := k.read(0, 9); s != "c" || errno != abi.OK {
		t.Errorf("read %q %v", s, errno)
	}
	for range 2 {
		if s, errno := k.read(0, 9); s != "" || errno != abi.OK {
			t.Errorf("read at the end: %q %v", s, errno)
		}
	}
	k.want(abi.OK, "fd_write", 1, k.words(k.put([]byte("two ")), 4, k.put([]byte("parts")), 5), 2, 0x100)
	if k.word(0x100) != 9 || out.String() != "two parts" {
		t.Errorf("%d bytes: %q", k.word(0x100), out.String())
	}
	k.write(2, "warning\n")
	dev := k.open("/dev/stderr", abi.O_WRONLY, 0)
	k.write(dev, "too\n")
	k.call("_emscripten_log_formatted", 0, "logged")
	if errs.String() != "warning\ntoo\nlogged\n" {
		t.Errorf("stderr: %q", errs.String())
	}
	for range 10000 {
		k.mask()
		k.call("_emscripten_log_formatted", 0, "again and again")
	}
	if errs.Len() > logMax+100 {
		t.Errorf("%d bytes logged", errs.Len())
	}
	if errno := k.write(0, "x"); errno != abi.EBADF {
		t.Errorf("write to stdin: %v", errno)
	}
	if _, errno := k.read(1, 1); errno != abi.EBADF {
		t.Errorf("read from stdout: %v", errno)
	}
}

type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestOutputError(t *testing.T) {
	k := newKernel(t, Config{Stdout: refusing{}})
	var output *OutputError
	if err := unwinds(func() { k.write(1, "x") }); !errors.As(err, &output) || output.Stream != "stdout" || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("%v", err)
	}
	// Nothing is left locked for those who clean up.
	k.want(0, "fstat64", 1, 0x100)
	k.p.Close()
}

func TestDevices(t *testing.T) {
	k := newKernel(t, Config{})
	null := k.open("/dev/null", abi.O_RDWR, 0)
	k.write(null, "x")
	if s, errno := k.read(null, 10); s != "" || errno != abi.OK {
		t.Errorf("/dev/null: %q %v", s, errno)
	}
	if s, _ := k.read(k.open("/dev/zero", 0, 0), 5); s != "\x00\x00\x00\x00\x00" {
		t.Errorf("/dev/zero: %q", s)
	}
	random := k.open("/dev/urandom", 0, 0)
	a, _ := k.read(random, 16)
	b, _ := k.read(random, 16)
	if len(a) != 16 || a == b {
		t.Errorf("/dev/urandom: %q %q", a, b)
	}
	// A second process on the same files brings its own standard streams.
	if _, err := New(Config{FS: k.p.fs}); err != nil {
		t.Error(err)
	}
}

func TestRandom(t *testing.T) {
	k := newKernel(t, Config{})
	k.want(abi.OK, "random_get", 0x100, 64)
	if strings.Count(string(k.mem[0x100:0x140]), "?") > 16 {
		t.Errorf("random bytes: %q", k.mem[0x100:0x140])
	}
	k.wantMemory(0xfc, "????")
	k.wantMemory(0x140, "????")
	k.want(abi.EFAULT, "random_get", memorySize-1, 2)
}

func TestEnviron(t *testing.T) {
	k := newKernel(t, Config{Env: []string{"A=1", "NAME=välue"}})
	k.want(abi.OK, "environ_sizes_get", 0x100, 0x104)
	if k.word(0x100) != 2 || k.word(0x104) != 4+12 {
		t.Errorf("sizes %d %d", k.word(0x100), k.word(0x104))
	}
	k.want(abi.OK, "environ_get", 0x200, 0x300)
	if k.word(0x200) != 0x300 || k.word(0x204) != 0x304 {
		t.Errorf("pointers %#x %#x", k.word(0x200), k.word(0x204))
	}
	k.wantMemory(0x300, "A=1\x00NAME=välue\x00???")
	k.want(abi.EFAULT, "environ_get", 0x200, memorySize-3)
	k.call("_emscripten_get_progname", 0x100, 5)
	k.wantMemory(0x100, "pyth\x00")
}
