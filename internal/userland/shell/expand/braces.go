package expand

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// sequence expands {1..9}, {a..z}, {01..10} and {9..1..-2}.
func (ex *Expander) sequence(br *syntax.BraceExp, rest, left []syntax.WordPart, out *[]*syntax.Word) {
	first, last := br.Elems[0].Lit(), br.Elems[1].Lit()
	from, err1 := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	letters := err1 != nil || err2 != nil
	if letters {
		from, to = int64(first[0]), int64(last[0])
	}
	width := 0
	if !letters && (padded(first) || padded(last)) {
		width = max(len(first), len(last))
	}
	step := int64(1)
	if len(br.Elems) > 2 {
		if n, _ := strconv.ParseInt(br.Elems[2].Lit(), 10, 64); n < 0 && n != -n {
			step = -n
		} else if n > 0 {
			step = n
		}
	}
	for n := from; !ex.host.Stopped(); {
		s := strconv.FormatInt(n, 10)
		if letters {
			s = string(rune(n))
			if s == `\` {
				s = `\\`
			}
		} else if width > 0 {
			s = fmt.Sprintf("%0*d", width, n)
		}
		ex.brace(append([]syntax.WordPart{&syntax.Lit{Value: s}}, rest...), left, out)
		distance := uint64(to) - uint64(n)
		if from > to {
			distance = uint64(n) - uint64(to)
		}
		if uint64(step) > distance {
			return
		}
		if from > to {
			n -= step
		} else {
			n += step
		}
	}
}

func padded(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return len(s) > 1 && s[0] == '0'
}

// braces returns the words that a word's braces stand for, the word itself
// without any.
func (ex *Expander) braces(w *syntax.Word) []*syntax.Word {
	if ex.opts.Nobrace || !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		lit, ok := p.(*syntax.Lit)
		return ok && strings.Contains(lit.Value, "{")
	}) {
		return []*syntax.Word{w}
	}
	c := &syntax.Word{Parts: slices.Clone(w.Parts)} // the syntax tree is shared
	if !syntax.SplitBraces(c) {
		return []*syntax.Word{w}
	}
	var out []*syntax.Word
	ex.brace(c.Parts, nil, &out)
	return out
}

// maxBraces bounds the words that the braces of one word stand for.
const maxBraces = 1 << 20

// brace adds to out the words of parts, each behind left.
func (ex *Expander) brace(parts, left []syntax.WordPart, out *[]*syntax.Word) {
	for i, p := range parts {
		br, ok := p.(*syntax.BraceExp)
		if !ok {
			left = append(slices.Clip(left), p)
			continue
		}
		rest := parts[i+1:]
		if br.Sequence {
			ex.sequence(br, rest, left, out)
			return
		}
		size := 16 * int64(len(rest)+len(left)) // of the copies below
		if !ex.Stack().Enter(frame) || !ex.vars.Room(size) {
			ex.host.Exhausted(fmt.Errorf("brace expansion: %w", parse.ErrNesting))
			return
		}
		for _, e := range br.Elems {
			if !ex.host.Stopped() {
				ex.brace(slices.Concat(e.Parts, rest), left, out)
			}
		}
		ex.vars.Transient -= size
		ex.Stack().Leave(frame)
		return
	}
	if len(*out) >= maxBraces || !ex.vars.Room(6*vars.ElementCost) {
		ex.host.Exhausted(fmt.Errorf("brace expansion: more than %d words, or more than the memory limit", maxBraces))
		return
	}
	*out = append(*out, &syntax.Word{Parts: joined(left)})
}

// joined joins the texts that a tilde begins, which is expanded after the braces.
func joined(parts []syntax.WordPart) []syntax.WordPart {
	if len(parts) < 2 {
		return parts
	}
	first, ok := parts[0].(*syntax.Lit)
	for ok && strings.HasPrefix(first.Value, "~") && len(parts) > 1 {
		next, is := parts[1].(*syntax.Lit)
		if !is {
			break
		}
		first = &syntax.Lit{Value: first.Value + next.Value}
		parts = append([]syntax.WordPart{first}, parts[2:]...)
	}
	return parts
}
