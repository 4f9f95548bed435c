package main

import (
	"strings"
	"testing"

	"coderunner/runners"
)

// TestLines: steps that go on side by side have a line each.
func TestLines(t *testing.T) {
	var b strings.Builder
	l := newLines(&b, 0)
	for range 3 {
		for _, item := range []string{"a.whl", "b.whl"} {
			l.report(runners.Progress{Phase: "compile", Item: item, Done: 1, Total: 9})
		}
		l.report(runners.Progress{Phase: "run"})
	}
	if got, want := b.String(), "coderunner: compile a.whl\ncoderunner: compile b.whl\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
