package stacktrace

import (
	"testing"

	"coderunner/runners/deno/jsparse"
)

// TestUnedited has an excerpt of an edited line, and one of another text.
func TestUnedited(t *testing.T) {
	p := jsparse.Parse("let a: = 1;", jsparse.Options{Main: true})
	got := Unedited("no\n  |\n1 | export{};let a: = 1;\n  |                 ~\n1 | let b\n  |     ~", p)
	if want := "no\n  |\n1 | let a: = 1;\n  |        ~\n1 | let b\n  |     ~"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
