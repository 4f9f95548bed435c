// Package regex compiles POSIX's and Perl's regular expressions.
package regex

import (
	"bytes"
	"errors"
	"regexp/syntax"
)

// Pattern is a compiled regular expression of any dialect.
type Pattern interface {
	// Match reports whether it matches anywhere.
	Match(b []byte) bool
	// FindAllSubmatchIndex returns up to n matches (all if n < 0) as package
	// regexp does.
	FindAllSubmatchIndex(b []byte, n int) [][]int
}

// Dialect is how an expression is written and what it matches.
type Dialect struct {
	Extended bool // ERE rather than BRE
	Escapes  bool // \n, \t, \x1B and others are characters, in brackets, too
	Octal    bool // of these \033, which is no backreference
	Fold     bool
	Lines    bool // ^ and $ match at line ends inside, too
	Whole    bool // only all of the text matches
	Strict   bool // as regcomp reads an ERE: *a and a{x} are errors, a lone ) is itself
	// Warn is called for a repetition of nothing, which an ERE ignores.
	Warn func(operator string)
	Limits
}

// CompileBasic compiles a basic expression, with case folded or not.
func CompileBasic(expr string, fold bool, l Limits) (Pattern, error) {
	return Dialect{Fold: fold, Limits: l}.Compile(expr)
}

// Compile translates a POSIX expression with GNU's extensions. It matches
// leftmost-longest unless it has backreferences.
func (d Dialect) Compile(expr string) (Pattern, error) {
	if len(expr) > maxFixed {
		return nil, errBig
	}
	t := translator{Dialect: d, src: expr}
	if err := t.run(); err != nil {
		return nil, err
	}
	flags := "(?s"
	if d.Fold {
		flags += "i"
	}
	if d.Lines {
		flags += "m"
	}
	if t.literal && !d.Fold && expr != "" {
		return Fixed(t.text.String()), nil
	}
	source := flags + ")" + t.out.String()
	if d.Whole {
		source = flags + ")^(?:" + t.out.String() + ")$"
	}
	if t.backtracks {
		re, err := d.backtracking(source)
		if err != nil && err != errBig {
			err = errors.New("Invalid back reference")
		}
		return re, err
	}
	re, err := d.linear(source)
	if err != nil {
		return nil, posixError(err)
	}
	re.Longest()
	return re, nil
}

// posixError is an error of package regexp in GNU's words.
func posixError(err error) error {
	if err == errBig {
		return err
	}
	var e *syntax.Error
	if errors.As(err, &e) {
		switch e.Code {
		case syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
			return errBig
		case syntax.ErrInvalidCharRange:
			return errors.New("Invalid range end")
		case syntax.ErrMissingParen:
			return errors.New(`Unmatched ( or \(`)
		case syntax.ErrUnexpectedParen:
			return errors.New(`Unmatched ) or \)`)
		case syntax.ErrMissingRepeatArgument:
			return errors.New("Invalid preceding regular expression")
		}
	}
	return errors.New("Invalid regular expression")
}

// Fixed is an expression without special characters.
type Fixed []byte

func (f Fixed) Match(b []byte) bool { return bytes.Contains(b, f) }

func (f Fixed) FindAllSubmatchIndex(b []byte, n int) (all [][]int) {
	for at := 0; n != 0; n-- {
		i := bytes.Index(b[at:], f)
		if i < 0 {
			break
		}
		all = append(all, []int{at + i, at + i + len(f)})
		at += i + len(f)
	}
	return all
}

// GroupCount is the number of groups of a pattern.
func GroupCount(p Pattern) int {
	switch p := p.(type) {
	case interface{ NumSubexp() int }:
		return p.NumSubexp()
	case *Backtracking:
		return len(p.re.GetGroupNumbers()) - 1
	}
	return 0
}
