package pyodide_test

import (
	"context"
	"io"
	"testing"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

func BenchmarkFreshInterpreter(b *testing.B) {
	rt := pyodidetest.Runtime(b)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
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
}

// BenchmarkPreloaded is a fresh interpreter with a module imported already,
// beside importing it.
func BenchmarkPreloaded(b *testing.B) {
	const module = "xml.dom.minidom"
	rt := pyodidetest.Runtime(b)
	ctx := context.Background()
	frozen, err := rt.Freeze(ctx, []string{module}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer frozen.Close()
	for name, from := range map[string]*pyodide.Frozen{"snapshot": frozen, "import": nil} {
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
	pyodidetest.Runtime(b) // fills the store
	for b.Loop() {
		rt, err := pyodidetest.Open()
		if err != nil {
			b.Fatal(err)
		}
		if err := rt.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
