package jsparse

import (
	"slices"
	"testing"
)

func TestText(t *testing.T) {
	x := Scan("const s = 'throw';\nfunction f() { throw { a: 1 } }\n  throw null; o.throw")
	if got, want := x.Find("throw"), []Use{{2, 16, true, "{"}, {3, 3, false, "null"}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := x.Find("", "(|{", ")"), []Use{{2, 10, false, "{"}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := Scan("for (const a of b) for (;;) { for await (x of y) while (z in w) 1 }; o.for(1); for (let i = [1 in x]; i;) 2").Loops(), []int{1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
