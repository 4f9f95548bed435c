package codestore

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The code of a module is the file's: processes share it. Another wazero that keeps modules
// otherwise would show here.
func TestMapped(t *testing.T) {
	maps := func(file string) bool {
		text, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, " r-xp ") && strings.HasSuffix(line, file+"\n") {
				return true
			}
		}
		return false
	}
	e := newEngine(t)
	for _, n := range []int32{42, 43, 42} { // the third is another file of the first's module
		dir := built(t, n)
		c, err := e.load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.call(c); err != nil || got != uint64(n) {
			t.Errorf("%d, %v; want %d", got, err, n)
		}
		if !maps(filepath.Join(dir, CodeFile)) {
			t.Errorf("the code of %d is not mapped", n)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		c = nil
		runtime.GC() // wazero's finalizer unmaps the code
	}
}
