package bc

import "strings"

// ends passes what separates statements.
func (b *run) ends() {
	for b.accept("\n") || b.accept(";") {
	}
}

func (b *run) block() flow {
	for {
		b.ends()
		if b.accept("}") {
			return onward
		}
		if b.at >= len(b.src) {
			b.c.Check(errSyntax)
		}
		if went := b.statement(); went != onward {
			return went
		}
	}
}

// skipping parses without effect.
func (b *run) skipping(parse func()) {
	saved := b.skip
	b.skip = true
	parse()
	b.skip = saved
}

// skipped parses a statement without running it.
func (b *run) skipped() {
	b.skipping(func() {
		b.newlines()
		b.statement()
	})
}

// ended reports whether a simple statement ends here.
func (b *run) ended() bool {
	n := b.peek()
	return n == "\n" || n == ";" || n == "}" || n == ""
}

func (b *run) statement() flow {
	b.enter()
	defer b.c.Leave(frame)
	t := b.peek()
	switch t {
	case "if":
		return b.conditional()
	case "while", "for":
		return b.loop()
	case "define":
		b.define()
		return onward
	case "{", "print", "break", "continue", "quit", "halt", "return":
		b.at++
	}
	switch {
	case t == "{":
		return b.block()
	case t == "print":
		b.printList()
		return onward
	case t == "return":
		v := integer(0)
		if !b.ended() {
			v = b.expr()
		}
		if !b.skip {
			b.result = v
		}
	case strings.HasPrefix(t, `"`):
		b.at++
		if !b.skip {
			b.c.Print(t[1:])
		}
		return onward
	}
	went, jumps := map[string]flow{"break": broken, "continue": continued, "quit": quit, "halt": quit, "return": returned}[t]
	switch {
	case jumps && b.skip:
		return onward
	case jumps:
		return went
	}
	v, assigned := b.assignment()
	if !assigned && !b.skip {
		b.show(v)
		b.c.Print("\n")
		b.vars["last"] = v
	}
	if !b.ended() && b.peek() != "else" {
		b.c.Check(errSyntax)
	}
	return onward
}

// show prints a number in lines of 69 digits.
func (b *run) show(v num) {
	s := v.base(min(max(b.vars["obase"].int(), 2), 1<<30))
	for len(s) > 69 {
		b.c.Print(s[:68] + "\\\n")
		s = s[68:]
	}
	b.c.Print(s)
}

var printEscapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\q`, `"`, `\\`, `\`)

func (b *run) printList() {
	for {
		if t := b.peek(); strings.HasPrefix(t, `"`) {
			b.at++
			if !b.skip {
				b.c.Print(printEscapes.Replace(t[1:]))
			}
		} else if v := b.expr(); !b.skip {
			b.show(v)
		}
		if !b.accept(",") {
			return
		}
	}
}

func (b *run) conditional() flow {
	b.at++
	b.expect("(")
	v := b.expr()
	b.expect(")")
	b.newlines()
	branch := func(run bool) flow {
		if run || b.skip {
			b.newlines()
			return b.statement()
		}
		b.skipped()
		return onward
	}
	if went := branch(!v.zero()); went != onward {
		return went
	}
	saved := b.at
	if b.ends(); b.accept("else") {
		return branch(v.zero())
	}
	b.at = saved
	return onward
}

// optional evaluates the expression before end, which is 1 if there is none.
func (b *run) optional(end string) num {
	v := integer(1)
	if b.peek() != end {
		v = b.expr()
	}
	b.expect(end)
	return v
}

// loop runs while and for by going back in the text.
func (b *run) loop() flow {
	isFor, end := b.peek() == "for", ")"
	b.at++
	b.expect("(")
	if isFor {
		end = ";"
		b.optional(end)
	}
	condition, step, body := b.at, 0, 0
	for first := true; ; first = false {
		b.enter()
		b.c.Leave(frame)
		b.at = condition
		v := b.optional(end)
		if isFor && first {
			step = b.at
			b.skipping(func() { b.optional(")") })
		}
		if first {
			body = b.at
		}
		b.at = body
		if v.zero() || b.skip {
			b.skipped()
			return onward
		}
		b.newlines()
		switch went := b.statement(); went {
		case onward, continued:
		case broken:
			b.at = body
			b.skipped()
			return onward
		default:
			return went
		}
		if isFor {
			b.at = step
			b.optional(")")
		}
	}
}

// define reads a function.
func (b *run) define() {
	b.at++
	b.accept("void")
	name := b.peek()
	b.at++
	f := function{}
	b.expect("(")
	names := func(end string) (list []string) {
		for b.peek() != end && b.at < len(b.src) {
			n := b.peek()
			b.at++
			if b.accept("[") {
				n += "[]"
				b.expect("]")
			}
			if list = append(list, n); !b.accept(",") {
				break
			}
		}
		return list
	}
	f.params = names(")")
	b.expect(")")
	b.newlines()
	b.expect("{")
	if b.ends(); b.accept("auto") {
		f.autos = names("\n")
	}
	f.body = b.at
	b.skipping(func() { b.block() })
	b.funcs[name] = f
}
