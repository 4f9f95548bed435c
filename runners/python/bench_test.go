package python

import (
	"context"
	"testing"

	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
)

// BenchmarkRun times whole runs, with everything cached. Its peer is the
// target for such runs in the design: 2 ms, and 10 ms more with packages.
func BenchmarkRun(b *testing.B) {
	for name, code := range map[string]string{
		"expression": "1 + 1",
		"six":        "import six; six.PY3",
		"attrs":      "import attr; attr.__name__",
	} {
		b.Run(name, func(b *testing.B) {
			r, err := New(registryConfig(pyodidetest.Cache(b)))
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			req := runners.Request{Language: runners.Python, Code: code}
			if _, err := r.Run(context.Background(), req); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				o, err := r.Run(context.Background(), req)
				if err != nil || o.Status != runners.Succeeded {
					b.Fatal(o, err)
				}
			}
		})
	}
}
