package find

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
)

// parse parses the expression; a mistake ends the command. -print is added if nothing acts.
func (f *finder) parse() {
	acts := slices.ContainsFunc(f.args, func(a string) bool {
		switch a {
		case "-print", "-print0", "-printf", "-fprint", "-fprint0", "-fprintf", "-exec", "-execdir", "-ok", "-delete", "-ls", "-fls", "-quit":
			return true
		}
		return false
	})
	switch print := (&node{test: f.prints("-print", f.c.Out)}); {
	case len(f.args) == 0:
		f.expr = print
	case acts:
		f.expr = f.comma()
	default:
		f.expr = &node{op: "and", a: f.comma(), b: print}
	}
	switch {
	case f.deletes && f.prunes && !f.asked:
		f.c.Exit(1, "The -delete action automatically turns on -depth, but -prune does nothing when -depth is in effect.  If you want to carry on anyway, just explicitly use the -depth option.")
	case f.peek() == ")":
		f.c.Exit(1, "invalid expression; you have used a ')' without a matching '('")
	case len(f.args) > 0:
		f.c.Exit(1, "%s", f.misplaced(f.args[0]))
	}
}

// misplaced returns the message about a path behind the expression. One that is there may
// come from a pattern that the shell has expanded.
func (f *finder) misplaced(path string) string {
	text := fmt.Sprintf("paths must precede expression: `%s'", path)
	if _, e := f.c.Lookup(path, false); e == abi.OK && f.last != "" {
		text += fmt.Sprintf("\n%s: possible unquoted pattern after predicate `%s'?", f.c.Name, f.last)
	}
	return text
}

func (f *finder) peek() string {
	if len(f.args) > 0 {
		return f.args[0]
	}
	return ""
}

func (f *finder) comma() *node {
	n := f.or()
	for f.peek() == "," {
		f.args = f.args[1:]
		n = &node{op: "comma", a: n, b: f.or()}
	}
	return n
}

func (f *finder) or() *node {
	n := f.and()
	for f.peek() == "-o" || f.peek() == "-or" {
		op := f.peek()
		f.args, f.last = f.args[1:], op
		if len(f.args) == 0 {
			f.c.Exit(1, "invalid expression; you have used a binary operator '%s' with nothing after it.", op)
		}
		n = &node{op: "or", a: n, b: f.and()}
	}
	return n
}

func (f *finder) and() *node {
	n := f.not()
	for len(f.args) > 0 && !slices.Contains([]string{"-o", "-or", ")", ","}, f.peek()) {
		if p := f.peek(); p == "-a" || p == "-and" {
			f.args = f.args[1:]
		} else if p == "" || p[0] != '-' && p != "(" && p != "!" {
			return n
		}
		n = &node{op: "and", a: n, b: f.not()}
	}
	return n
}

func (f *finder) not() *node {
	f.enter()
	defer f.c.Leave(frame)
	switch op := f.peek(); op {
	case "!", "-not", "-!":
		f.args = f.args[1:]
		if len(f.args) == 0 {
			f.c.Exit(1, "expected an expression after '%s'", op)
		}
		return &node{op: "not", a: f.not()}
	case "(":
		f.args = f.args[1:]
		if f.peek() == ")" {
			f.c.Exit(1, "invalid expression; empty parentheses are not allowed.")
		}
		n := f.comma()
		switch next := f.peek(); {
		case next != ")" && next != "":
			f.c.Exit(1, "%s", f.misplaced(next))
		case next == "":
			f.c.Exit(1, "invalid expression; I was expecting to find a ')' somewhere but did not see one.")
		}
		f.args = f.args[1:]
		return n
	}
	return f.primary()
}

// frame is what a level of an expression takes of the stack, twice.
const frame = 2 << 10

// enter counts a level of an expression.
func (f *finder) enter() {
	if err := f.c.Enter(frame); err != nil {
		f.c.Exit(1, "the expression is %s", err)
	}
}

// argument takes the argument of a test.
func (f *finder) argument(test string) string {
	if len(f.args) == 0 {
		f.c.Exit(1, "missing argument to `%s'", test)
	}
	a := f.args[0]
	f.args = f.args[1:]
	return a
}

func (f *finder) primary() *node {
	name := f.peek()
	if len(f.args) > 0 {
		f.args = f.args[1:]
	}
	if strings.HasPrefix(name, "-") {
		f.last = name
	}
	leaf := func(t func(*finder, *found) bool) *node { return &node{test: t} }
	always := func(*finder, *found) bool { return true }
	switch name {
	case "-true", "-noleaf", "-mount", "-xdev", "-ignore_readdir_race", "-daystart", "-warn", "-nowarn":
		return leaf(always)
	case "-false":
		return leaf(func(*finder, *found) bool { return false })
	case "-depth", "-d":
		f.depthFirst, f.asked = true, true
		return leaf(always)
	case "-follow":
		f.follow = true
		return leaf(always)
	case "-print", "-print0", "-printf", "-ls":
		return leaf(f.prints(name, f.c.Out))
	case "-fprint", "-fprint0", "-fprintf", "-fls":
		return leaf(f.prints("-"+name[2:], f.output(f.argument(name))))
	case "-nouser", "-nogroup":
		return leaf(nobody(name))
	case "-prune":
		f.prunes = true
		return leaf(func(f *finder, _ *found) bool { f.pruned = true; return true })
	case "-quit":
		return leaf(func(f *finder, _ *found) bool { f.quit = true; return true })
	case "-delete":
		f.depthFirst, f.deletes = true, true
		return leaf(findDelete)
	case "-empty":
		return leaf(empty)
	case "-readable", "-writable", "-executable":
		mode := map[string]uint32{"-readable": abi.R_OK, "-writable": abi.W_OK, "-executable": abi.X_OK}[name]
		return leaf(func(f *finder, e *found) bool {
			n, err := f.c.Lookup(e.path, true)
			return err == abi.OK && f.c.FS.Access(n, mode) == abi.OK
		})
	case "-exec", "-execdir", "-ok":
		return f.exec(name)
	}
	test, ok := tests[name]
	if isNewer(name) {
		test, ok = newer, true
	}
	if !ok {
		if strings.HasPrefix(name, "-") {
			f.c.Exit(1, "unknown predicate `%s'", name)
		}
		f.c.Exit(1, "%s", f.misplaced(name))
	}
	return leaf(test(f, name, f.argument(name)))
}
