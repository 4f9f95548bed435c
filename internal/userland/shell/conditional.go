package shell

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/regex"
	"coderunner/internal/userland/shell/arith"
	"coderunner/internal/userland/shell/builtins"
	"coderunner/internal/userland/shell/expand"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// tester evaluates [[ … ]]. After an error it decides nothing more.
type tester struct {
	sh   *shell
	err  error
	code int  // of a status that is no answer
	not  bool // the primary follows a !
}

func (sh *shell) test(c *syntax.TestClause) {
	t := &tester{sh: sh}
	ok := t.eval(c.X)
	sh.status = int(arith.Truth(!ok))
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
	t.err = cmp.Or(t.err, err)
	return false
}

// eval evaluates an expression. The parser nests && and || to the right alike, and
// takes all that follows a ! for its operand: here ! is of the next primary, and &&
// binds closer than ||.
func (t *tester) eval(x syntax.TestExpr) bool {
	if !t.sh.p.Stack.Enter(builtins.TestFrame) {
		return t.fail(parse.ErrNesting)
	}
	defer t.sh.p.Stack.Leave(builtins.TestFrame)
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
		return t.err == nil && builtins.UnaryTest(face{t.sh}, x.Op.String(), s)
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
	s, err := t.sh.ex.Literal(w)
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
	r, err := t.sh.ex.Field(right, false)
	if err != nil {
		return t.fail(err)
	}
	switch x.Op {
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch, syntax.TsReMatch:
		t.trace(l, x.Op.String(), r.Escaped(x.Op == syntax.TsReMatch))
	default:
		t.trace(l, x.Op.String(), r.String())
	}
	switch x.Op {
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
		pat, err := t.sh.ex.Compile(r.Pattern(), true)
		if err != nil {
			return t.fail(err)
		}
		return pat.Match(t.sh.ctx, l, t.sh.opts.Nocasematch) == (x.Op != syntax.TsNoMatch)
	case syntax.TsReMatch:
		return t.regexp(l, r)
	case syntax.TsEql, syntax.TsNeq, syntax.TsLss, syntax.TsLeq, syntax.TsGtr, syntax.TsGeq:
		a, err := t.sh.ex.Evaluate(l)
		if err != nil {
			return t.fail(err)
		}
		b, err := t.sh.ex.Evaluate(r.String())
		if err != nil {
			return t.fail(err)
		}
		return builtins.Compare(x.Op.String(), a, b)
	}
	ok, _ := builtins.BinaryTest(face{t.sh}, x.Op.String(), l, r.String())
	return ok
}

// maxRegexp bounds a regular expression, in bytes.
const maxRegexp = 64 << 10

// regexp matches an extended regular expression, in which quoted characters are
// themselves, and sets BASH_REMATCH.
func (t *tester) regexp(s string, f expand.Field) bool {
	var b strings.Builder
	for _, p := range f {
		if p.Quoted {
			b.WriteString(regexp.QuoteMeta(p.Text))
		} else {
			b.WriteString(p.Text)
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
