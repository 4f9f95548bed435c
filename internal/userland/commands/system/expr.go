package system

import (
	"fmt"
	"math/big"
	"strings"
	"unicode/utf8"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// exprParser evaluates the operands of expr. A mistake ends the command.
type exprParser struct {
	c    *command.Call
	args []string
	last string // the last operand that was taken
}

// Expr evaluates an expression.
func Expr(c *command.Call) int {
	args := c.Args
	if len(args) == 1 && (args[0] == "--help" || args[0] == "--version") {
		c.About(args[0][2:])
		return 0
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return c.Usage(2, "missing operand")
	}
	p := &exprParser{c: c, args: args}
	v := p.or()
	if len(p.args) > 0 {
		return c.Die(2, "syntax error: unexpected argument %s", command.Quote(p.args[0]))
	}
	c.Print(v + "\n")
	if exprNull(v) {
		return 1
	}
	return 0
}

func exprNull(v string) bool {
	return v == "" || strings.Trim(strings.TrimPrefix(v, "-"), "0") == "" && v != "-"
}

func (p *exprParser) next(words ...string) string {
	if len(p.args) > 0 {
		for _, w := range words {
			if p.args[0] == w {
				p.args, p.last = p.args[1:], w
				return w
			}
		}
	}
	return ""
}

// binary parses a level of left-associative operators.
func (p *exprParser) binary(sub func() string, apply func(op, a, b string) string, ops ...string) string {
	a := sub()
	for op := p.next(ops...); op != ""; op = p.next(ops...) {
		a = apply(op, a, sub())
	}
	return a
}

func (p *exprParser) or() string {
	return p.binary(p.and, func(_, a, b string) string {
		switch {
		case !exprNull(a):
			return a
		case !exprNull(b):
			return b
		}
		return "0"
	}, "|")
}

func (p *exprParser) and() string {
	return p.binary(p.compare, func(_, a, b string) string {
		if exprNull(a) || exprNull(b) {
			return "0"
		}
		return a
	}, "&")
}

func (p *exprParser) compare() string {
	return p.binary(p.sum, func(op, a, b string) string {
		d := strings.Compare(a, b)
		x, ok1 := exprInt(a)
		if y, ok2 := exprInt(b); ok1 && ok2 {
			d = x.Cmp(y)
		}
		ok := map[string]bool{"<": d < 0, "<=": d <= 0, "=": d == 0, "==": d == 0, "!=": d != 0, ">=": d >= 0, ">": d > 0}[op]
		return fmt.Sprint(command.Btoi(ok))
	}, "<", "<=", "=", "==", "!=", ">=", ">")
}

func exprInt(s string) (*big.Int, bool) {
	if len(s) > 10000 || strings.ContainsAny(s, "_+") {
		return nil, false
	}
	return new(big.Int).SetString(s, 10)
}

func (p *exprParser) arith(op, a, b string) string {
	x, ok1 := exprInt(a)
	y, ok2 := exprInt(b)
	if !ok1 || !ok2 {
		p.c.Exit(2, "non-integer argument")
	}
	switch op {
	case "+":
		return x.Add(x, y).String()
	case "-":
		return x.Sub(x, y).String()
	case "*":
		return x.Mul(x, y).String()
	}
	if y.Sign() == 0 {
		p.c.Exit(2, "division by zero")
	}
	if op == "/" {
		return x.Quo(x, y).String()
	}
	return x.Rem(x, y).String()
}

func (p *exprParser) sum() string     { return p.binary(p.product, p.arith, "+", "-") }
func (p *exprParser) product() string { return p.binary(p.match, p.arith, "*", "/", "%") }

func (p *exprParser) match() string {
	return p.binary(p.primary, func(_, a, b string) string { return p.matching(a, b) }, ":")
}

// matching is STRING : REGEX, anchored at the start.
func (p *exprParser) matching(s, source string) string {
	re, err := regex.CompileBasic("^\\("+source+"\\)", false, p.c.Limits())
	if source != "" && source[0] == '^' {
		re, err = regex.CompileBasic("^\\("+source[1:]+"\\)", false, p.c.Limits())
	}
	if err != nil {
		p.c.Exit(2, "%s", err)
	}
	groups := regex.GroupCount(re)
	found := re.FindAllSubmatchIndex([]byte(s), 1)
	switch {
	case found == nil && groups > 1:
		return ""
	case found == nil:
		return "0"
	case groups > 1:
		if found[0][4] < 0 {
			return ""
		}
		return s[found[0][4]:found[0][5]]
	}
	return fmt.Sprint(utf8.RuneCountInString(s[:found[0][1]]))
}

// exprFrame is what a level of the parser's recursion takes of the stack, twice.
const exprFrame = 4 << 10

func (p *exprParser) primary() string {
	if err := p.c.Enter(exprFrame); err != nil {
		p.c.Exit(2, "the expression is %s", err)
	}
	defer p.c.Leave(exprFrame)
	if len(p.args) == 0 {
		p.c.Exit(2, "syntax error: missing argument after %s", command.Quote(p.last))
	}
	word := p.args[0]
	p.last = word
	p.args = p.args[1:]
	operands := map[string]int{"match": 2, "substr": 3, "index": 2, "length": 1}[word]
	switch {
	case word == "(":
		v := p.or()
		if p.next(")") == "" {
			p.c.Exit(2, "syntax error: expecting ')'")
		}
		return v
	case word == "+" && len(p.args) > 0:
		word, p.args = p.args[0], p.args[1:]
		return word
	case operands == 0 || len(p.args) == 0:
		return word
	}
	var a []string
	for range operands {
		a = append(a, p.primary())
	}
	switch word {
	case "match":
		return p.matching(a[0], a[1])
	case "length":
		return fmt.Sprint(utf8.RuneCountInString(a[0]))
	case "index":
		at := strings.IndexAny(a[0], a[1])
		if at < 0 {
			return "0"
		}
		return fmt.Sprint(utf8.RuneCountInString(a[0][:at]) + 1)
	}
	from, ok1 := command.Atoi(a[1])
	n, ok2 := command.Atoi(a[2])
	runes := []rune(a[0])
	if !ok1 || !ok2 || from < 1 || n < 1 || from > len(runes) {
		return ""
	}
	return string(runes[from-1 : min(len(runes), from-1+n)])
}
