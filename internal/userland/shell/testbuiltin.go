package shell

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/internal/userland/shell/parse"
)

var (
	unaryOps  = strings.Fields("-z -n -e -f -d -h -L -r -w -x -s -p -c -b -S -t -v -o -R -N -O -G -u -g -k -a")
	binaryOps = strings.Fields("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef")
)

// testCommand is test and [, by POSIX's rules for the number of operands, and for
// longer ones by precedence: ! and parentheses, -a, -o.
func (sh *shell) testCommand(args []string) int {
	name := args[0]
	args = args[1:]
	if name == "[" {
		if len(args) == 0 || args[len(args)-1] != "]" {
			sh.errorf("[: missing `]'")
			return 2
		}
		args = args[:len(args)-1]
	}
	t := &testParser{sh: sh, args: args}
	ok, err := t.parse(args)
	if err != nil {
		sh.errorf("%s: %v", name, err)
		return 2
	}
	return int(truth(!ok))
}

type testParser struct {
	sh    *shell
	args  []string
	depth int
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
		return t.sh.unaryTest(a[0], a[1]), nil
	case len(a) == 2:
		return false, fmt.Errorf("%s: unary operator expected", a[0])
	case len(a) == 3 && slices.Contains(binaryOps, a[1]):
		return t.sh.binaryTest(a[1], a[0], a[2])
	case len(a) == 3 && a[1] == "-a":
		return a[0] != "" && a[2] != "", nil
	case len(a) == 3 && a[1] == "-o":
		return a[0] != "" || a[2] != "", nil
	case len(a) == 3 && a[0] == "!":
		ok, err := t.parse(a[1:])
		return !ok, err
	case len(a) == 3 && a[0] == "(" && a[2] == ")":
		return a[1] != "", nil
	case len(a) == 3:
		return false, fmt.Errorf("%s: binary operator expected", a[1])
	case len(a) == 4 && a[0] == "!":
		ok, err := t.parse(a[1:])
		return !ok, err
	}
	t.args = a
	ok, err := t.or()
	if err == nil && len(t.args) > 0 {
		return false, fmt.Errorf("too many arguments")
	}
	return ok, err
}

func (t *testParser) or() (bool, error) {
	ok, err := t.and()
	for err == nil && len(t.args) > 0 && t.args[0] == "-o" {
		t.args = t.args[1:]
		var right bool
		right, err = t.and()
		ok = ok || right
	}
	return ok, err
}

func (t *testParser) and() (bool, error) {
	ok, err := t.not()
	for err == nil && len(t.args) > 0 && t.args[0] == "-a" {
		t.args = t.args[1:]
		var right bool
		right, err = t.not()
		ok = ok && right
	}
	return ok, err
}

func (t *testParser) not() (bool, error) {
	if t.depth++; t.depth > maxArithDepth {
		return false, parse.ErrNesting
	}
	defer func() { t.depth-- }()
	a := t.args
	switch {
	case len(a) == 0:
		return false, fmt.Errorf("argument expected")
	case len(a) > 2 && slices.Contains(binaryOps, a[1]):
		t.args = a[3:]
		return t.sh.binaryTest(a[1], a[0], a[2])
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
		return t.sh.unaryTest(a[0], a[1]), nil
	}
	t.args = a[1:]
	return a[0] != "", nil
}
