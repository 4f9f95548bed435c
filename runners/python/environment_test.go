package python

import (
	"errors"
	"testing"
	"time"

	"coderunner/pyodide"
	"coderunner/runners"
)

// TestEnvironment makes interpreters with packages for a Go program, of a snapshot that has
// imported them and, where there can be none, without.
func TestEnvironment(t *testing.T) {
	x := newIndex(t)
	x.add(pure("shop", "1.0", map[string]string{"shop.py": "import tax\nbegun = []\ndef price(n): return tax.add(n)\n"}, "tax>=1"))
	x.add(pure("tax", "1.5", map[string]string{"tax.py": "def add(n): return n * 2\n"}))
	x.add(pure("unfit", "1.0", map[string]string{"unfit.py": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"}))
	r := x.newRunner(base{}, false, t.TempDir())
	_, err := r.Environment(t.Context(), []string{"shop>=2"}, nil, nil)
	if missing := (*runners.NotInstalledError)(nil); !errors.As(err, &missing) || missing.Packages[0].Name != "shop>=2" {
		t.Errorf("a version that there is not: %v", err)
	}
	for _, tt := range []struct {
		packages, imports []string
		code, want        string
	}{
		{[]string{"shop"}, []string{"shop"}, "import sys; ready = 'shop' in sys.modules; import shop; shop.begun.append(1); (ready, shop.price(21), len(shop.begun))", "(True, 42, 1)"},
		{[]string{"shop"}, nil, "import sys; ready = 'shop' in sys.modules; import shop; (ready, shop.price(21))", "(False, 42)"},
		{[]string{"unfit", "tax"}, []string{"unfit"}, "import tax; tax.add(21)", "42"},
		{nil, nil, "6 * 7", "42"},
	} {
		env, err := r.Environment(t.Context(), tt.packages, tt.imports, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // no interpreter sees what another did
			in, err := env.New(t.Context(), pyodide.Options{Memory: 256 << 20})
			if err != nil {
				t.Fatal(err)
			}
			res, err := in.Run(t.Context(), pyodide.Program{Code: tt.code, Timeout: time.Minute})
			if err != nil || res.Value == nil || res.Value.Repr != tt.want {
				t.Errorf("%q with %q: %+v, %v", tt.code, tt.packages, res, err)
			}
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	}
}
