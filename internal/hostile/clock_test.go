//go:build linux

package hostile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestClocks has clocks that jump. The wall clock of the machine is left
// alone, since all that runs on it would see the jump: limits are measured by
// Go's monotonic clock, and what is here is what can jump for one server alone.
//
// Row 67.
func TestClocks(t *testing.T) {
	needsServer(t)
	t.Parallel()
	for _, c := range []struct {
		name string
		at   time.Time
	}{{"in 1980", time.Date(1980, 1, 2, 3, 4, 5, 0, time.UTC)}, {"in 2100", time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)}} {
		t.Run("the cache was written "+c.name, func(t *testing.T) {
			dir := ownCache(t)
			age(t, dir, c.at)
			s := start(t, settings{cache: dir})
			for _, a := range installs {
				if o, text, err := s.run(a); err != nil || o.Status != "succeeded" {
					t.Errorf("%v %s", err, text)
				}
			}
			s.measure(t)
		})
	}
	up := uptime(t)
	for name, offset := range map[string]time.Duration{"ten years on": 10 * 365 * 24 * time.Hour, "near its start": -up + time.Minute} {
		t.Run("the monotonic clock is "+name, func(t *testing.T) {
			s, err := launch(t, settings{poor: []string{fmt.Sprintf("monotonic=%d", int64(offset.Seconds()))}})
			if err != nil && strings.Contains(err.Error(), "be poor: monotonic") {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.stop() })
			t.Log("its monotonic clock:", ownClock(s))
			s.measure(t)
		})
	}
	t.Run("programs set the clock", func(t *testing.T) {
		s := start(t, settings{})
		before := time.Now()
		code := "import ctypes, time\nfor f in (lambda: time.clock_settime(time.CLOCK_REALTIME, 0), lambda: time.clock_settime_ns(0, 0)):\n    try: f(); print('set')\n    except (OSError, AttributeError) as e: print('refused')\nlib = ctypes.CDLL(None)\nfor name in ('settimeofday', 'clock_settime', 'stime'):\n    try: getattr(lib, name)(0, bytes(16))\n    except AttributeError: pass\ntime.time()"
		if o, text, err := s.run(arguments{Language: python, Code: code}); err != nil || strings.Contains(o.Stdout, "set\n") {
			t.Errorf("%v %s", err, text)
		}
		if now := time.Now(); now.Round(0).Sub(before.Round(0)) < 0 || now.Round(0).Sub(before.Round(0))-now.Sub(before) > time.Hour {
			t.Error("the machine's clock was set")
		}
	})
}

// measure has programs of both languages look at their clocks, and meet a limit.
func (s *server) measure(t *testing.T) {
	t.Helper()
	for _, a := range []arguments{
		{Language: python, Timeout: 60, Code: "import time\na, b, c = time.monotonic(), time.perf_counter(), time.time()\ntime.sleep(.2)\na, b, c = time.monotonic() - a, time.perf_counter() - b, time.time() - c\n(min(a, b, c) > .15 and max(a, b, c) < 50 and time.monotonic() >= 0) or (a, b, c)"},
		{Language: javascript, Timeout: 60, Code: "const a = performance.now(), b = Date.now(); await new Promise((f) => setTimeout(f, 200)); const x = performance.now() - a, y = Date.now() - b; Math.min(x, y) > 150 && Math.max(x, y) < 50000 || [x, y]"},
	} {
		if o, text, err := s.run(a); err != nil || strings.ToLower(o.text()) != "true" {
			t.Errorf("%s: %v %s", a.Language, err, text)
		}
	}
	for lang, code := range busy {
		o, text, err := s.run(arguments{Language: lang, Code: code, Timeout: 0.5})
		if err != nil || o.Status != "timed_out" || o.Usage.RunMS < 450 {
			t.Errorf("%s: %v %s", lang, err, text)
		}
	}
}

// age gives the directories and small files of a cache a time. Small files become
// copies: they may be links to those of other caches.
func age(t *testing.T, dir string, at time.Time) (n int) {
	t.Helper()
	var directories []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			directories = append(directories, path)
			return nil
		case !d.Type().IsRegular() || info.Size() > 1<<16 && info.Sys().(*syscall.Stat_t).Nlink > 1:
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		replace(t, path, b)
		n++
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range directories {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return n + len(directories)
}

func uptime(t *testing.T) time.Duration {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// ownClock says whether a server has a monotonic clock of its own.
func ownClock(s *server) string {
	own, _ := os.Readlink("/proc/self/ns/time")
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/time", s.pid()))
	if err != nil || own == its {
		return "the kernel did not set it"
	}
	return "set"
}

// ownMonotonic gives this process, once it has become another program, a
// monotonic clock that is off by so many seconds. It must be called on the
// process's first thread.
func ownMonotonic(seconds int64) error {
	if err := unix.Unshare(unix.CLONE_NEWTIME); err != nil {
		return err
	}
	return os.WriteFile("/proc/self/timens_offsets", fmt.Appendf(nil, "monotonic %d 0\nboottime %d 0\n", seconds, seconds), 0)
}
