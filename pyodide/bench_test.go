package pyodide_test

import (
	"context"
	"io"
	"testing"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

// BenchmarkFreshInterpreter runs print(1+1) in an interpreter of its own each
// time: in an instance that is new, or in one that was used and is reset when it
// is asked for, or before.
func BenchmarkFreshInterpreter(b *testing.B) {
	for name, ahead := range map[string]int{"new": 0, "restored": 0, "ahead": 2} {
		b.Run(name, func(b *testing.B) {
			rt, err := pyodidetest.Open(b, ahead)
			if err != nil {
				b.Fatal(err)
			}
			defer rt.Close()
			b.ReportAllocs()
			for b.Loop() {
				if name == "new" {
					b.StopTimer()
					rt.DropInstances()
					b.StartTimer()
				}
				fresh(b, rt)
			}
		})
	}
}

func fresh(b *testing.B, rt *pyodide.Runtime) {
	ctx := context.Background()
	in, err := rt.New(ctx, pyodide.Options{Stdout: io.Discard})
	if err != nil {
		b.Fatal(err)
	}
	res, err := in.Run(ctx, pyodide.Program{Code: "print(1+1)"})
	if err != nil || res.Ended != pyodide.Finished || res.ExitCode != 0 {
		b.Fatal(res, err)
	}
	if err := in.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPreloaded is a fresh interpreter with a module imported already,
// beside importing it.
func BenchmarkPreloaded(b *testing.B) {
	const module = "xml.dom.minidom"
	rt := pyodidetest.Runtime(b)
	ctx := context.Background()
	frozen, err := rt.Snapshot(ctx, []string{module}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer frozen.Close()
	for name, from := range map[string]*pyodide.Snapshot{"snapshot": frozen, "import": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				in, err := rt.New(ctx, pyodide.Options{From: from})
				if err != nil {
					b.Fatal(err)
				}
				res, err := in.Run(ctx, pyodide.Program{Code: "import " + module})
				if err != nil || res.Ended != pyodide.Finished || res.ExitCode != 0 {
					b.Fatal(res, err)
				}
				if err := in.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen is what a process pays once, with everything in the store.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		rt, err := pyodidetest.Open(b, 0)
		if err != nil {
			b.Fatal(err)
		}
		if err := rt.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
