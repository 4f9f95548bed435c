package jsparse

// Use is where a program has a keyword.
type Use struct {
	Line, Column int
	Nested       bool   // it is in brackets
	Next         string // the token after it
}

// Uses returns where a program has a keyword, and whether statements with a block of their
// own stand at its top level. It ends where the tokens cannot be told apart.
func Uses(source, keyword string) (uses []Use, blocks bool) {
	s := &scanner{src: source, prev: token{kind: none}}
	for before, last := "", (token{}); ; {
		t, err := s.next()
		if err != nil || t.kind == none {
			return uses, blocks
		}
		if len(uses) > 0 && before == keyword && uses[len(uses)-1].Next == "" {
			uses[len(uses)-1].Next = source[t.start:t.end]
		}
		w := s.word(t)
		if w == keyword && !s.is(last, '.') && len(uses) < MaxImports {
			line, column := position(source, t.start)
			uses = append(uses, Use{Line: line, Column: column, Nested: t.depth > 0})
		}
		switch w {
		case "if", "for", "while", "do", "try", "switch":
			blocks = blocks || t.depth == 0
		}
		before, last = w, t
	}
}
