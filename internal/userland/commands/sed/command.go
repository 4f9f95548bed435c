package sed

import (
	"strings"
	"unicode/utf8"

	"coderunner/internal/userland/regex"
)

// command reads what follows a command's name.
func (p *parser) command(cmd *instruction) {
	switch {
	case p.renames && (cmd.name != 's' || cmd.from != nil):
		p.fail("only s/expression/replacement/ changes names")
	case cmd.name == '#' && cmd.from != nil:
		p.fail("comments don't accept any addresses")
	case cmd.name == ':' && cmd.from != nil:
		p.fail(": doesn't want any addresses")
	case cmd.name == '}' && (cmd.from != nil || len(p.blocks) == 0):
		p.fail("unexpected `}'")
	case cmd.to != nil && (cmd.name == 'q' || cmd.name == 'Q'):
		p.fail("command only uses one address")
	}
	if p.mark(cmd.name) {
		return
	}
	next := len(p.s.script)
	p.s.script = append(p.s.script, cmd)
	switch cmd.name {
	case '{':
		p.blocks = append(p.blocks, next)
		return
	case 'a', 'i', 'c':
		p.insertion(cmd)
		return
	case 'r', 'R', 'w', 'W':
		if cmd.text = p.word("\n"); cmd.text == "" {
			p.fail("missing filename in r/R/w/W commands")
		}
		if cmd.name == 'w' || cmd.name == 'W' {
			cmd.file = p.s.output(cmd.text)
		}
		return
	case 's':
		p.substitution(cmd)
		return
	case 'y':
		p.transliteration(cmd)
	case 'b', 't', 'T':
		p.jumps[next] = strings.TrimRight(p.word("\n;}"), " \t")
	case 'q', 'Q', 'l', 'L':
		p.spaces(" \t")
		cmd.number = p.number()
	case 'v':
		p.word("\n;")
	case 'F', 'z', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', '=':
	case 'e':
		p.fail("the command e is not available in this sandbox")
	default:
		p.fail("unknown command: `%c'", cmd.name)
	}
	p.end()
}

// mark reads what stands in a script and does nothing by itself: comments, labels
// and ends of blocks.
func (p *parser) mark(name byte) bool {
	next := len(p.s.script)
	switch name {
	case '#':
		p.word("\n")
	case '}':
		n := len(p.blocks) - 1
		p.s.script[p.blocks[n]].target = next
		p.blocks = p.blocks[:n]
		p.end()
	case ':':
		label := strings.TrimRight(p.word("\n;"), " \t")
		if label == "" {
			p.fail("\":\" lacks a label")
		}
		p.labels[label] = next
	default:
		return false
	}
	return true
}

// insertion reads the text of a, i and c.
func (p *parser) insertion(cmd *instruction) {
	p.spaces(" \t")
	if p.at >= len(p.src) {
		p.fail("expected \\ after `a', `c' or `i'")
	}
	if p.peek() == '\\' {
		if p.at++; p.peek() == '\n' {
			p.at++
		}
		if p.at >= len(p.src) {
			return // no text: "$a\" only ends the last line
		}
	}
	var b strings.Builder
	for ; p.at < len(p.src) && p.src[p.at] != '\n'; p.at++ {
		if p.src[p.at] == '\\' && p.at+1 < len(p.src) {
			p.at++
			if p.src[p.at] == 't' {
				b.WriteByte('\t')
				continue
			}
		}
		b.WriteByte(p.src[p.at])
	}
	p.at++
	cmd.text = b.String() + "\n"
}

func (p *parser) transliteration(cmd *instruction) {
	delim := p.peek()
	p.at++
	from, ok1 := p.until(delim, false)
	to, ok2 := p.until(delim, false)
	if !ok1 || !ok2 {
		p.fail("unterminated `y' command")
	}
	a, b := []rune(unescape(from)), []rune(unescape(to))
	if len(a) != len(b) {
		p.fail("strings for `y' command are different lengths")
	}
	cmd.table = map[rune]rune{}
	for i, r := range a {
		cmd.table[r] = b[i]
	}
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			text, n := escape(s[i+1:])
			b.WriteString(text)
			i += n
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// escape returns what the letters behind a backslash stand for, and how many they are.
func escape(s string) (text string, n int) {
	if at := strings.IndexByte("afnrtv", s[0]); at >= 0 {
		return "\a\f\n\r\t\v"[at : at+1], 1
	}
	if text, n := (regex.Dialect{}).Character(s); n > 0 {
		return text, n
	}
	return s[:1], 1
}

// substitution reads s/expr/replacement/flags.
func (p *parser) substitution(cmd *instruction) {
	delim := p.peek()
	if delim == '\n' || delim == '\\' || delim == 0 {
		p.fail("unterminated `s' command")
	}
	p.at++
	expr, ok := p.until(delim, true)
	if !ok {
		p.at = len(p.src)
		p.fail("unterminated `s' command")
	}
	replacement, ok := p.until(delim, false)
	if !ok {
		p.fail("unterminated `s' command")
	}
	d := regex.Dialect{Limits: p.s.c.Limits(), Extended: p.s.extended, Escapes: true}
	for {
		ch := p.peek()
		switch {
		case p.renames && ch == 'x':
			d.Extended = true
		case p.renames && ch != 0 && strings.IndexByte("rRsShH", ch) >= 0:
		case p.renames && ch != 0 && strings.IndexByte("pew", ch) >= 0:
			p.fail("unknown option to `s'")
		case ch == 'g':
			if cmd.global {
				p.fail("multiple `g' options to `s' command")
			}
			cmd.global = true
		case ch == 'p':
			cmd.show++
		case ch == 'i' || ch == 'I':
			d.Fold = true
		case ch == 'm' || ch == 'M':
			d.Lines = true
		case ch >= '0' && ch <= '9':
			if cmd.nth = p.number(); cmd.nth == 0 {
				p.fail("number option to `s' command may not be zero")
			}
			continue
		case ch == 'e':
			p.fail("the flag e is not available in this sandbox")
		case ch == 'w':
			p.at++
			cmd.file = p.s.output(p.word("\n"))
			p.finishSubstitution(cmd, expr, replacement, d)
			return
		default:
			if ch != 0 && strings.IndexByte(" \t\n;}#", ch) < 0 {
				p.at++
				p.fail("unknown option to `s'")
			}
			p.end()
			p.finishSubstitution(cmd, expr, replacement, d)
			return
		}
		p.at++
	}
}

func (p *parser) finishSubstitution(cmd *instruction, expr, replacement string, d regex.Dialect) {
	cmd.expr = p.compile(expr, d)
	groups := strings.Count(strings.ReplaceAll(expr, `\\`, ""), "(") // at least as many as there are
	if cmd.parts = parts(replacement); cmd.expr != nil {
		if n := regex.GroupCount(cmd.expr); n >= 0 {
			groups = n
		}
		for _, part := range cmd.parts {
			if part.group > groups {
				p.fail("invalid reference \\%d on `s' command's RHS", part.group)
			}
		}
	}
}

// parts splits a replacement.
func parts(s string) (parts []part) {
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			parts = append(parts, part{text: b.String(), group: -1})
			b.Reset()
		}
	}
	for i := 0; i < len(s); {
		ch, size := utf8.DecodeRuneInString(s[i:])
		if ch == '&' {
			flush()
			parts = append(parts, part{group: 0})
		} else if ch == '\\' && i+1 < len(s) {
			i++
			switch next := s[i]; {
			case next >= '0' && next <= '9':
				flush()
				parts = append(parts, part{group: int(next - '0')})
			case strings.IndexByte("ULulE", next) >= 0:
				flush()
				parts = append(parts, part{group: -1, shift: next})
			default:
				text, n := escape(s[i:])
				b.WriteString(text)
				size = n
			}
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	flush()
	return parts
}
