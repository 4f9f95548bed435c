package emscripten

import (
	"os"
	"slices"
	"strings"
	"testing"

	"coderunner/pyodide/abi"
	"coderunner/pyodide/hostfn"
)

// TestRowsAreImported checks that the pinned release imports every row, with
// the type it has. That the rows of all packages together are what it imports
// is for the package that joins them to test.
func TestRowsAreImported(t *testing.T) {
	f, err := os.Open("../hostfn/testdata/imports.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	imports, err := hostfn.ParseImports(f)
	if err != nil {
		t.Fatal(err)
	}
	sigs := map[[2]string]string{}
	for _, im := range imports {
		sigs[[2]string{im.Module, im.Name}] = im.Sig
	}
	rows := Rows()
	if err := rows.Check(); err != nil {
		t.Error(err)
	}
	for _, r := range rows {
		if sig, ok := sigs[[2]string{r.Module, r.Name}]; !ok || sig != r.Sig {
			t.Errorf("%s.%s has type %s, import has %q", r.Module, r.Name, r.Sig, sig)
		}
	}
	if len(rows) != 113 {
		t.Errorf("%d rows, want 113", len(rows))
	}
}

// TestErrnos checks that every system call names what it fails with, in errnos
// that there are. That it fails with no other is checked at every call that a
// test or a fuzzer makes.
func TestErrnos(t *testing.T) {
	known := map[string]bool{}
	for e := abi.Errno(1); e < 200; e++ {
		known[e.Name()] = true
	}
	for _, r := range Rows() {
		names := strings.Fields(r.Errnos)
		if len(names) == 0 && (strings.HasPrefix(r.Name, "fd_") || strings.HasSuffix(r.Name, "at")) {
			t.Errorf("%s names no errno", r.Name)
		}
		for i, name := range names {
			if !known[name] || slices.Contains(names[:i], name) {
				t.Errorf("%s: %q is no errno or there twice", r.Name, name)
			}
		}
	}
}
