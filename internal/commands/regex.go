package commands

import (
	"bytes"
	"errors"
	"regexp"
	"regexp/syntax"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// pattern is a compiled regular expression of any dialect.
type pattern interface {
	// Match reports whether it matches anywhere.
	Match(b []byte) bool
	// FindAllSubmatchIndex returns up to n matches (all if n < 0) as package
	// regexp does.
	FindAllSubmatchIndex(b []byte, n int) [][]int
}

// matchTime bounds one match of an expression with backreferences or
// lookaround, which can take exponential time.
const matchTime = 2 * time.Second

// dialect says how an expression is written and what it matches.
type dialect struct {
	extended bool // ERE rather than BRE
	escapes  bool // \n, \t and others are characters, in brackets, too
	fold     bool
	lines    bool // ^ and $ match at line ends inside, too
	whole    bool // only all of the text matches
}

func compileBasic(expr string, fold bool) (pattern, error) { return dialect{fold: fold}.compile(expr) }

// compile translates a POSIX expression with GNU's extensions. It matches
// leftmost-longest unless it has backreferences.
func (d dialect) compile(expr string) (pattern, error) {
	t := translator{dialect: d, src: expr}
	if err := t.run(); err != nil {
		return nil, err
	}
	flags := "(?s"
	if d.fold {
		flags += "i"
	}
	if d.lines {
		flags += "m"
	}
	if t.literal && !d.fold && expr != "" {
		return fixed(t.text), nil
	}
	source := flags + ")" + t.out.String()
	if d.whole {
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

// fixed is an expression without special characters.
type fixed []byte

func (f fixed) Match(b []byte) bool { return bytes.Contains(b, f) }

func (f fixed) FindAllSubmatchIndex(b []byte, n int) (all [][]int) {
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

// backtracking is an expression that needs a backtracking engine.
type backtracking struct {
	re *regexp2.Regexp
	// timedOut is set when a match took too long.
	timedOut bool
}

func compileBacktracking(expr string) (pattern, error) {
	re, err := regexp2.Compile(expr, regexp2.None)
	if err != nil {
		return nil, errors.New("Invalid back reference")
	}
	re.MatchTimeout = matchTime
	return &backtracking{re: re}, nil
}

func (p *backtracking) Match(b []byte) bool {
	ok, err := p.re.MatchString(string(b))
	p.timedOut = p.timedOut || err != nil
	return ok
}

func (p *backtracking) FindAllSubmatchIndex(b []byte, n int) (all [][]int) {
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
		end = m.Index + m.Length
		all = append(all, at)
		n--
	}
	p.timedOut = p.timedOut || err != nil
	return all
}
