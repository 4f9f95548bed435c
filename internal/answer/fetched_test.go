package answer

import (
	"strings"
	"testing"

	"coderunner/runners"
)

// TestFetched has a model told which packages were fetched for the first time.
func TestFetched(t *testing.T) {
	var packages []runners.Package
	for i := range 13 {
		packages = append(packages, runners.Package{Name: "p" + string(rune('a'+i)), Version: "1", Source: "npm", Cached: i == 0})
	}
	a := New(&runners.Outcome{Status: runners.Succeeded, Packages: packages}, runners.Request{}, runners.Limits{}, nil)
	if got, want := a.Text(), "note: Fetched for the first time: pb 1 (npm), pc 1 (npm), "; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "pk 1 (npm) and 2 more.") {
		t.Errorf("%q", got)
	}
	a = New(&runners.Outcome{Status: runners.Succeeded, Packages: packages, Usage: runners.Usage{PrepareMS: 4200}}, runners.Request{}, runners.Limits{}, nil)
	if got := a.Text(); !strings.HasSuffix(got, "2 more. That took 4 s, once: the next call takes milliseconds.") {
		t.Errorf("after a while: %q", got)
	}
	a = New(&runners.Outcome{Status: runners.Succeeded, Packages: packages[:1]}, runners.Request{}, runners.Limits{}, nil)
	if got := a.Text(); strings.Contains(got, "Fetched") {
		t.Errorf("of what was there: %q", got)
	}
}
