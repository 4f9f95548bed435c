package sed

import (
	"fmt"
	"strings"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// piece is a piece of a script and what errors call it.
type piece struct{ text, name string }

// maxInstructions bounds a script.
const maxInstructions = 100_000

// parser parses scripts.
type parser struct {
	s      *editor
	src    string
	at     int
	name   string
	blocks []int
	labels map[string]int
	jumps  map[int]string

	renames bool // the script is tar's
}

// fail ends sed with a mistake in the script.
func (p *parser) fail(format string, args ...any) {
	where := fmt.Sprintf("%s, char %d", p.name, p.at)
	if strings.HasPrefix(p.name, "file ") {
		where = fmt.Sprintf("%s line %d", p.name, 1+strings.Count(p.src[:min(p.at, len(p.src))], "\n"))
	}
	p.s.c.Exit(1+command.Btoi(p.renames), "%s: %s", where, fmt.Sprintf(format, args...))
}

// parse parses all pieces. A text or a group may go on in the next one.
func (p *parser) parse(sources []piece) {
	p.labels, p.jumps = map[string]int{}, map[int]string{}
	for i := 0; i < len(sources); i++ {
		p.src, p.name, p.at = sources[i].text, sources[i].name, 0
		// "a\" ends one -e and its text is the next.
		for strings.HasSuffix(p.src, `\`) && i+1 < len(sources) {
			i++
			p.src += "\n" + sources[i].text
		}
		if i == 0 && (p.src == "#n" || strings.HasPrefix(p.src, "#n\n")) {
			p.s.quiet = true
		}
		p.commands()
	}
	if len(p.blocks) > 0 {
		p.name, p.at = "-e expression #1", 0
		p.fail("unmatched `{'")
	}
	for i, label := range p.jumps {
		target, ok := p.labels[label]
		switch {
		case label == "":
			target = len(p.s.script)
		case !ok:
			p.s.c.Exit(4, "can't find label for jump to `%s'", label)
		}
		p.s.script[i].target = target
	}
}

func (p *parser) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

func (p *parser) spaces(set string) {
	for p.at < len(p.src) && strings.IndexByte(set, p.src[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) commands() {
	for {
		p.spaces(" \t\n;")
		if p.at >= len(p.src) {
			return
		}
		if len(p.s.script) >= maxInstructions {
			p.fail("script is too long")
		}
		cmd := &instruction{}
		if cmd.from = p.address(); cmd.from != nil {
			p.spaces(" \t")
			if p.peek() == ',' {
				p.at++
				p.spaces(" \t")
				if cmd.to = p.address(); cmd.to == nil {
					p.fail("unexpected `,'")
				}
			}
			if cmd.from.kind == 'n' && cmd.from.n == 0 && (cmd.to == nil || cmd.to.kind != '/') {
				p.fail("invalid usage of line address 0")
			}
		}
		p.spaces(" \t")
		for p.peek() == '!' {
			p.at++
			cmd.not = true
			p.spaces(" \t")
		}
		if p.at >= len(p.src) {
			p.fail("missing command")
		}
		cmd.name = p.src[p.at]
		p.at++
		p.command(cmd)
	}
}

// address parses one address; nil if there is none.
func (p *parser) address() *address {
	ch := p.peek()
	switch {
	case ch >= '0' && ch <= '9':
		a := &address{kind: 'n', n: p.number()}
		if p.peek() == '~' {
			p.at++
			a.kind, a.step = '~', p.number()
		}
		return a
	case ch == '+' || ch == '~':
		if p.at+1 < len(p.src) && p.src[p.at+1] >= '0' && p.src[p.at+1] <= '9' {
			p.at++
			kind := byte('+')
			if ch == '~' {
				kind = 'm'
			}
			return &address{kind: kind, n: p.number()}
		}
	case ch == '$':
		p.at++
		return &address{kind: '$'}
	case ch == '/' || ch == '\\':
		p.at++
		if ch == '\\' {
			ch = p.peek()
			p.at++
		}
		expr, ok := p.until(ch, true)
		if !ok {
			p.at = len(p.src)
			p.fail("unterminated address regex")
		}
		d := regex.Dialect{Limits: p.s.c.Limits(), Extended: p.s.extended, Escapes: true}
		for ; p.peek() == 'I' || p.peek() == 'M'; p.at++ {
			d.Fold, d.Lines = d.Fold || p.peek() == 'I', d.Lines || p.peek() == 'M'
		}
		return &address{kind: '/', expr: p.compile(expr, d)}
	}
	return nil
}

// compile compiles an expression; an empty one is nil, the last one used.
func (p *parser) compile(expr string, d regex.Dialect) regex.Pattern {
	if expr == "" {
		return nil
	}
	re, err := d.Compile(expr)
	if err != nil {
		p.fail("%s", err)
	}
	return re
}

func (p *parser) number() int {
	n := 0
	for ; p.peek() >= '0' && p.peek() <= '9'; p.at++ {
		n = min(n*10+int(p.src[p.at]-'0'), 1<<40)
	}
	return n
}

// until reads up to a delimiter that is not escaped. An escaped delimiter is what it is
// without the backslash: in s+a\++b+ a plain plus, with -E an operator.
func (p *parser) until(delim byte, expr bool) (string, bool) {
	var b strings.Builder
	unclosed := false
	for ; p.at < len(p.src); p.at++ {
		ch := p.src[p.at]
		switch {
		case ch == '\\' && p.at+1 < len(p.src):
			p.at++
			next := p.src[p.at]
			if next == delim {
				if !expr && delim == '&' {
					b.WriteByte('\\')
				}
				b.WriteByte(next)
			} else if next == 'n' && expr {
				b.WriteByte('\n')
			} else {
				b.WriteByte('\\')
				b.WriteByte(next)
			}
			continue
		case ch == delim:
			p.at++
			return b.String(), true
		case ch == '\n' && expr:
			return "", false
		case ch == '[' && expr && !unclosed:
			if n := regex.BracketLen(p.src[p.at:], false); n > 0 {
				b.WriteString(p.src[p.at : p.at+n])
				p.at += n - 1
				continue
			}
			unclosed = true
		}
		b.WriteByte(ch)
	}
	return b.String(), false
}

// end checks that nothing follows a command.
func (p *parser) end() {
	p.spaces(" \t")
	switch p.peek() {
	case '\n', ';':
		p.at++
	case 0, '}', '#':
	default:
		p.at++
		p.fail("extra characters after command")
	}
}

// word reads a label or a file name.
func (p *parser) word(stop string) string {
	p.spaces(" \t")
	rest := p.src[p.at:]
	if at := strings.IndexAny(rest, stop); at >= 0 {
		rest = rest[:at]
	}
	p.at += len(rest)
	return rest
}
