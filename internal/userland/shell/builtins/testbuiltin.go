package builtins

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/shell/arith"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

var (
	unaryOps  = strings.Fields("-z -n -e -f -d -h -L -r -w -x -s -p -c -b -S -t -v -o -R -N -O -G -u -g -k -a")
	binaryOps = strings.Fields("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef")
)

// TestFrame is what a level of a test takes of the stack, in bytes.
const TestFrame = 4 << 10

// test is test and [, by POSIX's rules for the number of operands, and for
// longer ones by precedence: ! and parentheses, -a, -o.
func test(sh Shell, args []string) int {
	name := args[0]
	args = args[1:]
	if name == "[" {
		if len(args) == 0 || args[len(args)-1] != "]" {
			sh.Errorf("[: missing `]'")
			return 2
		}
		args = args[:len(args)-1]
	}
	t := &testParser{sh: sh, args: args}
	ok, err := t.parse(args)
	if err != nil {
		sh.Errorf("%s: %v", name, err)
		return 2
	}
	return int(arith.Truth(!ok))
}

type testParser struct {
	sh   Shell
	args []string
}

func (t *testParser) parse(a []string) (bool, error) {
	switch {
	case len(a) == 0:
		return false, nil
	case len(a) == 1:
		return a[0] != "", nil
	case len(a) == 2 && a[0] == "!":
		return a[1] == "", nil
	case len(a) == 2 && slices.Contains(unaryOps, a[0]):
		return UnaryTest(t.sh, a[0], a[1]), nil
	case len(a) == 2:
		return false, fmt.Errorf("%s: unary operator expected", a[0])
	case len(a) == 3 && slices.Contains(binaryOps, a[1]):
		return BinaryTest(t.sh, a[1], a[0], a[2])
	case len(a) == 3 && a[1] == "-a":
		return a[0] != "" && a[2] != "", nil
	case len(a) == 3 && a[1] == "-o":
		return a[0] != "" || a[2] != "", nil
	case len(a) < 5 && a[0] == "!":
		ok, err := t.parse(a[1:])
		return !ok, err
	case len(a) == 3 && a[0] == "(" && a[2] == ")":
		return a[1] != "", nil
	case len(a) == 3:
		return false, fmt.Errorf("%s: binary operator expected", a[1])
	}
	t.args = a
	ok, err := t.or()
	if err == nil && len(t.args) > 0 {
		return false, fmt.Errorf("too many arguments")
	}
	return ok, err
}

// chain evaluates operands with an operator between them.
func (t *testParser) chain(operand func() (bool, error), op string, join func(a, b bool) bool) (bool, error) {
	ok, err := operand()
	for err == nil && len(t.args) > 0 && t.args[0] == op {
		t.args = t.args[1:]
		var right bool
		right, err = operand()
		ok = join(ok, right)
	}
	return ok, err
}

func (t *testParser) or() (bool, error) {
	return t.chain(t.and, "-o", func(a, b bool) bool { return a || b })
}

func (t *testParser) and() (bool, error) {
	return t.chain(t.not, "-a", func(a, b bool) bool { return a && b })
}

func (t *testParser) not() (bool, error) {
	if !t.sh.Process().Stack.Enter(TestFrame) {
		return false, parse.ErrNesting
	}
	defer t.sh.Process().Stack.Leave(TestFrame)
	a := t.args
	switch {
	case len(a) == 0:
		return false, fmt.Errorf("argument expected")
	case len(a) > 2 && slices.Contains(binaryOps, a[1]):
		t.args = a[3:]
		return BinaryTest(t.sh, a[1], a[0], a[2])
	case a[0] == "!":
		t.args = a[1:]
		ok, err := t.not()
		return !ok, err
	case a[0] == "(":
		t.args = a[1:]
		ok, err := t.or()
		if err == nil && (len(t.args) == 0 || t.args[0] != ")") {
			return false, fmt.Errorf("`)' expected")
		}
		if err == nil {
			t.args = t.args[1:]
		}
		return ok, err
	case len(a) > 1 && slices.Contains(unaryOps, a[0]):
		t.args = a[2:]
		return UnaryTest(t.sh, a[0], a[1]), nil
	}
	t.args = a[1:]
	return a[0] != "", nil
}

// UnaryTest is a test of one operand, of [[ and of [.
func UnaryTest(sh Shell, op, s string) bool {
	switch op {
	case "-z":
		return s == ""
	case "-n":
		return s != ""
	case "-v":
		v, err := sh.Expander().FetchText(s)
		if base, sub, ok := parse.CutSubscript(s); ok && err == nil && (sub == "@" || sub == "*") {
			return len(sh.Vars().Elements(base, false).Elems) > 0
		}
		return err == nil && v.IsSet
	case "-R":
		v, _ := sh.Vars().Scope.Find(s)
		return v != nil && v.Attrs&vars.NameRef != 0
	case "-o":
		on := sh.Options().Find(s)
		return on != nil && *on
	case "-t":
		fd, err := strconv.Atoi(s)
		return err == nil && sh.Files().IsTerminal(fd)
	case "-h", "-L":
		if _, ok := sh.Files().Descriptor(s); ok {
			return sh.Files().Test("-e", s)
		}
		n, e := sh.Files().Lookup(s, false)
		return e == abi.OK && n.Type() == abi.S_IFLNK
	}
	return sh.Files().Test(op, s)
}

// BinaryTest is a test of two operands.
func BinaryTest(sh Shell, op, l, r string) (bool, error) {
	switch op {
	case "=", "==":
		return l == r, nil
	case "!=":
		return l != r, nil
	case "<":
		return l < r, nil
	case ">":
		return l > r, nil
	case "-nt", "-ot", "-ef":
		a, e1 := sh.Files().Lookup(l, true)
		b, e2 := sh.Files().Lookup(r, true)
		if op == "-ot" {
			a, b, e1, e2 = b, a, e2, e1
		}
		switch {
		case e1 != abi.OK || op == "-ef" && e2 != abi.OK:
			return false, nil
		case op == "-ef":
			return a == b || sh.Files().FS.Stat(a).Ino == sh.Files().FS.Stat(b).Ino, nil
		case e2 != abi.OK:
			return true, nil
		}
		return sh.Files().FS.Stat(a).Mtime.Time().After(sh.Files().FS.Stat(b).Mtime.Time()), nil
	}
	var n [2]int64
	for i, s := range []string{l, r} {
		var err error
		if n[i], err = strconv.ParseInt(strings.Trim(s, " \t\n"), 10, 64); err != nil {
			return false, fmt.Errorf("%s: integer expression expected", s)
		}
	}
	return Compare(op, n[0], n[1]), nil
}

// Compare is -eq and the like of numbers.
func Compare(op string, a, b int64) bool {
	switch op {
	case "-eq":
		return a == b
	case "-ne":
		return a != b
	case "-lt":
		return a < b
	case "-le":
		return a <= b
	case "-gt":
		return a > b
	}
	return a >= b
}
