package find

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/pyodide/abi"
)

// parse parses the expression. -print is added if nothing acts.
func (f *finder) parse() error {
	acts := slices.ContainsFunc(f.args, func(a string) bool {
		switch a {
		case "-print", "-print0", "-printf", "-fprint", "-fprintf", "-exec", "-execdir", "-ok", "-delete", "-ls", "-quit":
			return true
		}
		return false
	})
	if !acts || len(f.args) == 0 {
		print := &node{test: findPrint("\n")}
		if len(f.args) == 0 {
			f.expr = print
			return nil
		}
		n, err := f.comma(0)
		if err != nil {
			return err
		}
		f.expr = &node{op: "and", a: n, b: print}
	} else {
		n, err := f.comma(0)
		if err != nil {
			return err
		}
		f.expr = n
	}
	if len(f.args) > 0 {
		if f.args[0] == ")" {
			return fmt.Errorf("invalid expression; you have used a ')' without a matching '('")
		}
		return fmt.Errorf("paths must precede expression: `%s'", f.args[0])
	}
	return nil
}

func (f *finder) peek() string {
	if len(f.args) > 0 {
		return f.args[0]
	}
	return ""
}

func (f *finder) comma(depth int) (*node, error) {
	n, err := f.or(depth)
	for err == nil && f.peek() == "," {
		f.args = f.args[1:]
		var b *node
		b, err = f.or(depth)
		n = &node{op: "comma", a: n, b: b}
	}
	return n, err
}

func (f *finder) or(depth int) (*node, error) {
	n, err := f.and(depth)
	for err == nil && (f.peek() == "-o" || f.peek() == "-or") {
		op := f.peek()
		f.args = f.args[1:]
		if len(f.args) == 0 {
			return nil, fmt.Errorf("invalid expression; you have used a binary operator '%s' with nothing after it.", op)
		}
		var b *node
		b, err = f.and(depth)
		n = &node{op: "or", a: n, b: b}
	}
	return n, err
}

func (f *finder) and(depth int) (*node, error) {
	n, err := f.not(depth)
	for err == nil && len(f.args) > 0 && !slices.Contains([]string{"-o", "-or", ")", ","}, f.peek()) {
		if p := f.peek(); p == "-a" || p == "-and" {
			f.args = f.args[1:]
		} else if p == "" || p[0] != '-' && p != "(" && p != "!" {
			return n, nil
		}
		var b *node
		b, err = f.not(depth)
		n = &node{op: "and", a: n, b: b}
	}
	return n, err
}

func (f *finder) not(depth int) (*node, error) {
	if depth > 500 {
		return nil, fmt.Errorf("the expression is nested too deeply")
	}
	switch op := f.peek(); op {
	case "!", "-not":
		f.args = f.args[1:]
		if len(f.args) == 0 {
			return nil, fmt.Errorf("expected an expression after '%s'", op)
		}
		n, err := f.not(depth + 1)
		return &node{op: "not", a: n}, err
	case "(":
		f.args = f.args[1:]
		if f.peek() == ")" {
			return nil, fmt.Errorf("invalid expression; empty parentheses are not allowed.")
		}
		n, err := f.comma(depth + 1)
		if err != nil {
			return nil, err
		}
		if f.peek() != ")" {
			return nil, fmt.Errorf("invalid expression; I was expecting to find a ')' somewhere but did not see one.")
		}
		f.args = f.args[1:]
		return n, nil
	}
	return f.primary()
}

// argument takes the argument of a test.
func (f *finder) argument(test string) (string, error) {
	if len(f.args) == 0 {
		return "", fmt.Errorf("missing argument to `%s'", test)
	}
	a := f.args[0]
	f.args = f.args[1:]
	return a, nil
}

func (f *finder) primary() (*node, error) {
	name := f.peek()
	if len(f.args) > 0 {
		f.args = f.args[1:]
	}
	leaf := func(t func(*finder, *found) bool) (*node, error) { return &node{test: t}, nil }
	always := func(*finder, *found) bool { return true }
	switch name {
	case "-true", "-noleaf", "-mount", "-xdev", "-ignore_readdir_race", "-daystart", "-warn", "-nowarn":
		return leaf(always)
	case "-false":
		return leaf(func(*finder, *found) bool { return false })
	case "-depth", "-d":
		f.depthFirst = true
		return leaf(always)
	case "-follow":
		f.follow = true
		return leaf(always)
	case "-print":
		return leaf(findPrint("\n"))
	case "-print0":
		return leaf(findPrint("\x00"))
	case "-prune":
		return leaf(func(f *finder, _ *found) bool { f.pruned = true; return true })
	case "-quit":
		return leaf(func(f *finder, _ *found) bool { f.quit = true; return true })
	case "-delete":
		f.depthFirst = true
		return leaf(findDelete)
	case "-empty":
		return leaf(empty)
	case "-ls":
		return leaf(list)
	case "-readable", "-writable", "-executable":
		mode := map[string]uint32{"-readable": abi.R_OK, "-writable": abi.W_OK, "-executable": abi.X_OK}[name]
		return leaf(func(f *finder, e *found) bool {
			n, err := f.c.Lookup(e.path, true)
			return err == abi.OK && f.c.Fs.Access(n, mode) == abi.OK
		})
	case "-exec", "-execdir", "-ok":
		return f.exec(name)
	}
	test, ok := tests[name]
	if !ok {
		if strings.HasPrefix(name, "-") {
			return nil, fmt.Errorf("unknown predicate `%s'", name)
		}
		return nil, fmt.Errorf("paths must precede expression: `%s'", name)
	}
	arg, err := f.argument(name)
	if err != nil {
		return nil, err
	}
	t, err := test(f, name, arg)
	return &node{test: t}, err
}
