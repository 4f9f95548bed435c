package jsparse

// Reference is where a program imports a module.
type Reference struct {
	Specifier    string
	Line, Column int
	Required     bool // by require()
	Used         bool // what require() returns is called, or has a member that is
	Names        []Name
}

// Name is what an import binds.
type Name struct {
	Of           string // in the module, "default", "*" for all of it, or "" for what require returns
	As           string // in the program
	Line, Column int

	at token // of Of, where that is in the text
}

// References returns where the program imports modules, by whatever form.
func (x *Text) References() (all []Reference) {
	for i, t := range x.all {
		specifier, ok := x.literal(t)
		if !ok {
			continue
		}
		r := Reference{Specifier: specifier}
		before, caller := x.at(i-1), x.word(x.at(i-2))
		switch {
		case x.is(before, '(') && (caller == "require" || caller == "import") && !x.is(x.at(i-3), '.'):
			r.Required = caller == "require"
			r.Names = x.assigned(i - 3)
			r.Used = r.Required && (x.is(x.at(i+2), '(') || x.is(x.at(i+2), '.'))
		case x.word(before) == "import":
		case x.word(before) == "from":
			begin := i - 2
			for begin > 0 && begin > i-MaxImports && x.word(x.all[begin]) != "import" && x.word(x.all[begin]) != "export" {
				begin--
			}
			r.Names = x.bindings(x.all[begin+1 : i-1])
		default:
			continue
		}
		r.Line, r.Column = position(x.src, t.start)
		for n := range r.Names {
			r.Names[n].Line, r.Names[n].Column = position(x.src, r.Names[n].at.start)
		}
		all = append(all, r)
	}
	return all
}

// assigned returns the names to which the value of an expression is assigned, of which i is the
// index before its first token.
func (x *Text) assigned(i int) []Name {
	if x.word(x.at(i)) == "await" {
		i--
	}
	if !x.is(x.at(i), '=') {
		return nil
	}
	t := x.at(i - 1)
	if t.kind == word {
		return []Name{{As: x.word(t), at: t}}
	}
	begin := i - 2
	for begin > 0 && begin > i-MaxImports && !(x.is(x.all[begin], '{') && x.all[begin].depth == t.depth) {
		begin--
	}
	if !x.is(t, '}') || !x.is(x.at(begin), '{') {
		return nil
	}
	return x.bindings(x.all[begin:i])
}

// bindings returns what an import binds, by the tokens between import and from, or by those of
// a pattern. Of what are types there is none.
func (s *scanner) bindings(t []token) (names []Name) {
	at := func(i int) token {
		if i < len(t) {
			return t[i]
		}
		return token{}
	}
	i := 0
	switch next := at(1); {
	case s.word(at(0)) == "type" && len(t) > 1 && !s.is(next, ','):
		return nil
	case at(0).kind == word:
		names = append(names, Name{Of: "default", As: s.word(at(0)), at: at(0)})
		i = 2
	}
	if s.is(at(i), '*') {
		return append(names, Name{Of: "*", As: s.word(at(i + 2)), at: at(i)})
	}
	brace := at(i)
	for i++; i < len(t); i++ {
		if t[i].kind != word || t[i].depth != brace.depth+1 || s.is(t[i-1], '=') {
			continue
		}
		if s.word(t[i]) == "type" && s.word(at(i+1)) != "" && (s.word(at(i+1)) != "as" || s.word(at(i+2)) == "as") {
			i++ // it is a type
			if s.word(at(i+1)) == "as" {
				i += 2
			}
			continue
		}
		n := Name{Of: s.word(t[i]), As: s.word(t[i]), at: t[i]}
		if s.word(at(i+1)) == "as" || s.is(at(i+1), ':') {
			n.As = s.word(at(i + 2))
			i += 2
		}
		names = append(names, n)
	}
	return names
}
