package repl

import (
	"slices"
	"testing"

	"coderunner/runners"
)

// TestComplete completes words of each language that has no interpreter for it.
func TestComplete(t *testing.T) {
	for _, c := range []struct {
		language   runners.Language
		word       string
		want, lack string
	}{
		{runners.Bash, "gre", "grep", "get"},
		{runners.Bash, "$na", "$name", "name"},
		{runners.Bash, "whi", "while", "window"},
		{runners.TypeScript, "con", "console", "continent"},
		{runners.Python, "na", "name", "$name"},
		{runners.PHP, "forea", "foreach", "forall"},
	} {
		p := &repl{Config: Config{Language: c.language}, names: []string{"name"}}
		list := p.complete(c.word)
		if !slices.Contains(list, c.want) || slices.Contains(list, c.lack) {
			t.Errorf("complete(%s, %q) = %q, want %q and not %q", c.language, c.word, list, c.want, c.lack)
		}
	}
	p := &repl{Config: Config{Language: runners.Bash}}
	if n := len(p.complete("")); n != maxCompletions {
		t.Errorf("%d completions, want %d: the editor would ask, and wait for more than a line", n, maxCompletions)
	}
}
