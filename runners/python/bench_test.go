package python

import (
	"context"
	"testing"

	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
)

// BenchmarkRun times whole runs in a process that has interpreters ready, with
// everything cached and imported before. Its peer is the target for such runs
// in the design: 2 ms, and 10 ms more with packages.
func BenchmarkRun(b *testing.B) {
	for _, code := range []string{"1 + 1", "import six", "import attr", "import rich", "import sympy", "import pydantic"} {
		b.Run(code, func(b *testing.B) {
			cfg := registryConfig(pyodidetest.Cache(b))
			cfg.MaxIdle = 4
			r, err := New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			run := func() {
				o, err := r.Run(context.Background(), runners.Request{Language: runners.Python, Code: code})
				if err != nil || o.Status != runners.Succeeded {
					b.Fatal(o, err)
				}
			}
			run()
			run() // the second time with what is imported in memory
			for b.Loop() {
				run()
			}
		})
	}
}
