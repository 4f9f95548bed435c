package commands

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// sedSource is a piece of a script and what errors call it.
type sedSource struct{ text, name string }

// maxSedCommands bounds a script.
const maxSedCommands = 100_000

// sedParser parses scripts.
type sedParser struct {
	s      *sedEditor
	src    string
	at     int
	name   string
	blocks []int
	labels map[string]int
	jumps  map[int]string
}

// sedError is a mistake in a script.
type sedError struct{ where, what string }

func (e *sedError) Error() string { return e.where + ": " + e.what }

func (p *sedParser) fail(format string, args ...any) error {
	where := fmt.Sprintf("%s, char %d", p.name, p.at)
	if strings.HasPrefix(p.name, "file ") {
		where = fmt.Sprintf("%s line %d", p.name, 1+strings.Count(p.src[:min(p.at, len(p.src))], "\n"))
	}
	return &sedError{where, fmt.Sprintf(format, args...)}
}

// parse parses all pieces. A text or a group may go on in the next one.
func (p *sedParser) parse(sources []sedSource) error {
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
		if err := p.commands(); err != nil {
			return err
		}
	}
	if len(p.blocks) > 0 {
		p.name, p.at = "-e expression #1", 0
		return p.fail("unmatched `{'")
	}
	for i, label := range p.jumps {
		target, ok := p.labels[label]
		switch {
		case label == "":
			target = len(p.s.script)
		case !ok:
			return errSedLabel(label)
		}
		p.s.script[i].target = target
	}
	return nil
}

func (p *sedParser) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

func (p *sedParser) spaces(set string) {
	for p.at < len(p.src) && strings.IndexByte(set, p.src[p.at]) >= 0 {
		p.at++
	}
}

func (p *sedParser) commands() error {
	for {
		p.spaces(" \t\n;")
		if p.at >= len(p.src) {
			return nil
		}
		if len(p.s.script) >= maxSedCommands {
			return p.fail("script is too long")
		}
		cmd := &sedCommand{}
		var err error
		if cmd.from, err = p.address(); err != nil {
			return err
		}
		if cmd.from != nil {
			p.spaces(" \t")
			if p.peek() == ',' {
				p.at++
				p.spaces(" \t")
				if cmd.to, err = p.address(); err != nil {
					return err
				}
				if cmd.to == nil {
					return p.fail("unexpected `,'")
				}
			}
			if cmd.from.kind == 'n' && cmd.from.n == 0 && (cmd.to == nil || cmd.to.kind != '/') {
				return p.fail("invalid usage of line address 0")
			}
		}
		p.spaces(" \t")
		for p.peek() == '!' {
			p.at++
			cmd.not = true
			p.spaces(" \t")
		}
		if p.at >= len(p.src) {
			return p.fail("missing command")
		}
		cmd.name = p.src[p.at]
		p.at++
		if err := p.command(cmd); err != nil {
			return err
		}
	}
}

// address parses one address; nil if there is none.
func (p *sedParser) address() (*sedAddress, error) {
	ch := p.peek()
	switch {
	case ch >= '0' && ch <= '9':
		a := &sedAddress{kind: 'n', n: p.number()}
		if p.peek() == '~' {
			p.at++
			a.kind, a.step = '~', p.number()
		}
		return a, nil
	case ch == '+' || ch == '~':
		if p.at+1 < len(p.src) && p.src[p.at+1] >= '0' && p.src[p.at+1] <= '9' {
			p.at++
			kind := byte('+')
			if ch == '~' {
				kind = 'm'
			}
			return &sedAddress{kind: kind, n: p.number()}, nil
		}
	case ch == '$':
		p.at++
		return &sedAddress{kind: '$'}, nil
	case ch == '/' || ch == '\\':
		p.at++
		if ch == '\\' {
			ch = p.peek()
			p.at++
		}
		expr, ok := p.until(ch, true)
		if !ok {
			p.at = len(p.src)
			return nil, p.fail("unterminated address regex")
		}
		d := dialect{extended: p.s.extended, escapes: true}
		for ; p.peek() == 'I' || p.peek() == 'M'; p.at++ {
			d.fold, d.lines = d.fold || p.peek() == 'I', d.lines || p.peek() == 'M'
		}
		re, err := p.compile(expr, d)
		return &sedAddress{kind: '/', expr: re}, err
	}
	return nil, nil
}

// compile compiles an expression; an empty one is nil, the last one used.
func (p *sedParser) compile(expr string, d dialect) (pattern, error) {
	if expr == "" {
		return nil, nil
	}
	re, err := d.compile(expr)
	if err != nil {
		return nil, p.fail("%s", err)
	}
	return re, nil
}

func (p *sedParser) number() int {
	n := 0
	for ; p.peek() >= '0' && p.peek() <= '9'; p.at++ {
		n = min(n*10+int(p.src[p.at]-'0'), 1<<40)
	}
	return n
}

// until reads up to a delimiter that is not escaped. An escaped delimiter
// stands for itself.
func (p *sedParser) until(delim byte, expr bool) (string, bool) {
	var b strings.Builder
	inBracket := false
	for ; p.at < len(p.src); p.at++ {
		ch := p.src[p.at]
		switch {
		case ch == '\\' && p.at+1 < len(p.src) && !inBracket:
			p.at++
			next := p.src[p.at]
			if next == delim {
				if expr && strings.IndexByte(".*[]^$+?(){}|", delim) >= 0 && delim != '|' {
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
		case ch == delim && !inBracket:
			p.at++
			return b.String(), true
		case ch == '\n' && expr:
			return "", false
		case ch == '[' && expr && !inBracket && p.closes():
			inBracket = true
			b.WriteByte(ch)
			// "]" right after "[" or "[^" is a member.
			for _, member := range []byte{'^', ']'} {
				if p.at+1 < len(p.src) && p.src[p.at+1] == member {
					p.at++
					b.WriteByte(member)
				}
			}
			continue
		case ch == '[' && inBracket && p.at+1 < len(p.src) && strings.IndexByte(":.=", p.src[p.at+1]) >= 0:
			if end := strings.Index(p.src[p.at+2:], string(p.src[p.at+1])+"]"); end >= 0 {
				b.WriteString(p.src[p.at : p.at+end+4])
				p.at += end + 3
				continue
			}
		case ch == ']' && inBracket:
			inBracket = false
		}
		b.WriteByte(ch)
	}
	return b.String(), false
}

// closes reports whether the bracket expression here is closed on its line.
func (p *sedParser) closes() bool {
	line, _, _ := strings.Cut(p.src[p.at+1:], "\n")
	return strings.Contains(strings.TrimPrefix(strings.TrimPrefix(line, "^"), "]"), "]")
}

// end checks that nothing follows a command.
func (p *sedParser) end() error {
	p.spaces(" \t")
	switch p.peek() {
	case '\n', ';':
		p.at++
	case 0, '}', '#':
	default:
		p.at++
		return p.fail("extra characters after command")
	}
	return nil
}

// word reads a label or a file name.
func (p *sedParser) word(stop string) string {
	p.spaces(" \t")
	rest := p.src[p.at:]
	if at := strings.IndexAny(rest, stop); at >= 0 {
		rest = rest[:at]
	}
	p.at += len(rest)
	return rest
}

func (p *sedParser) command(cmd *sedCommand) error {
	if strings.IndexByte(":}", cmd.name) >= 0 && cmd.from != nil {
		if cmd.name == ':' {
			return p.fail(": doesn't want any addresses")
		}
		return p.fail("unexpected `}'")
	}
	if cmd.to != nil && strings.IndexByte("=qQ", cmd.name) >= 0 && cmd.name != '=' {
		return p.fail("command only uses one address")
	}
	add := func() { p.s.script = append(p.s.script, cmd) }
	switch cmd.name {
	case '#':
		if cmd.from != nil {
			return p.fail("comments don't accept any addresses")
		}
		p.word("\n")
		return nil
	case '{':
		p.blocks = append(p.blocks, len(p.s.script))
		add()
		return nil
	case '}':
		if len(p.blocks) == 0 {
			return p.fail("unexpected `}'")
		}
		n := len(p.blocks) - 1
		p.s.script[p.blocks[n]].target = len(p.s.script)
		p.blocks = p.blocks[:n]
		return p.end()
	case ':':
		label := strings.TrimRight(p.word("\n;"), " \t")
		if label == "" {
			return p.fail("\":\" lacks a label")
		}
		p.labels[label] = len(p.s.script)
		return nil
	case 'b', 't', 'T':
		p.jumps[len(p.s.script)] = strings.TrimRight(p.word("\n;}"), " \t")
		add()
		return p.end()
	case 'a', 'i', 'c':
		add()
		return p.insertion(cmd)
	case 'r', 'R', 'w', 'W':
		if cmd.text = p.word("\n"); cmd.text == "" {
			return p.fail("missing filename in r/R/w/W commands")
		}
		add()
		if cmd.name == 'w' || cmd.name == 'W' {
			var err error
			cmd.file, err = p.s.output(cmd.text)
			return err
		}
		return nil
	case 's':
		add()
		return p.substitution(cmd)
	case 'y':
		add()
		return p.transliteration(cmd)
	case 'q', 'Q', 'l', 'L':
		p.spaces(" \t")
		cmd.number = p.number()
		add()
		return p.end()
	case 'e', 'F', 'v', 'z', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', '=':
		if cmd.name == 'e' {
			return p.fail("the command e is not available in this sandbox")
		}
		if cmd.name == 'v' {
			p.word("\n;")
		}
		add()
		return p.end()
	}
	return p.fail("unknown command: `%c'", cmd.name)
}

// insertion reads the text of a, i and c.
func (p *sedParser) insertion(cmd *sedCommand) error {
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

func (p *sedParser) transliteration(cmd *sedCommand) error {
	delim := p.peek()
	p.at++
	from, ok1 := p.until(delim, false)
	to, ok2 := p.until(delim, false)
	if !ok1 || !ok2 {
		return p.fail("unterminated `y' command")
	}
	a, b := []rune(sedUnescape(from)), []rune(sedUnescape(to))
	if len(a) != len(b) {
		return p.fail("strings for `y' command are different lengths")
	}
	cmd.table = map[rune]rune{}
	for i, r := range a {
		cmd.table[r] = b[i]
	}
	return p.end()
}

func sedUnescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r").Replace(s)
}

// substitution reads s/expr/replacement/flags.
func (p *sedParser) substitution(cmd *sedCommand) error {
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
	d := dialect{extended: p.s.extended, escapes: true}
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
			d.fold = true
		case ch == 'm' || ch == 'M':
			d.lines = true
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

func (p *sedParser) finishSubstitution(cmd *sedCommand, expr, replacement string, d dialect) (err error) {
	if cmd.expr, err = p.compile(expr, d); err != nil {
		return err
	}
	groups := strings.Count(strings.ReplaceAll(expr, `\\`, ""), "(") // at least as many as there are
	if cmd.parts = sedParts(replacement); cmd.expr != nil {
		if n := groupCount(cmd.expr); n >= 0 {
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

// groupCount is the number of groups of a pattern.
func groupCount(p pattern) int {
	switch p := p.(type) {
	case interface{ NumSubexp() int }:
		return p.NumSubexp()
	case *backtracking:
		return len(p.re.GetGroupNumbers()) - 1
	}
	return 0
}

// sedParts splits a replacement.
func sedParts(s string) (parts []sedPart) {
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			parts = append(parts, sedPart{text: b.String(), group: -1})
			b.Reset()
		}
	}
	for i := 0; i < len(s); {
		ch, size := utf8.DecodeRuneInString(s[i:])
		if ch == '&' {
			flush()
			parts = append(parts, sedPart{group: 0})
		} else if ch == '\\' && i+1 < len(s) {
			i++
			switch next := s[i]; {
			case next >= '0' && next <= '9':
				flush()
				parts = append(parts, sedPart{group: int(next - '0')})
			case strings.IndexByte("ULulE", next) >= 0:
				flush()
				parts = append(parts, sedPart{group: -1, shift: next})
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
