package pyodide_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

// TestAnalyzedRun: a program that was analyzed before it runs does what it does
// without.
func TestAnalyzedRun(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	for name, code := range map[string]string{
		"value":      "import os\nos.sep * 3",
		"only value": "__import__('math').pi",
		"no value":   "import os\nx = 1",
		"await":      "import asyncio\nawait asyncio.sleep(0, 7)",
		"future":     "from __future__ import annotations\ndef f(x: nowhere): pass\nf.__annotations__",
		"traceback":  "import os\ndef f():\n  return os.nothing\nf()",
		"syntax":     "import os\nx = (",
		"compile":    "import os\nreturn 1",
		"warning":    "import os\nx = 1 is 1",
		"escape":     "import os\n'\\d'",
		"crlf":       "import os\r\nx = 'a\\\r\nb'\r\nx",
		"docstring":  "'''doc'''\nimport os\n__doc__",
		"source":     "import inspect\ndef f(): return 1\ninspect.getsource(f)",
		"surrogate":  "import os\n'\\ud800'",
		"exit":       "import sys\nsys.exit(3)",
		"notebook":   "import os\n%matplotlib inline\nos.sep",
		"large":      "import os\nx = '" + string(bytes.Repeat([]byte("x"), 1<<18)) + "'\nlen(x)",
	} {
		var results [3]any
		for i := range results {
			p := pyodide.Program{Code: code}
			if i > 0 { // the second analysis is a remembered one
				found, err := rt.Analyze(context.Background(), pyodide.Source{Code: code, Name: "main.py"})
				if err != nil {
					t.Fatal(err)
				}
				p.Analysis = found
			}
			res, stdout, stderr := run(t, pyodide.Options{}, p)
			results[i] = []any{res.Ended, res.ExitCode, res.Value, res.Exception, stdout, stderr}
		}
		for _, got := range results[1:] {
			if diff := cmp.Diff(results[0], got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// TestAnalysisIsRun: what the analysis has compiled is not compiled again.
func TestAnalysisIsRun(t *testing.T) {
	found, err := pyodidetest.Runtime(t).Analyze(context.Background(), pyodide.Source{Code: "import os\n2", Name: "main.py"})
	if err != nil {
		t.Fatal(err)
	}
	res, _, _ := run(t, pyodide.Options{}, pyodide.Program{Code: "import os\n1", Analysis: found})
	if res.Value == nil || res.Value.Repr != "2" {
		t.Errorf("%+v, want the value of what was analyzed", res.Value)
	}
}
