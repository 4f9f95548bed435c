package system

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"unicode/utf8"

	"coderunner/internal/commands/command"
	"coderunner/internal/commands/regex"
)

// exprParser evaluates the operands of expr.
type exprParser struct {
	args  []string
	last  string // the last operand that was taken
	depth int
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
	p := &exprParser{args: args}
	v, err := p.or()
	if err == nil && len(p.args) > 0 {
		err = fmt.Errorf("syntax error: unexpected argument %s", command.Quote(p.args[0]))
	}
	if err != nil {
		return c.Die(2, "%s", err)
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
func (p *exprParser) binary(sub func() (string, error), apply func(op, a, b string) (string, error), ops ...string) (string, error) {
	a, err := sub()
	for err == nil {
		op := p.next(ops...)
		if op == "" {
			return a, nil
		}
		var b string
		if b, err = sub(); err == nil {
			a, err = apply(op, a, b)
		}
	}
	return "", err
}

func (p *exprParser) or() (string, error) {
	if p.depth++; p.depth > 500 {
		return "", errors.New("the expression is nested too deeply")
	}
	defer func() { p.depth-- }()
	return p.binary(p.and, func(_, a, b string) (string, error) {
		switch {
		case !exprNull(a):
			return a, nil
		case !exprNull(b):
			return b, nil
		}
		return "0", nil
	}, "|")
}

func (p *exprParser) and() (string, error) {
	return p.binary(p.compare, func(_, a, b string) (string, error) {
		if exprNull(a) || exprNull(b) {
			return "0", nil
		}
		return a, nil
	}, "&")
}

func (p *exprParser) compare() (string, error) {
	return p.binary(p.sum, func(op, a, b string) (string, error) {
		d := strings.Compare(a, b)
		x, ok1 := exprInt(a)
		if y, ok2 := exprInt(b); ok1 && ok2 {
			d = x.Cmp(y)
		}
		ok := map[string]bool{"<": d < 0, "<=": d <= 0, "=": d == 0, "==": d == 0, "!=": d != 0, ">=": d >= 0, ">": d > 0}[op]
		return fmt.Sprint(command.Btoi(ok)), nil
	}, "<", "<=", "=", "==", "!=", ">=", ">")
}

func exprInt(s string) (*big.Int, bool) {
	if len(s) > 10000 || strings.ContainsAny(s, "_+") {
		return nil, false
	}
	return new(big.Int).SetString(s, 10)
}

func exprArith(op, a, b string) (string, error) {
	x, ok1 := exprInt(a)
	y, ok2 := exprInt(b)
	if !ok1 || !ok2 {
		return "", errors.New("non-integer argument")
	}
	switch op {
	case "+":
		return x.Add(x, y).String(), nil
	case "-":
		return x.Sub(x, y).String(), nil
	case "*":
		return x.Mul(x, y).String(), nil
	}
	if y.Sign() == 0 {
		return "", errors.New("division by zero")
	}
	if op == "/" {
		return x.Quo(x, y).String(), nil
	}
	return x.Rem(x, y).String(), nil
}

func (p *exprParser) sum() (string, error)     { return p.binary(p.product, exprArith, "+", "-") }
func (p *exprParser) product() (string, error) { return p.binary(p.match, exprArith, "*", "/", "%") }

func (p *exprParser) match() (string, error) {
	return p.binary(p.primary, func(_, a, b string) (string, error) { return exprMatch(a, b) }, ":")
}

// exprMatch is STRING : REGEX, anchored at the start.
func exprMatch(s, source string) (string, error) {
	re, err := regex.CompileBasic("^\\("+source+"\\)", false)
	if source != "" && source[0] == '^' {
		re, err = regex.CompileBasic("^\\("+source[1:]+"\\)", false)
	}
	if err != nil {
		return "", err
	}
	groups := regex.GroupCount(re)
	found := re.FindAllSubmatchIndex([]byte(s), 1)
	switch {
	case found == nil && groups > 1:
		return "", nil
	case found == nil:
		return "0", nil
	case groups > 1:
		if found[0][4] < 0 {
			return "", nil
		}
		return s[found[0][4]:found[0][5]], nil
	}
	return fmt.Sprint(utf8.RuneCountInString(s[:found[0][1]])), nil
}

func (p *exprParser) primary() (string, error) {
	if len(p.args) == 0 {
		return "", fmt.Errorf("syntax error: missing argument after %s", command.Quote(p.last))
	}
	word := p.args[0]
	p.last = word
	p.args = p.args[1:]
	operands := map[string]int{"match": 2, "substr": 3, "index": 2, "length": 1}[word]
	switch {
	case word == "(":
		v, err := p.or()
		if err == nil && p.next(")") == "" {
			err = errors.New("syntax error: expecting ')'")
		}
		return v, err
	case word == "+" && len(p.args) > 0:
		word, p.args = p.args[0], p.args[1:]
		return word, nil
	case operands == 0 || len(p.args) == 0:
		return word, nil
	}
	var a []string
	for range operands {
		v, err := p.primary()
		if err != nil {
			return "", err
		}
		a = append(a, v)
	}
	switch word {
	case "match":
		return exprMatch(a[0], a[1])
	case "length":
		return fmt.Sprint(utf8.RuneCountInString(a[0])), nil
	case "index":
		at := strings.IndexAny(a[0], a[1])
		if at < 0 {
			return "0", nil
		}
		return fmt.Sprint(utf8.RuneCountInString(a[0][:at]) + 1), nil
	}
	from, ok1 := command.Atoi(a[1])
	n, ok2 := command.Atoi(a[2])
	runes := []rune(a[0])
	if !ok1 || !ok2 || from < 1 || n < 1 || from > len(runes) {
		return "", nil
	}
	return string(runes[from-1 : min(len(runes), from-1+n)]), nil
}
