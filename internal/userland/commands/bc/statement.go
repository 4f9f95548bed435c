package bc

import (
	"errors"
	"strings"
)

func (b *run) block() error {
	for {
		for b.accept("\n") || b.accept(";") {
		}
		if b.accept("}") {
			return nil
		}
		if b.at >= len(b.src) {
			return errSyntax
		}
		if err := b.statement(); err != nil {
			return err
		}
	}
}

// skipped parses a statement without running it.
func (b *run) skipped() error {
	saved := b.skip
	b.skip = true
	b.newlines()
	err := b.statement()
	b.skip = saved
	return err
}

func (b *run) statement() error {
	if err := b.enter(); err != nil {
		return err
	}
	defer b.c.Leave(frame)
	switch t := b.peek(); t {
	case "{":
		b.at++
		return b.block()
	case "if":
		return b.conditional()
	case "while", "for":
		return b.loop()
	case "define":
		return b.define()
	case "print":
		b.at++
		return b.printList()
	case "break", "continue", "quit", "halt":
		if b.at++; b.skip {
			return nil
		}
		return map[string]error{"break": errBreak, "continue": errContinue, "quit": errQuit, "halt": errQuit}[t]
	case "return":
		b.at++
		v := integer(0)
		if n := b.peek(); n != "\n" && n != ";" && n != "}" && n != "" {
			var err error
			if v, _, err = b.expr(); err != nil {
				return err
			}
		}
		if b.skip {
			return nil
		}
		b.result = v
		return errReturn
	}
	if t := b.peek(); strings.HasPrefix(t, `"`) {
		b.at++
		if !b.skip {
			b.c.Print(t[1:])
		}
		return nil
	}
	v, assigned, err := b.expr()
	if err == nil && !assigned && !b.skip {
		b.show(v)
		b.c.Print("\n")
		b.vars["last"] = v
	}
	if err == nil {
		if n := b.peek(); n != "\n" && n != ";" && n != "}" && n != "" && n != "else" {
			err = errSyntax
		}
	}
	return err
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

func (b *run) printList() error {
	for {
		if t := b.peek(); strings.HasPrefix(t, `"`) {
			b.at++
			if !b.skip {
				b.c.Print(strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\q`, `"`, `\\`, `\`).Replace(t[1:]))
			}
		} else {
			v, _, err := b.expr()
			if err != nil {
				return err
			}
			if !b.skip {
				b.show(v)
			}
		}
		if !b.accept(",") {
			return nil
		}
	}
}

func (b *run) conditional() error {
	b.at++
	if err := b.expect("("); err != nil {
		return err
	}
	v, _, err := b.expr()
	if err == nil {
		err = b.expect(")")
	}
	if err != nil {
		return err
	}
	b.newlines()
	branch := func(run bool) error {
		if run || b.skip {
			b.newlines()
			return b.statement()
		}
		return b.skipped()
	}
	if err := branch(!v.zero()); err != nil {
		return err
	}
	saved := b.at
	for b.accept("\n") || b.accept(";") {
	}
	if b.accept("else") {
		return branch(v.zero())
	}
	b.at = saved
	return nil
}

// optional evaluates the expression before end, which is 1 if there is none.
func (b *run) optional(end string) (v num, err error) {
	if v = integer(1); b.peek() != end {
		if v, _, err = b.expr(); err != nil {
			return v, err
		}
	}
	return v, b.expect(end)
}

// loop runs while and for by going back in the text.
func (b *run) loop() error {
	isFor := b.peek() == "for"
	b.at++
	if err := b.expect("("); err != nil {
		return err
	}
	if isFor {
		if _, err := b.optional(";"); err != nil {
			return err
		}
	}
	condition, step, body := b.at, 0, 0
	for first := true; ; first = false {
		if err := b.enter(); err != nil {
			return err
		}
		b.c.Leave(frame)
		b.at = condition
		v, err := b.optional(map[bool]string{true: ";", false: ")"}[isFor])
		if err != nil {
			return err
		}
		if isFor && first {
			step = b.at
			saved := b.skip
			b.skip = true
			_, err := b.optional(")")
			if b.skip = saved; err != nil {
				return err
			}
		}
		if first {
			body = b.at
		}
		b.at = body
		if v.zero() || b.skip {
			return b.skipped()
		}
		b.newlines()
		switch err := b.statement(); {
		case errors.Is(err, errBreak):
			b.at = body
			return b.skipped()
		case err != nil && !errors.Is(err, errContinue):
			return err
		}
		if isFor {
			b.at = step
			if _, err := b.optional(")"); err != nil {
				return err
			}
		}
	}
}

// define reads a function.
func (b *run) define() error {
	b.at++
	b.accept("void")
	name := b.peek()
	b.at++
	f := function{}
	if err := b.expect("("); err != nil {
		return err
	}
	names := func(end string) (list []string, err error) {
		for b.peek() != end && b.at < len(b.src) {
			n := b.peek()
			b.at++
			if b.accept("[") {
				n += "[]"
				if err := b.expect("]"); err != nil {
					return nil, err
				}
			}
			if list = append(list, n); !b.accept(",") {
				break
			}
		}
		return list, nil
	}
	var err error
	if f.params, err = names(")"); err == nil {
		err = b.expect(")")
	}
	if err != nil {
		return err
	}
	b.newlines()
	if err := b.expect("{"); err != nil {
		return err
	}
	for b.accept("\n") || b.accept(";") {
	}
	if b.accept("auto") {
		if f.autos, err = names("\n"); err != nil {
			return err
		}
	}
	f.body = b.at
	saved := b.skip
	b.skip = true
	err = b.block()
	if b.skip = saved; err == nil {
		b.funcs[name] = f
	}
	return err
}
