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
