package regex

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// MatchTime bounds one match of an expression with backreferences or
// lookaround, which can take exponential time.
const MatchTime = time.Second

// maxText bounds the text that such an expression is matched with: the engine takes
// many times its size.
const maxText = 4 << 20

// Backtracking is an expression that needs a backtracking engine.
type Backtracking struct {
	re   *regexp2.Regexp
	ctx  context.Context
	keep bool // a match begins at the group kept
	// TimedOut is set when a match took too long, or the text is too long.
	TimedOut bool
}

// backtracking compiles an expression of package regexp2.
func (l Limits) backtracking(source string) (*Backtracking, error) {
	if !fits(source) || nesting(source) > maxNested {
		return nil, errBig
	}
	re, err := regexp2.Compile(source, regexp2.None)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = MatchTime
	return &Backtracking{re: re, ctx: l.Ctx}, nil
}

// nesting returns how many groups of an expression are open at once at most.
func nesting(source string) (most int) {
	depth := 0
	for i := 0; i < len(source); i++ {
		switch source[i] {
		case '\\':
			i++
		case '(':
			depth++
			most = max(most, depth)
		case ')':
			depth = max(depth-1, 0)
		}
	}
	return most
}

// refuses reports whether a text is not to be matched.
func (p *Backtracking) refuses(b []byte) bool {
	p.TimedOut = p.TimedOut || len(b) > maxText
	return len(b) > maxText || p.ctx != nil && p.ctx.Err() != nil
}

func (p *Backtracking) Match(b []byte) bool {
	if p.refuses(b) {
		return false
	}
	ok, err := p.re.MatchString(string(b))
	p.TimedOut = p.TimedOut || err != nil
	return ok
}

func (p *Backtracking) FindAllSubmatchIndex(b []byte, n int) (all [][]int) {
	if p.refuses(b) {
		return nil
	}
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
	for ; m != nil && err == nil && n != 0 && !p.refuses(b); m, err = p.re.FindNextMatch(m) {
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
