package dylink

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// head reads the head of a real library: its section dylink.0, types and
// imports, after rewriting. See testdata/README.md.
func head(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestImageOfRealLibraries(t *testing.T) {
	type facts struct {
		Needed, Path         []string
		Memory, Align, Slots uint32
		Funcs, Host, GOT     int
		Globals, Bases       int
	}
	for name, want := range map[string]facts{
		"simplejson.wasm": {Needed: []string{}, Path: []string{}, Memory: 4084 + 4*13, Align: 16, Slots: 16, Funcs: 81, Host: 1, GOT: 13, Globals: 4, Bases: 2},
		"jiter.wasm":      {Needed: []string{}, Path: []string{}, Memory: 33468 + 4*21, Align: 8, Slots: 181, Funcs: 110, Host: 1, GOT: 21, Globals: 4, Bases: 2},
		"awkward.wasm":    {Needed: []string{"libawkward.so"}, Path: []string{"$ORIGIN"}, Memory: 18692 + 4*172, Align: 16, Slots: 242, Funcs: 262, Host: 1, GOT: 172, Globals: 4, Bases: 2},
	} {
		b, err := Rename(head(t, name), func(name string) bool { return name == "PyList_New" })
		if err != nil {
			t.Fatal(err)
		}
		i, err := NewImage(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := facts{i.Needed, i.RuntimePath, i.memorySize, i.memoryAlign, i.tableSize, len(i.funcs), 0, len(i.got), len(i.globals), len(i.bases)}
		for _, f := range i.funcs {
			if f.host {
				got.Host++
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
