package pyodide_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

// BenchmarkLive keeps 500 interpreters alive, restored or having run a program
// as well, and says what one of them costs in memory that is its own: all that
// smaps counts as private, and the part of it that is the Go heap and stacks;
// what is left are pages of linear memory.
func BenchmarkLive(b *testing.B) {
	for name, code := range map[string]string{"restored": "", "ran": "print(1+1)"} {
		b.Run(name, func(b *testing.B) {
			rt := pyodidetest.Runtime(b)
			for b.Loop() {
				live(b, rt, code)
			}
		})
	}
}

func live(b *testing.B, rt *pyodide.Runtime, code string) {
	const count = 500
	ctx := context.Background()
	before, heap := private(b), heapInUse()
	var all []*pyodide.Interp
	for range count {
		in, err := rt.New(ctx, pyodide.Options{Stdout: io.Discard})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, in)
		if code == "" {
			continue
		}
		if res, err := in.Run(ctx, pyodide.Program{Code: code}); err != nil || res.ExitCode != 0 {
			b.Fatal(res, err)
		}
	}
	own := float64(private(b)-before) / count / 1024
	inGo := float64(heapInUse()-heap) / count / 1024
	b.ReportMetric(own, "KiB/interpreter")
	b.ReportMetric(inGo, "KiB-Go/interpreter")
	b.ReportMetric(own-inGo, "KiB-pages/interpreter")
	for _, in := range all {
		if err := in.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// private is the process's private memory in bytes.
func private(b *testing.B) (sum int64) {
	b.Helper()
	debug.FreeOSMemory() // what is free already is not what comes
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
