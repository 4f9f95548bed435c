package sed

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"coderunner/internal/commands/regex"
)

// command reads what follows a command's name.
func (p *parser) command(cmd *sedCommand) error {
	switch {
	case cmd.name == '#' && cmd.from != nil:
		return p.fail("comments don't accept any addresses")
	case cmd.name == ':' && cmd.from != nil:
		return p.fail(": doesn't want any addresses")
	case cmd.name == '}' && (cmd.from != nil || len(p.blocks) == 0):
		return p.fail("unexpected `}'")
	case cmd.to != nil && (cmd.name == 'q' || cmd.name == 'Q'):
		return p.fail("command only uses one address")
	}
	next := len(p.s.script)
	switch cmd.name {
	case '#':
		p.word("\n")
		return nil
	case '}':
		n := len(p.blocks) - 1
		p.s.script[p.blocks[n]].target = next
		p.blocks = p.blocks[:n]
		return p.end()
	case ':':
		label := strings.TrimRight(p.word("\n;"), " \t")
		if label == "" {
			return p.fail("\":\" lacks a label")
		}
		p.labels[label] = next
		return nil
	}
	p.s.script = append(p.s.script, cmd)
	switch cmd.name {
	case '{':
		p.blocks = append(p.blocks, next)
		return nil
	case 'b', 't', 'T':
		p.jumps[next] = strings.TrimRight(p.word("\n;}"), " \t")
		return p.end()
	case 'a', 'i', 'c':
		return p.insertion(cmd)
	case 'r', 'R', 'w', 'W':
		if cmd.text = p.word("\n"); cmd.text == "" {
			return p.fail("missing filename in r/R/w/W commands")
		}
		var err error
		if cmd.name == 'w' || cmd.name == 'W' {
			cmd.file, err = p.s.output(cmd.text)
		}
		return err
	case 's':
		return p.substitution(cmd)
	case 'y':
		return p.transliteration(cmd)
	case 'q', 'Q', 'l', 'L':
		p.spaces(" \t")
		cmd.number = p.number()
		return p.end()
	case 'v':
		p.word("\n;")
		return p.end()
	case 'F', 'z', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', '=':
		return p.end()
	case 'e':
		return p.fail("the command e is not available in this sandbox")
	}
	return p.fail("unknown command: `%c'", cmd.name)
}

// insertion reads the text of a, i and c.
func (p *parser) insertion(cmd *sedCommand) error {
	p.spaces(" \t")
	if p.at >= len(p.src) {
		return p.fail("expected \\ after `a', `c' or `i'")
	}
	if p.peek() == '\\' {
		p.at++
		rest := strings.TrimLeft(p.src[p.at:], " \t")
		if strings.HasPrefix(rest, "\n") {
			p.at = len(p.src) - len(rest) + 1
		} else if p.spaces(" \t"); p.at >= len(p.src) {
			return p.fail("expected \\ after `a', `c' or `i'")
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
	cmd.text = b.String()
	return nil
}

func (p *parser) transliteration(cmd *sedCommand) error {
	delim := p.peek()
	p.at++
	from, ok1 := p.until(delim, false)
	to, ok2 := p.until(delim, false)
	if !ok1 || !ok2 {
		return p.fail("unterminated `y' command")
	}
	a, b := []rune(unescape(from)), []rune(unescape(to))
	if len(a) != len(b) {
		return p.fail("strings for `y' command are different lengths")
	}
	cmd.table = map[rune]rune{}
	for i, r := range a {
		cmd.table[r] = b[i]
	}
	return p.end()
}

func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r").Replace(s)
}

// substitution reads s/expr/replacement/flags.
func (p *parser) substitution(cmd *sedCommand) error {
	delim := p.peek()
	if delim == '\n' || delim == '\\' || delim == 0 {
		return p.fail("unterminated `s' command")
	}
	p.at++
	expr, ok := p.until(delim, true)
	if !ok {
		p.at = len(p.src)
		return p.fail("unterminated `s' command")
	}
	replacement, ok := p.until(delim, false)
	if !ok {
		return p.fail("unterminated `s' command")
	}
	d := regex.Dialect{Extended: p.s.extended, Escapes: true}
	for {
		ch := p.peek()
		switch {
		case ch == 'g':
			if cmd.global {
				return p.fail("multiple `g' options to `s' command")
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
				return p.fail("number option to `s' command may not be zero")
			}
			continue
		case ch == 'e':
			return p.fail("the flag e is not available in this sandbox")
		case ch == 'w':
			p.at++
			var err error
			if cmd.file, err = p.s.output(p.word("\n")); err != nil {
				return err
			}
			return p.finishSubstitution(cmd, expr, replacement, d)
		default:
			if ch != 0 && strings.IndexByte(" \t\n;}#", ch) < 0 {
				p.at++
				return p.fail("unknown option to `s'")
			}
			if err := p.end(); err != nil {
				return err
			}
			return p.finishSubstitution(cmd, expr, replacement, d)
		}
		p.at++
	}
}

func (p *parser) finishSubstitution(cmd *sedCommand, expr, replacement string, d regex.Dialect) (err error) {
	if cmd.expr, err = p.compile(expr, d); err != nil {
		return err
	}
	groups := strings.Count(strings.ReplaceAll(expr, `\\`, ""), "(") // at least as many as there are
	if cmd.parts = parts(replacement); cmd.expr != nil {
		if n := regex.GroupCount(cmd.expr); n >= 0 {
			groups = n
		}
		for _, part := range cmd.parts {
			if part.group > groups {
				return p.fail("invalid reference \\%d on `s' command's RHS", part.group)
			}
		}
	}
	return nil
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
			case strings.IndexByte("afnrtv", next) >= 0:
				b.WriteByte("\a\f\n\r\t\v"[strings.IndexByte("afnrtv", next)])
			default:
				b.WriteByte(next)
			}
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	flush()
	return parts
}

// errSedLabel is a jump to a label that is not there.
type errSedLabel string

func (e errSedLabel) Error() string {
	return fmt.Sprintf("can't find label for jump to `%s'", string(e))
}
