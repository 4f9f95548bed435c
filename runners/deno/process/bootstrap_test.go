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
	const first, second = "async function f(a) {\n  return a;\n}\n", "function g() {}\n"
	var late, b strings.Builder
	postpone(&b, &late, []byte("let x; // and why\n// a comment\n"+first+"function read() {\n}\n"+second))
	text := b.String()
	if late.String() != first+second || !strings.Contains(text, "lateText(0, 36)") || !strings.Contains(text, "lateText(36, 52)") ||
		!strings.Contains(text, "function read() {\n}\n") || strings.Contains(text, "comment") {
		t.Errorf("%s\nlater: %s", text, &late)
	}
}
