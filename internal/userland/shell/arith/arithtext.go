package arith

import (
	"cmp"
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// errNotOne ends an evaluation at an operand that expands to nothing or to an expression:
// bash parses the whole after it was expanded, in which there is no such operand, and
// $x * 3 is 1 + 2 * 3.
var errNotOne = errors.New("not one operand")

// oneOperand reports whether the text of an expansion is a number or a name.
func oneOperand(s string) bool {
	s = strings.TrimPrefix(trimBlanks(s), "-")
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !word(r) })
}

// word reports whether a character is one of names and numbers.
func word(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' || r == '#' || r == '@'
}

// expandedText evaluates the text that an expression expands to.
func expandedText(env Env, x syntax.ArithmExpr) (int64, error) {
	src := env.Source()
	s, err := env.Text(src.Of(x) + src.BlanksBehind(x))
	if err != nil {
		return 0, err
	}
	s = strings.ReplaceAll(s, `"`, "")
	a := &arithmetic{env: env, vars: env.Variables(), text: strings.TrimLeft(s, " \t\n")}
	n := a.value(s)
	return n, a.err
}

// rest returns the text of the expression from one of its parts on.
func (a *arithmetic) rest(x syntax.ArithmExpr) string {
	if a.inner != "" {
		return a.inner[min(int(x.Pos().Offset()), len(a.inner)):]
	}
	from, to := int(x.Pos().Offset()), len(a.env.Source().Text)
	if a.expr != nil {
		to = min(to, int(a.expr.End().Offset()))
	}
	if a.expr == nil || from >= to {
		return a.sourceOf(x)
	}
	return parse.Original(a.env.Source().Text[from:to]) + a.env.Source().BlanksBehind(a.expr)
}

const tooGreat = "value too great for base"

// overflow fails at an expression that nests too deeply, whose text is not shown.
func (a *arithmetic) overflow(token string) int64 {
	a.deep = true
	return a.fail(tooDeep, token)
}

func (a *arithmetic) fail(msg, token string) int64 {
	if a.text == "" && a.expr != nil && !a.deep {
		a.text = a.env.Source().Of(a.expr) + a.env.Source().BlanksBehind(a.expr)
	}
	if a.err == nil {
		text := a.text
		if i := strings.Index(text, token); i >= 0 && msg == tooGreat { // bash shows what it read
			text = text[:i+len(token)]
		}
		a.err = &vars.Error{Msg: text + ": " + msg + ` (error token is "` + token + `")`}
	}
	return 0
}

// changes matches what an expression does besides being evaluated, or may.
var changes = lazyregexp.New("\\+\\+|--|[^=!<>]=[^=]|<<=|>>=|\\$\\(|`")

// expanded reports whether the errors of an expression need the text that it expands to,
// and it can be evaluated again to that end: bash shows the values of variables.
func (a *arithmetic) expanded() bool {
	e, ok := a.err.(*vars.Error)
	if !ok || e.Fatal || a.expr == nil || a.deep {
		return false
	}
	if w, ok := a.expr.(*syntax.Word); ok {
		if _, quoted := w.Parts[0].(*syntax.DblQuoted); quoted {
			return false // it is the text: see requote
		}
	}
	s := a.env.Source().Of(a.expr)
	return strings.Contains(s, "$") && !changes.MatchString(s)
}

// malformed fails as bash does at what it cannot read: token and what follows.
func (a *arithmetic) malformed(s, token string) int64 {
	for i := 1; i < len(s); i++ {
		if s[i] == '.' && digit(s[i-1], 10) >= 0 || s[i] == '\r' {
			if at := strings.Index(a.text, s); at >= 0 {
				return a.fail("syntax error: invalid arithmetic operator", a.text[at+i:])
			}
			return a.fail("syntax error: invalid arithmetic operator", s[i:])
		}
	}
	if token != "" && strings.IndexByte("+-*/%<>=&|^!~?:,", token[0]) < 0 {
		return a.fail("syntax error in expression", token)
	}
	if first := strings.TrimLeft(token, "+-*<>=&|^!~?:, "); token != "" && first != "" && token != s {
		token = first
	}
	return a.fail("syntax error: operand expected", cmp.Or(token, s))
}
