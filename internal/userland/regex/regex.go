// Package regex compiles POSIX's and Perl's regular expressions.
package regex

import (
	"bytes"
	"errors"
	"regexp"
	"regexp/syntax"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// Pattern is a compiled regular expression of any dialect.
type Pattern interface {
	// Match reports whether it matches anywhere.
	Match(b []byte) bool
	// FindAllSubmatchIndex returns up to n matches (all if n < 0) as package
	// regexp does.
	FindAllSubmatchIndex(b []byte, n int) [][]int
}

// MatchTime bounds one match of an expression with backreferences or
// lookaround, which can take exponential time.
const MatchTime = 2 * time.Second

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
}

// CompileBasic compiles a basic expression, with case folded or not.
func CompileBasic(expr string, fold bool) (Pattern, error) { return Dialect{Fold: fold}.Compile(expr) }

// Compile translates a POSIX expression with GNU's extensions. It matches
// leftmost-longest unless it has backreferences.
func (d Dialect) Compile(expr string) (Pattern, error) {
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
		return Fixed(t.text), nil
	}
	source := flags + ")" + t.out.String()
	if d.Whole {
		source = flags + ")^(?:" + t.out.String() + ")$"
	}
	if t.backtracks {
		return compileBacktracking(source)
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, posixError(err)
	}
	re.Longest()
	return re, nil
}

// posixError is an error of package regexp in GNU's words.
func posixError(err error) error {
	var e *syntax.Error
	if errors.As(err, &e) {
		switch e.Code {
		case syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
			return errors.New("Regular expression too big")
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

// Backtracking is an expression that needs a backtracking engine.
type Backtracking struct {
	re   *regexp2.Regexp
	keep bool // a match begins at the group kept
	// timedOut is set when a match took too long.
	TimedOut bool
}

func compileBacktracking(expr string) (Pattern, error) {
	re, err := regexp2.Compile(expr, regexp2.None)
	if err != nil {
		return nil, errors.New("Invalid back reference")
	}
	re.MatchTimeout = MatchTime
	return &Backtracking{re: re}, nil
}

func (p *Backtracking) Match(b []byte) bool {
	ok, err := p.re.MatchString(string(b))
	p.TimedOut = p.TimedOut || err != nil
	return ok
}

func (p *Backtracking) FindAllSubmatchIndex(b []byte, n int) (all [][]int) {
	// The engine counts runes.
	offsets := make([]int, 0, len(b)+1)
	for i := 0; i < len(b); {
		offsets = append(offsets, i)
		_, size := utf8.DecodeRune(b[i:])
		i += size
	}
	offsets = append(offsets, len(b))
	m, err := p.re.FindStringMatch(string(b))
	end := -1
	for ; m != nil && err == nil && n != 0; m, err = p.re.FindNextMatch(m) {
		if m.Length == 0 && m.Index == end {
			continue
		}
		var at []int
		for _, g := range m.Groups() {
			if len(g.Captures) == 0 {
				at = append(at, -1, -1)
				continue
			}
			at = append(at, offsets[g.Index], offsets[g.Index+g.Length])
		}
		if p.keep {
			at[0] = offsets[m.GroupByName(kept).Index]
		}
		end = m.Index + m.Length
		all = append(all, at)
		n--
	}
	p.TimedOut = p.TimedOut || err != nil
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
