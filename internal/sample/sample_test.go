package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestEvery(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6}
	var taken []int
	for i := range 3 {
		part := every(3, i, all)
		if most := len(all)/3 + 1; len(part) > most {
			t.Errorf("from %d: %v, want at most %d", i, part, most)
		}
		taken = append(taken, part...)
	}
	if slices.Sort(taken); !slices.Equal(taken, all) {
		t.Errorf("all parts together are %v, want %v", taken, all)
	}
}

// TestFirst has samples that differ between tests, and that every run takes again.
func TestFirst(t *testing.T) {
	seen := map[int]bool{}
	for i := range 100 {
		name := fmt.Sprint("Test", i)
		n := first(name, 4)
		if n != first(name, 4) || n < 0 || n > 3 {
			t.Errorf("first(%s, 4) = %d", name, n)
		}
		seen[n] = true
	}
	if len(seen) != 4 {
		t.Errorf("a hundred tests begin with %v of 4", seen)
	}
	if len(sources()) == 0 {
		t.Error("no sources were found")
	}
}

func TestClosure(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module m.test/x\n",
		"a/a.go":          "package a\nimport _ \"m.test/x/b\"\n",
		"a/a_test.go":     "package a_test\nimport _ \"m.test/x/c\"\n",
		"b/b_plan9.go":    "package b\nimport _ \"m.test/x/d\"\n",
		"b/b_test.go":     "package b\nimport _ \"m.test/x/apart\"\n",
		"c/c.go":          "package c\nimport _ \"os\"\n",
		"d/d.go":          "package d\nimport _ \"m.test/x/b\"\n",
		"apart/apart.go":  "package apart\n",
		"apart/broken.go": "pack",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := closure(root, "a"), []string{"a", "b", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("closure(a) = %v, want %v", got, want)
	}
}
