package regex

import (
	"strings"
	"testing"
)

func TestBracketLen(t *testing.T) {
	for _, c := range []struct {
		text    string
		escapes bool
		want    int
	}{
		{"[a/]b]", false, 4}, {"[]/]", false, 4}, {"[^]/]", false, 5}, {"[[:alpha:]/]", false, 12}, {"[[.].]]x", false, 7},
		{`[\]/]`, false, 3}, {`[\]/]`, true, 5}, {"[a", false, 0}, {"[", true, 0}, {`[\`, true, 0}, {"[a\n]", false, 0},
		{"[[:a]b", false, 5}, {strings.Repeat("[:", 1<<20), false, 0}, // in one pass
	} {
		if got := BracketLen(c.text, c.escapes); got != c.want {
			t.Errorf("BracketLen(%.20q, %v) = %d, want %d", c.text, c.escapes, got, c.want)
		}
	}
}
