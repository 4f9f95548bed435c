package system

import (
	"math/big"
	"strings"

	"coderunner/internal/commands/command"
	"coderunner/pyodide/abi"
)

// tester evaluates the expression of test. A mistake ends the command.
type tester struct {
	c    *command.Call
	args []string
}

// Test is test and [: 0 is true, 1 false, 2 a mistake.
func Test(c *command.Call) int {
	args := c.Args
	if c.Name == "[" {
		if len(args) == 0 || args[len(args)-1] != "]" {
			return c.Die(2, "missing ']'")
		}
		args = args[:len(args)-1]
	}
	t := &tester{c: c, args: args}
	return command.Btoi(!t.all())
}

// all applies POSIX's rules for up to four arguments, and the grammar to more.
func (t *tester) all() bool {
	a := t.args
	switch len(a) {
	case 0:
		return false
	case 1:
		return a[0] != ""
	case 2:
		if a[0] == "!" {
			return a[1] == ""
		}
		if !t.unary(a[0]) {
			t.c.Exit(2, "%s: unary operator expected", command.Quote(a[0]))
		}
		return t.one(a[0], a[1])
	case 3:
		if t.binary(a[1]) {
			return t.two(a[0], a[1], a[2])
		}
		if a[0] == "!" {
			return !(&tester{t.c, a[1:]}).all()
		}
		if a[0] == "(" && a[2] == ")" {
			return a[1] != ""
		}
		if a[1] != "-a" && a[1] != "-o" {
			t.c.Exit(2, "%s: binary operator expected", command.Quote(a[1]))
		}
	case 4:
		if a[0] == "!" {
			return !(&tester{t.c, a[1:]}).all()
		}
		if a[0] == "(" && a[3] == ")" {
			return (&tester{t.c, a[1:3]}).all()
		}
	}
	v := t.or()
	if len(t.args) > 0 {
		t.c.Exit(2, "extra argument %s", command.Quote(t.args[0]))
	}
	return v
}

func (t *tester) peek() string {
	if len(t.args) > 0 {
		return t.args[0]
	}
	return ""
}

func (t *tester) take() string {
	if len(t.args) == 0 {
		t.c.Exit(2, "missing argument after %s", command.Quote(t.c.Args[len(t.c.Args)-1]))
	}
	a := t.args[0]
	t.args = t.args[1:]
	return a
}

func (t *tester) or() bool {
	v := t.and()
	for t.peek() == "-o" {
		t.take()
		w := t.and()
		v = v || w
	}
	return v
}

func (t *tester) and() bool {
	v := t.term()
	for t.peek() == "-a" {
		t.take()
		w := t.term()
		v = v && w
	}
	return v
}

func (t *tester) term() bool {
	not := false
	for t.peek() == "!" && len(t.args) > 1 {
		t.take()
		not = !not
	}
	return t.primary() != not
}

func (t *tester) primary() bool {
	if len(t.args) >= 3 && t.binary(t.args[1]) {
		a, op, b := t.take(), t.take(), t.take()
		return t.two(a, op, b)
	}
	if t.peek() == "(" && len(t.args) > 1 {
		t.take()
		v := t.or()
		if t.take() != ")" {
			t.c.Exit(2, "')' expected")
		}
		return v
	}
	if len(t.args) >= 2 && t.unary(t.args[0]) {
		op, a := t.take(), t.take()
		return t.one(op, a)
	}
	return t.take() != ""
}

func (t *tester) unary(op string) bool {
	return len(op) == 2 && op[0] == '-' && strings.IndexByte("bcdefghkLnNOGprsStuwxzv", op[1]) >= 0
}

func (t *tester) binary(op string) bool {
	switch op {
	case "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef":
		return true
	}
	return false
}

// one evaluates a unary operator.
func (t *tester) one(op, arg string) bool {
	switch op {
	case "-n":
		return arg != ""
	case "-z":
		return arg == ""
	case "-t", "-v":
		return false
	case "-h", "-L":
		st, err := t.c.Lstat(arg)
		return err == nil && st.Mode&abi.S_IFMT == abi.S_IFLNK
	}
	n, e := t.c.Lookup(arg, true)
	if e != abi.OK {
		return false
	}
	st := t.c.FS.Stat(n)
	kinds := map[string]uint32{"-b": abi.S_IFBLK, "-c": abi.S_IFCHR, "-d": abi.S_IFDIR, "-f": abi.S_IFREG, "-p": abi.S_IFIFO, "-S": abi.S_IFSOCK}
	if kind, ok := kinds[op]; ok {
		return st.Mode&abi.S_IFMT == kind
	}
	switch op {
	case "-r":
		return t.c.FS.Access(n, abi.R_OK) == abi.OK
	case "-w":
		return t.c.FS.Access(n, abi.W_OK) == abi.OK
	case "-x":
		return t.c.FS.Access(n, abi.X_OK) == abi.OK
	case "-s":
		return st.Size > 0
	case "-g":
		return st.Mode&abi.S_ISGID != 0
	case "-u":
		return st.Mode&abi.S_ISUID != 0
	case "-k":
		return st.Mode&abi.S_ISVTX != 0
	case "-N":
		return st.Atime.Before(st.Mtime)
	}
	return true // -e, and -O and -G: there is one user
}

// two evaluates a binary operator.
func (t *tester) two(a, op, b string) bool {
	switch op {
	case "=", "==":
		return a == b
	case "!=":
		return a != b
	case "<":
		return a < b
	case ">":
		return a > b
	case "-nt", "-ot", "-ef":
		x, err1 := t.c.Stat(a)
		y, err2 := t.c.Stat(b)
		switch op {
		case "-nt":
			return err1 == nil && (err2 != nil || y.Mtime.Before(x.Mtime))
		case "-ot":
			return err2 == nil && (err1 != nil || x.Mtime.Before(y.Mtime))
		}
		return err1 == nil && err2 == nil && x.Dev == y.Dev && x.Ino == y.Ino
	}
	d := t.integer(a).Cmp(t.integer(b))
	return map[string]bool{"-eq": d == 0, "-ne": d != 0, "-lt": d < 0, "-le": d <= 0, "-gt": d > 0, "-ge": d >= 0}[op]
}

func (t *tester) integer(s string) *big.Int {
	trimmed := strings.Trim(s, " \t")
	n, ok := new(big.Int).SetString(trimmed, 10)
	if !ok || len(trimmed) > 1000 || strings.Contains(trimmed, "_") {
		t.c.Exit(2, "invalid integer %s", command.Quote(s))
	}
	return n
}
