package regex

import (
	"errors"
	"strings"
)

// CompilePerl compiles an expression of grep -P: by package regexp if that
// knows all of it, else by a backtracking engine.
func CompilePerl(expr string, fold bool, l Limits) (Pattern, error) {
	if len(expr) > maxSource {
		return nil, errBig
	}
	flags := "(?m)"
	if fold {
		flags = "(?mi)"
	}
	expr = perlSpaces(expr)
	re, err := l.linear(flags + expr)
	if err == nil {
		return re, nil
	} else if err == errBig {
		return nil, err
	}
	at := topLevel(expr, `\K`)
	if at >= 0 {
		expr = "(?:" + expr[:at] + ")(?<" + kept + ">)" + expr[at+2:]
	}
	p, err := l.backtracking(flags + expr)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	p.keep = at >= 0
	return p, nil
}

// kept is the group that stands for \K: the match begins there.
const kept = "kept__"

// perlSpaces writes \h, \R and \N as classes, which both engines know.
func perlSpaces(expr string) string {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(expr); i++ {
		if expr[i] == '\\' && i+1 < len(expr) {
			i++
			switch {
			case expr[i] == 'h' && inClass:
				b.WriteString(` \t`)
			case expr[i] == 'h':
				b.WriteString(`[ \t]`)
			case expr[i] == 'R' && !inClass:
				b.WriteString(`(?:\r\n|[\n\v\f\r])`)
			case expr[i] == 'N' && !inClass:
				b.WriteString(`[^\n]`)
			default:
				b.WriteString(expr[i-1 : i+1])
			}
			continue
		}
		switch expr[i] {
		case '[':
			inClass = true
		case ']':
			inClass = false
		}
		b.WriteByte(expr[i])
	}
	return b.String()
}

// topLevel returns where sub is outside of groups, or -1.
func topLevel(expr, sub string) int {
	depth := 0
	for i := 0; i < len(expr); i++ {
		switch {
		case depth == 0 && strings.HasPrefix(expr[i:], sub):
			return i
		case expr[i] == '\\':
			i++
		case expr[i] == '(':
			depth++
		case expr[i] == ')':
			depth--
		}
	}
	return -1
}
