package jsparse

import (
	"slices"
	"testing"
)

func TestUses(t *testing.T) {
	uses, blocks := Uses("const s = 'throw';\nfunction f() { throw { a: 1 } }\n  throw null; o.throw", "throw")
	if want := []Use{{2, 16, true, "{"}, {3, 3, false, "null"}}; !slices.Equal(uses, want) || blocks {
		t.Errorf("%v, %t, want %v", uses, blocks, want)
	}
	if uses, blocks := Uses("try { await 1 } catch {}", "await"); len(uses) != 1 || !blocks {
		t.Errorf("%v, %t", uses, blocks)
	}
}
