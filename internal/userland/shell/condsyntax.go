package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// condition reads a [[ … ]] that the parser could not, as parse_cond_command of bash's
// parse.y does, to say what that says. Nothing of it is evaluated.
type condition struct {
	text   string
	at     int    // behind token
	start  int    // of token
	token  string // the word or operator that was read last, "\n", or "" at the end
	word   bool   // token is a word and not an operator
	errors []condMessage
	failed bool
}

type condMessage struct {
	at   int
	text string
}

// conditionErrors returns what bash says of the [[ … ]] in which the parser failed, and
// where. It is unended if the text ends before its ]].
func conditionErrors(text string, pe syntax.ParseError) (messages []condMessage, unended, ok bool) {
	if !slices.ContainsFunc([]string{"test operator", "`[[`", "by an expression", "by a word", "without matching `(` with"}, func(s string) bool {
		return strings.Contains(pe.Text, s)
	}) {
		return nil, false, false
	}
	end := min(int(pe.Pos.Offset())+len("[["), len(text))
	for open := end; ; {
		if open = strings.LastIndex(text[:open], "[["); open < 0 {
			return nil, false, false
		}
		if open > 0 && !strings.ContainsAny(text[open-1:open], " \t\n;&|(!") || !strings.ContainsAny(text[open+2:min(open+3, len(text))], " \t\n") {
			continue
		}
		c := &condition{text: text, at: open + len("[[")}
		c.or()
		switch {
		case c.failed:
			return c.errors, false, true
		case c.is("]]"):
			return nil, false, false
		case c.token == "":
			return []condMessage{{open, "unexpected EOF while looking for `]]'"}}, true, true
		case c.word:
			return []condMessage{{open, "syntax error in conditional expression"}}, false, true
		}
		return []condMessage{{open, "syntax error in conditional expression: unexpected token `" + c.token + "'"}}, false, true
	}
}

// next reads a token. What no word can be parsed from ends the text.
func (c *condition) next() {
	rest := strings.TrimLeft(c.text[c.at:], " \t")
	c.start = len(c.text) - len(rest)
	c.word = false
	for _, op := range []string{"&&", "||", "<<", ">>", ";;", "|&", "&>", "\n", ";", "&", "|", "(", ")", "<", ">"} {
		if strings.HasPrefix(rest, op) && !strings.HasPrefix(rest, "<(") && !strings.HasPrefix(rest, ">(") {
			c.token, c.at = op, c.start+len(op)
			return
		}
	}
	c.token, c.at = "", len(c.text)
	for w, err := range newParser().WordsSeq(&watched{rest}) {
		if n := int(w.End().Offset()); err == nil && n > 0 {
			c.token, c.word, c.at = rest[:n], true, c.start+n
		}
		return
	}
}

// skip reads the next token that is not the end of a line.
func (c *condition) skip() {
	for c.next(); c.token == "\n"; {
		c.next()
	}
}

func (c *condition) is(token string) bool { return c.token == token }

// operand reports whether the token is a word other than the closing ]].
func (c *condition) operand() bool { return c.word && !c.is("]]") }

// shown returns the token as bash names it, "" for a word, which it does not.
func (c *condition) shown() string {
	switch {
	case c.operand():
		return ""
	case c.is("\n"):
		return "newline"
	}
	return c.token
}

// fail notes an error of which %s is the token; without a token it is the other text.
func (c *condition) fail(at int, with, without string) {
	if !c.failed && c.shown() != "" {
		without = strings.ReplaceAll(with, "%s", c.shown())
	}
	c.failed = true
	if without != "" {
		c.errors = append(c.errors, condMessage{at, without})
	}
}

func (c *condition) or() {
	if c.and(); c.is("||") && !c.failed {
		c.or()
	}
}

func (c *condition) and() {
	if c.term(); c.is("&&") && !c.failed {
		c.and()
	}
}

func (c *condition) term() {
	c.skip()
	switch {
	case c.is("]]"):
		c.failed = true
	case c.is("("):
		at := c.start
		if c.or(); c.failed || !c.is(")") {
			c.fail(at, "unexpected token `%s', expected `)'", "expected `)'")
			return
		}
		c.skip()
	case c.word && c.is("!"):
		c.term()
	case c.word && len(c.token) == 2 && c.token[0] == '-' && strings.Contains("abcdefghknoprstuvwxzGLNORS", c.token[1:]):
		c.argument("unary")
	case c.word:
		c.next()
		switch {
		case c.is("]]"), c.is("&&"), c.is("||"), c.is(")"):
			return
		case !c.is("<") && !c.is(">") && !(c.word && slices.Contains(conditionOperators, c.token)):
			c.fail(c.start, "unexpected token `%s', conditional binary operator expected", "conditional binary operator expected")
			return
		}
		c.argument("binary")
	default:
		c.fail(c.start, "unexpected token `%s' in conditional command", "unexpected token 304 in conditional command")
	}
}

var conditionOperators = strings.Fields("= == != =~ -eq -ne -lt -le -gt -ge -nt -ot -ef")

// argument reads the last operand of an operator, and what follows it.
func (c *condition) argument(kind string) {
	if c.next(); !c.operand() {
		c.fail(c.start, "unexpected argument `%s' to conditional "+kind+" operator", "unexpected argument to conditional "+kind+" operator")
		return
	}
	c.skip()
}
