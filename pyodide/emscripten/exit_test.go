package emscripten

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental/wazerotest"

	"coderunner/internal/machine/abi"
)

func TestExits(t *testing.T) {
	k := newKernel(t, Config{})
	for _, c := range []struct {
		name string
		args []any
		want string
	}{
		{"exit", []any{-1}, "exit status -1"},
		{"proc_exit", []any{3}, "exit status 3"},
		{"_abort_js", nil, "aborted: abort called"},
		{"__assert_fail", []any{"x > 0", "file.c", 12, "main"}, "aborted: assertion failed: x > 0, at file.c:12 in main"},
		{"__assert_fail", []any{-1, -2, 12, -3}, "aborted: assertion failed: ?, at ?:12 in ?"},
	} {
		if err := unwinds(func() { k.call(c.name, c.args...) }); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestHeap(t *testing.T) {
	k := newKernel(t, Config{})
	m := wazerotest.NewMemory(pageSize)
	m.Max = 40
	k.p.SetMemory(m)
	k.want(-pageSize, "emscripten_get_heap_max")
	k.want(1, "emscripten_resize_heap", pageSize)
	k.want(1, "emscripten_resize_heap", 10*pageSize+1)
	if m.Size() != 11*pageSize {
		t.Errorf("%d pages", m.Size()/pageSize)
	}
	k.want(1, "emscripten_resize_heap", 12*pageSize) // a fifth more
	if m.Size() != 14*pageSize {
		t.Errorf("%d pages", m.Size()/pageSize)
	}
	k.want(1, "emscripten_resize_heap", 40*pageSize)
	k.want(0, "emscripten_resize_heap", 41*pageSize) // the limit
	k.want(0, "emscripten_resize_heap", -1)
}

// TestGuest: what is refused says so in Python, or in errno.
func TestGuest(t *testing.T) {
	k := newKernel(t, Config{})
	var raised, dlerror string
	var errno int32
	k.p.Guest.Malloc = func(context.Context, uint32) uint32 { return 0x4000 }
	k.p.Guest.Raise = func(_ context.Context, m string) { raised = m }
	k.p.Guest.DlError = func(_ context.Context, m string) { dlerror = m }
	k.p.Guest.SetErrno = func(_ context.Context, e int32) { errno = e }
	k.want(0x4000, "_Py_emscripten_runtime")
	k.wantMemory(0x4000, "wazero\x00?")
	if k.call("_emscripten_dlopen_js", 0x100, 0, 0, 0); dlerror == "" {
		t.Error("a library is loaded in the background")
	}
	for _, name := range []string{"emscripten_asm_const_int", "_PyEM_TrampolineCall_JS"} {
		raised = ""
		args := make([]any, len(k.rows[name].Params()))
		for i := range args {
			args[i] = 0x100
		}
		if k.call(name, args...); raised == "" {
			t.Errorf("%s raises nothing", name)
		}
	}
	k.want(eaiSystem, "getaddrinfo", "host", "80", 0, 0)
	if errno != int32(abi.EACCES) {
		t.Errorf("errno %d", errno)
	}
	k.want(0x0100007f, "_emscripten_lookup_name", "127.0.0.1")
	k.want(0, "_emscripten_lookup_name", "example.org")
}

func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernel(t, Config{})
		fired := make(chan uint32, 100)
		k.p.Guest.Alarm = func(which uint32) { fired <- which }
		set := func(which uint32, ms float64) { k.call("_setitimer_js", which, int64(api.EncodeF64(ms))) }
		set(1, 1000)
		begin := time.Now()
		k.want(abi.EINTR, "poll", 0, 0, -1)
		if d := time.Since(begin); d != time.Second || <-fired != 1 {
			t.Errorf("timer after %v", d)
		}
		k.p.Timers.Set(0, time.Second, time.Nanosecond) // as often as it may be
		time.Sleep(time.Second + 10*shortestInterval)
		if left, every := k.p.Timers.Set(0, 0, 0); left <= 0 || every != shortestInterval {
			t.Errorf("an interval timer of %v has %v left", every, left)
		}
		synctest.Wait()
		if len(fired) != 10 && len(fired) != 11 {
			t.Errorf("an interval timer went off %d times", len(fired))
		}
		for len(fired) > 0 {
			<-fired
		}
		set(0, 1000)
		set(0, 0)
		set(2, 1e300)
		set(7, 1)
		k.p.Close()
		time.Sleep(time.Hour)
		if len(fired) != 0 {
			t.Error("a stopped timer went off")
		}
	})
}

func TestNoProcess(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a call without a process went through")
		}
	}()
	newKernel(t, Config{}).callContext(context.Background(), "exit", 1)
}
