package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// TestBar: a step that has ended is not drawn again, also one whose size is not
// known, which draws itself.
func TestBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		bar := newBar(&b)
		bar.report(runners.Progress{Phase: "compile", Item: "first", Done: 1})
		time.Sleep(time.Second)
		synctest.Wait()
		bar.report(runners.Progress{Phase: "compile", Item: "second", Done: 1, Total: 2})
		shown := b.Len()
		time.Sleep(time.Second)
		bar.report(runners.Progress{Phase: "run"})
		if text := b.String(); !strings.Contains(text[:shown], "first") || strings.Contains(text[shown:], "first") {
			t.Errorf("shown: %q", text)
		}
		end := b.Len()
		time.Sleep(time.Second)
		if text := b.String(); len(text) > end || !strings.HasSuffix(text, "\r") {
			t.Errorf("after the end: %q", text[shown:])
		}
	})
}
