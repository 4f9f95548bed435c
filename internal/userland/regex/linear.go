package regex

import (
	"context"
	"errors"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Limits are those of a process whose expressions are compiled and matched. The zero
// value sets none beside the sizes below.
type Limits struct {
	Ctx  context.Context       // ends long matches; nil: nothing does
	Hold func(bytes int) error // is asked for what an expression takes; nil: nobody is
}

// The sizes that are refused before an expression is translated or compiled, since
// neither looks at a context.
const (
	maxFixed   = 16 << 20  // bytes of an expression that may be without special characters
	maxSource  = 128 << 10 // bytes of a translated expression
	maxClasses = 4 << 10   // classes of Unicode's tables in it
	maxSize    = 32 << 20  // bytes of the compiled program
	maxNested  = 200       // groups in groups, repetitions of repetitions
)

var errBig = errors.New("Regular expression too big")

// fits reports whether an expression is small enough to be compiled.
func fits(source string) bool {
	return len(source) <= maxSource && strings.Count(source, `\p{`) <= maxClasses
}

// Linear is an expression that is matched in time proportional to the text.
type Linear struct {
	*regexp.Regexp
	ctx     context.Context
	states  int  // of the program, about
	anchors bool // it looks at what is around a match
}

// linear compiles an expression of package regexp.
func (l Limits) linear(source string) (*Linear, error) {
	if !fits(source) {
		return nil, errBig
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size, anchors := measure(tree)
	if size > maxSize {
		return nil, errBig
	}
	if l.Hold != nil {
		if err := l.Hold(size + len(source)); err != nil {
			return nil, err
		}
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	return &Linear{re, l.Ctx, size / instruction, anchors}, nil
}

// CompileLinear compiles an expression in the syntax of package regexp.
func (l Limits) CompileLinear(source string) (*Linear, error) { return l.linear(source) }

// Short reports whether a match in a text of n bytes takes at most seconds.
func (p *Linear) Short(n int) bool { return n*p.states <= 20*maxSteps }

// instruction is the size of an instruction of package regexp's programs.
const instruction = 40

// measure returns about how many bytes a compiled expression takes, and whether it
// has assertions. It recurses as deep as package syntax allows, a thousand levels.
func measure(re *syntax.Regexp) (size int, anchors bool) {
	size = instruction
	switch re.Op {
	case syntax.OpLiteral:
		size *= len(re.Rune)
	case syntax.OpCharClass:
		size += 4 * len(re.Rune)
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		anchors = true
	}
	for _, sub := range re.Sub {
		n, a := measure(sub)
		size, anchors = size+n, anchors || a
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return size, anchors
}

// maxSteps is how many steps a match may take that cannot be interrupted: about 0.3 s.
const maxSteps = 100_000_000

// long reports whether a match in a text has to look at the context.
func (p *Linear) long(b []byte) bool { return p.ctx != nil && len(b)*p.states > maxSteps }

// maxMatched bounds the text in which all matches are looked for at once.
const maxMatched = 2 << 20

func (p *Linear) Match(b []byte) bool {
	if p.long(b) {
		return p.MatchReader(&text{ctx: p.ctx, b: b})
	}
	return p.Regexp.Match(b)
}

func (p *Linear) FindAllSubmatchIndex(b []byte, n int) (all [][]int) {
	if !p.long(b) && (n == 1 || len(b) <= maxMatched) || p.ctx == nil || p.anchors && n != 1 && p.Short(len(b)) {
		return p.Regexp.FindAllSubmatchIndex(b, n)
	}
	for at, end := 0, -1; at <= len(b) && n != 0 && p.ctx.Err() == nil; {
		m := p.FindReaderSubmatchIndex(&text{ctx: p.ctx, b: b[at:]})
		if m == nil || at > 0 && p.anchors {
			break // assertions would take the rest for a whole text
		}
		for i := range m {
			if m[i] >= 0 {
				m[i] += at
			}
		}
		if m[1] > m[0] || m[0] != end {
			all, n = append(all, m), n-1
		}
		if at, end = m[1], m[1]; m[1] == m[0] {
			_, size := utf8.DecodeRune(b[at:])
			at += max(size, 1)
		}
	}
	return all
}

// text is a text that ends when the context does.
type text struct {
	ctx   context.Context
	b     []byte
	steps int
}

func (t *text) ReadRune() (rune, int, error) {
	if t.steps++; t.steps&0xff == 0 && t.ctx.Err() != nil || len(t.b) == 0 {
		return 0, 0, io.EOF
	}
	r, size := utf8.DecodeRune(t.b)
	t.b = t.b[size:]
	return r, size, nil
}
