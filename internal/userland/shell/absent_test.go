package shell

import (
	"strings"
	"testing"
)

// TestAbsent has the form of absent.txt: a text, its names, each name once.
func TestAbsent(t *testing.T) {
	names := 0
	for line := range strings.Lines(absentText) {
		if strings.HasPrefix(line, "\t") {
			names += len(strings.Fields(line))
		}
	}
	if len(absent()) != names {
		t.Errorf("%d commands of %d names", len(absent()), names)
	}
	for name, hint := range absent() {
		if hint == "" || strings.HasSuffix(hint, ".") {
			t.Errorf("%s: %q", name, hint)
		}
	}
}
