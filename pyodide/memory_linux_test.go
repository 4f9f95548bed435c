package pyodide_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

// BenchmarkLive keeps 500 interpreters alive, each of which has run a program,
// and says what one of them costs in memory that is its own: pages of its
// linear memory and the Go heap, all that smaps counts as private.
func BenchmarkLive(b *testing.B) {
	const count = 500
	rt := pyodidetest.Runtime(b)
	ctx := context.Background()
	for b.Loop() {
		before, heap := private(b), heapInUse()
		var live []*pyodide.Interp
		for range count {
			in, err := rt.New(ctx, pyodide.Options{Stdout: io.Discard})
			if err != nil {
				b.Fatal(err)
			}
			live = append(live, in)
			if res, err := in.Run(ctx, pyodide.Program{Code: "print(1+1)"}); err != nil || res.ExitCode != 0 {
				b.Fatal(res, err)
			}
		}
		b.ReportMetric(float64(private(b)-before)/count/1024, "KiB/interpreter")
		b.ReportMetric(float64(heapInUse()-heap)/count/1024, "KiB-Go/interpreter")
		for _, in := range live {
			if err := in.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// private is the process's private memory in bytes.
func private(b *testing.B) (sum int64) {
	b.Helper()
	runtime.GC()
	f, err := os.Open("/proc/self/smaps_rollup")
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kib int64
		if _, rest, ok := strings.Cut(lines.Text(), "Private_Dirty:"); ok {
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				b.Fatal(err)
			}
			sum += kib << 10
		}
	}
	return sum
}

// heapInUse is the Go part of it.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
