package process

import (
	"strings"
	"testing"
)

// TestBootstrapASCII checks what the places of functions in a text rely on, and that a function
// which is compiled late is found by them.
func TestBootstrapASCII(t *testing.T) {
	for _, name := range []string{aloneName, packagesName, sessionName} {
		for i, b := range bootstrapText(name) {
			if b >= 0x80 {
				t.Fatalf("%s: byte %#x at %d", name, b, i)
			}
		}
	}
	if !strings.HasPrefix(string(source("load")), "import ") {
		t.Error("a comment before the first statement of the main module costs each start a millisecond")
	}
	const first, second = "async function f(a) {\n  return a;\n}\n", "function g() {}\n"
	var parts sorted
	parts.add([]byte("let x; // and why\n// a comment\n" + first + "function read() {\n}\n" + second))
	rest := parts.rest.String()
	if parts.late.String() != first+second || !strings.Contains(rest, "lateText(0, 36)") || !strings.Contains(rest, "lateText(36, 52)") ||
		parts.now.String() != "const read=(function read() {\n}\n);" || strings.Contains(rest, "read") || strings.Contains(rest, "comment") {
		t.Errorf("%s\nnow: %s\nlater: %s", rest, &parts.now, &parts.late)
	}
}
