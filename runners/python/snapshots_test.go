package python

import (
	"context"
	"strings"
	"testing"

	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
)

// TestSnapshots runs programs until their packages are there before they are
// imported, in a process after the one that wanted them first.
func TestSnapshots(t *testing.T) {
	c := pyodidetest.Cache(t)
	const code = "import sys\nhad = 'attrs' in sys.modules\nimport attrs\n[had, attrs.__name__]"
	again := func(req runners.Request) string {
		r, err := New(registryConfig(c))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}()
		req.Language = runners.Python
		o, err := r.Run(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		if o.Result == nil || len(o.Packages) != 1 || o.Packages[0].Name != "attrs" {
			t.Fatalf("%+v", o)
		}
		return string(o.Result.JSON)
	}
	again(runners.Request{Code: code})
	if got := again(runners.Request{Code: code}); got != `[true, "attrs"]` {
		t.Errorf("the second run: %s", got)
	}
	if got := again(runners.Request{Code: "import attrs, random\nrandom.random()"}); strings.Contains(got, again(runners.Request{Code: "import attrs, random\nrandom.random()"})) {
		t.Error("two runs drew the same random number")
	}
	// Modules of the program's own may stand in for others', so nothing may
	// be there before.
	own := []runners.File{{Path: "mine.py", Data: nil}}
	if got := again(runners.Request{Code: code, Files: own}); got != `[false, "attrs"]` {
		t.Errorf("with a module of its own: %s", got)
	}
	// A snapshot that does not fit is not used; the base one does not either.
	if got := again(runners.Request{Code: code, Limits: runners.Limits{Memory: 40 << 20}}); !strings.HasSuffix(got, `"attrs"]`) {
		t.Errorf("in little memory: %s", got)
	}
}
