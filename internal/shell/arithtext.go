package shell

import (
	"cmp"
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// errBlank ends an evaluation at an operand that expands to nothing: bash parses the
// expression after it was expanded, in which there is no such operand.
var errBlank = errors.New("blank operand")

// arithmText evaluates the text that an expression expands to.
func (sh *shell) arithmText(x syntax.ArithmExpr) (int64, error) {
	s := sh.sourceOf(x)
	if to := int(x.End().Offset()); to < len(sh.src.text) { // with the blanks behind it, as bash shows it
		rest := sh.src.text[to:]
		if after := strings.TrimLeft(rest, " "); strings.HasPrefix(after, ")") {
			s += rest[:len(rest)-len(after)]
		}
	}
	w, err := newParser().Document(&watched{s})
	if err != nil {
		return 0, err
	}
	if s, err = sh.document(w); err != nil {
		return 0, err
	}
	a := &arithmetic{sh: sh, text: strings.TrimLeft(s, " \t\n")}
	n := a.value(s)
	return n, a.err
}

const tooGreat = "value too great for base"

func (a *arithmetic) fail(msg, token string) int64 {
	if a.text == "" && a.expr != nil && a.depth <= maxArithDepth {
		a.text = a.sh.sourceOf(a.expr)
	}
	if a.err == nil {
		text := a.text
		if i := strings.Index(text, token); i >= 0 && msg == tooGreat { // bash shows what it read
			text = text[:i+len(token)]
		}
		a.err = &expandError{text + ": " + msg + ` (error token is "` + token + `")`, false}
	}
	return 0
}

// malformed fails as bash does at what it cannot read: token and what follows.
func (a *arithmetic) malformed(s, token string) int64 {
	for i := 1; i < len(s); i++ {
		if s[i] == '.' && digit(s[i-1], 10) >= 0 {
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
