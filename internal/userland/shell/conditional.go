package shell

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/glob"
	"coderunner/internal/userland/regex"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// tester evaluates [[ … ]]. After an error it decides nothing more.
type tester struct {
	sh    *shell
	depth int
	err   error
	code  int  // of a status that is no answer
	not   bool // the primary follows a !
}

func (sh *shell) test(c *syntax.TestClause) {
	t := &tester{sh: sh}
	ok := t.eval(c.X)
	sh.status = int(truth(!ok))
	switch {
	case t.err == nil && !ok && t.code != 0:
		sh.status = t.code
	case t.err != nil:
		if e, is := t.err.(*vars.Error); is && e.Fatal {
			sh.discard(t.err)
			return
		}
		sh.reportIn("[[", t.err)
		sh.status = 1
	}
}

func (t *tester) fail(err error) bool {
	if t.err == nil {
		t.err = err
	}
	return false
}

// eval evaluates an expression. The parser nests && and || to the right alike, and
// takes all that follows a ! for its operand: here ! is of the next primary, and &&
// binds closer than ||.
func (t *tester) eval(x syntax.TestExpr) bool {
	if t.depth++; t.depth > maxArithDepth {
		t.fail(parse.ErrNesting)
	}
	defer func() { t.depth-- }()
	all, not := true, false // all: of the terms since the last ||
	for t.err == nil {
		if n, ok := x.(*syntax.UnaryTest); ok && n.Op == syntax.TsNot {
			x, not = n.X, !not
			continue
		}
		term := x
		b, ok := x.(*syntax.BinaryTest)
		if ok = ok && (b.Op == syntax.AndTest || b.Op == syntax.OrTest); ok {
			term = b.X
		}
		if all {
			t.code, t.not = 0, not
			all = t.primary(term) != not
		}
		if !ok || b.Op == syntax.OrTest && all {
			return all && t.err == nil
		}
		all = all || b.Op == syntax.OrTest
		x, not = b.Y, false
	}
	return false
}

// primary evaluates what is between the operators !, && and ||.
func (t *tester) primary(x syntax.TestExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		s := t.text(x)
		t.trace("-n", s)
		return s != ""
	case *syntax.ParenTest:
		return t.eval(x.X)
	case *syntax.UnaryTest:
		w, ok := x.X.(*syntax.Word)
		if !ok {
			break
		}
		s := t.text(w)
		t.trace(x.Op.String(), s)
		return t.err == nil && t.sh.unaryTest(x.Op.String(), s)
	case *syntax.BinaryTest:
		return t.binary(x)
	}
	return t.fail(fmt.Errorf("syntax error in conditional expression"))
}

// trace shows a test whose operands are bare, "" of them excepted.
func (t *tester) trace(words ...string) {
	if !t.sh.opts.Xtrace {
		return
	}
	for i, s := range words {
		words[i] = cmp.Or(s, "''")
	}
	if t.not {
		words = append([]string{"!"}, words...)
	}
	t.sh.trace("[[ " + strings.Join(words, " ") + " ]]")
}

func (t *tester) text(w *syntax.Word) string {
	s, err := t.sh.literal(w)
	if err != nil {
		t.fail(err)
	}
	return s
}

func (t *tester) binary(x *syntax.BinaryTest) bool {
	left, ok1 := x.X.(*syntax.Word)
	right, ok2 := x.Y.(*syntax.Word)
	if !ok1 || !ok2 {
		return t.fail(fmt.Errorf("syntax error in conditional expression"))
	}
	l := t.text(left)
	r, err := t.sh.field(right, false)
	if err != nil {
		return t.fail(err)
	}
	switch x.Op {
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch, syntax.TsReMatch:
		t.trace(l, x.Op.String(), r.escaped(x.Op == syntax.TsReMatch))
	default:
		t.trace(l, x.Op.String(), r.String())
	}
	switch x.Op {
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
		return glob.Compile(r.pattern(), true).Match(t.sh.ctx, l, t.sh.opts.Nocasematch) == (x.Op != syntax.TsNoMatch)
	case syntax.TsReMatch:
		return t.regexp(l, r)
	case syntax.TsEql, syntax.TsNeq, syntax.TsLss, syntax.TsLeq, syntax.TsGtr, syntax.TsGeq:
		a, err := t.sh.evaluate(l)
		if err != nil {
			return t.fail(err)
		}
		b, err := t.sh.evaluate(r.String())
		if err != nil {
			return t.fail(err)
		}
		return compare(x.Op.String(), a, b)
	}
	ok, _ := t.sh.binaryTest(x.Op.String(), l, r.String())
	return ok
}

func compare(op string, a, b int64) bool {
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

// maxRegexp bounds a regular expression, in bytes.
const maxRegexp = 64 << 10

// regexp matches an extended regular expression, in which quoted characters are
// themselves, and sets BASH_REMATCH.
func (t *tester) regexp(s string, f field) bool {
	var b strings.Builder
	for _, p := range f {
		if p.quoted {
			b.WriteString(regexp.QuoteMeta(p.text))
		} else {
			b.WriteString(p.text)
		}
	}
	if b.Len() > maxRegexp {
		return t.fail(fmt.Errorf("a regular expression may have at most %d bytes", maxRegexp))
	}
	re, err := regex.Dialect{Extended: true, Strict: true, Fold: t.sh.opts.Nocasematch}.Compile(b.String())
	if err != nil {
		t.code = 2
		return false
	}
	var m []string
	for _, at := range re.FindAllSubmatchIndex([]byte(s), 1) {
		for ; len(at) > 0; at = at[2:] {
			m = append(m, s[max(0, at[0]):max(0, at[1])])
		}
	}
	if err := t.sh.vars.SetList("BASH_REMATCH", m); err != nil {
		return t.fail(err)
	}
	return m != nil
}

// unaryTest is a test of one operand, of [[ and of [.
func (sh *shell) unaryTest(op, s string) bool {
	switch op {
	case "-z":
		return s == ""
	case "-n":
		return s != ""
	case "-v":
		v, err := sh.fetchText(s)
		if base, sub, ok := parse.CutSubscript(s); ok && err == nil && (sub == "@" || sub == "*") {
			return len(sh.vars.Elements(base, false).Elems) > 0
		}
		return err == nil && v.IsSet
	case "-R":
		v, _ := sh.vars.Scope.Find(s)
		return v != nil && v.Attrs&vars.NameRef != 0
	case "-o":
		on := sh.opts.Find(s)
		return on != nil && *on
	case "-t":
		fd, err := strconv.Atoi(s)
		return err == nil && sh.files.IsTerminal(fd)
	case "-h", "-L":
		if _, ok := sh.files.Descriptor(s); ok {
			return sh.files.Test("-e", s)
		}
		n, e := sh.files.Lookup(s, false)
		return e == abi.OK && n.Type() == abi.S_IFLNK
	}
	return sh.files.Test(op, s)
}

// binaryTest is a test of two operands.
func (sh *shell) binaryTest(op, l, r string) (bool, error) {
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
		a, e1 := sh.files.Lookup(l, true)
		b, e2 := sh.files.Lookup(r, true)
		if op == "-ot" {
			a, b, e1, e2 = b, a, e2, e1
		}
		switch {
		case e1 != abi.OK || op == "-ef" && e2 != abi.OK:
			return false, nil
		case op == "-ef":
			return a == b || sh.files.FS.Stat(a).Ino == sh.files.FS.Stat(b).Ino, nil
		case e2 != abi.OK:
			return true, nil
		}
		return sh.files.FS.Stat(a).Mtime.Time().After(sh.files.FS.Stat(b).Mtime.Time()), nil
	}
	for _, s := range []string{l, r} {
		if _, err := strconv.ParseInt(trimBlanks(s), 10, 64); err != nil {
			return false, fmt.Errorf("%s: integer expression expected", s)
		}
	}
	a, _ := strconv.ParseInt(strings.TrimSpace(l), 10, 64)
	b, _ := strconv.ParseInt(strings.TrimSpace(r), 10, 64)
	return compare(op, a, b), nil
}
