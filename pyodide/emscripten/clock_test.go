package emscripten

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"coderunner/internal/machine/abi"
)

func TestClocks(t *testing.T) {
	now := time.Unix(1000, 500)
	k := newKernel(t, Config{Now: func() time.Time { return now }, Monotonic: time.Minute})
	read := func(id int) int64 {
		t.Helper()
		k.want(abi.OK, "clock_time_get", id, int64(1), 0x100)
		v, _ := k.p.mem.Uint64(0x100)
		return int64(v)
	}
	k.mask()
	if got := read(0); got != 1000*1e9+500 {
		t.Errorf("wall clock %d", got)
	}
	k.wantMemory(0x108, "????")
	if got := read(1); got != int64(time.Minute) {
		t.Errorf("monotonic clock starts at %d", got)
	}
	now = now.Add(time.Second)
	if got := read(1); got != int64(61*time.Second) {
		t.Errorf("monotonic clock after a second: %d", got)
	}
	now = now.Add(-time.Hour)
	if got := read(1); got != int64(61*time.Second) {
		t.Errorf("monotonic clock goes back: %d", got)
	}
	if got := read(0); got >= 1000*1e9 {
		t.Errorf("wall clock does not follow the host's: %d", got)
	}
	if ms := math.Float64frombits(uint64(k.call("emscripten_get_now"))); ms != 61000 {
		t.Errorf("emscripten_get_now = %v", ms)
	}
	k.want(abi.EFAULT, "clock_time_get", 0, int64(0), memorySize-7)
	k.want(abi.EFAULT, "clock_res_get", 0, memorySize-7)
	k.want(abi.OK, "clock_res_get", 1, 0x100)
}

// processorTime returns what the guest's clocks of the processor show.
func processorTime(k *kernel) time.Duration {
	k.t.Helper()
	k.want(abi.OK, "clock_time_get", 3, int64(1), 0x100)
	thread, _ := k.p.mem.Uint64(0x100)
	k.want(abi.OK, "clock_time_get", 2, int64(1), 0x100)
	process, _ := k.p.mem.Uint64(0x100)
	if thread != process {
		k.t.Errorf("a thread's clock shows %d, the process's %d", thread, process)
	}
	return time.Duration(process)
}

// sleep is the guest's, as package rewrite makes it: a poll of nothing.
func sleep(k *kernel, ctx context.Context, milliseconds int) {
	k.callContext(ctx, "__syscall_poll", 0, 0, milliseconds)
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernel(t, Config{})
		begin := time.Now()
		sleep(k, k.ctx, 60_000)
		if d := time.Since(begin); d < time.Minute || d > time.Minute {
			t.Errorf("slept %v, want a minute", d)
		}
	})
}

// Waiting is no work: time.process_time does not count it.
func TestProcessorTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernel(t, Config{Monotonic: time.Second})
		time.Sleep(time.Minute) // the guest computes
		sleep(k, k.ctx, 3_600_000)
		if got := processorTime(k); got != 61*time.Second {
			t.Errorf("it shows %v, want %v", got, 61*time.Second)
		}
	})
}

// On a busy machine the time that the guest is kept waiting for a processor is no work
// either, where the processor time is measured.
func TestProcessorTimeMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernel(t, Config{Monotonic: time.Second})
		used := time.Duration(0)
		for range 2 {
			time.Sleep(time.Minute) // between the calls of a session
			begun := used
			k.p.MeasureBy(func() time.Duration { return used - begun })
			time.Sleep(time.Minute) // the host computes something else
			sleep(k, k.ctx, 1000)
			used += 10 * time.Second
			if got, want := processorTime(k), time.Second+used; got != want {
				t.Errorf("it shows %v, want %v", got, want)
			}
			used += time.Second
			k.p.MeasureBy(nil)
		}
		if used > k.p.ProcessorTime() {
			t.Errorf("in all it shows %v after %v", k.p.ProcessorTime(), used)
		}
	})
}

func TestSleepIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernel(t, Config{})
		time.AfterFunc(time.Second, k.p.Interrupt)
		begin := time.Now()
		sleep(k, k.ctx, 1_000_000_000)
		if d := time.Since(begin); d > time.Second {
			t.Errorf("slept %v after an interrupt at one second", d)
		}
		// That was it: the next sleep lasts.
		begin = time.Now()
		sleep(k, k.ctx, 1000)
		if d := time.Since(begin); d < time.Second {
			t.Errorf("the sleep after lasted %v", d)
		}
	})
}

func TestSleepIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernel(t, Config{})
		ctx, cancel := context.WithTimeout(k.ctx, time.Second)
		defer cancel()
		if err := unwinds(func() { sleep(k, ctx, 1_000_000_000) }); err == nil || context.Cause(ctx) == nil {
			t.Errorf("sleep ends with %v", err)
		}
	})
}

// unwinds returns the error that f panics with.
func unwinds(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}
