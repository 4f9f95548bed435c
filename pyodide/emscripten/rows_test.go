package emscripten

import (
	"slices"
	"strings"
	"testing"

	"coderunner/internal/machine/abi"
)

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
