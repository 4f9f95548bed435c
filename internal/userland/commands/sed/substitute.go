package sed

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// substitute is the command s.
func (s *editor) substitute(cmd *instruction) {
	p := s.use(cmd.expr)
	nth := max(1, cmd.nth)
	limit := nth
	if cmd.global {
		limit = -1
	}
	held := 0
	room := func(n int) error {
		s.c.Check(s.c.Reserve(int64(n)))
		held += n
		return nil
	}
	defer func() { s.c.Release(int64(held)) }()
	found, err := regex.FindAll(p, s.space, limit, room)
	s.c.Check(err)
	if b, ok := p.(*regex.Backtracking); ok && b.TimedOut {
		s.c.Throw("an expression with backreferences took longer than %s", regex.MatchTime)
	}
	if len(found) < nth {
		return
	}
	if found = found[nth-1:]; !cmd.global {
		found = found[:1]
	}
	var out []byte
	end := 0
	for i, m := range found {
		if i&0xfff == 0xfff {
			s.c.Proceed()
		}
		if need := 2*len(out) + len(s.space) - held; need > command.CopySize {
			room(need)
		}
		out = append(out, s.space[end:m[0]]...)
		out = s.expand(out, cmd.parts, m)
		end = m[1]
	}
	s.space = append(out, s.space[end:]...)
	s.replaced = true
	for range cmd.show {
		s.print(s.space)
	}
	if cmd.file != nil {
		cmd.file.Write(s.space)
		cmd.file.WriteByte(s.end)
	}
}

// expand appends a replacement for the match m.
func (s *editor) expand(out []byte, parts []part, m []int) []byte {
	var shift, once byte
	for _, p := range parts {
		switch p.shift {
		case 'U', 'L', 'E':
			shift, once = p.shift, 0
			continue
		case 'u', 'l':
			once = p.shift
			continue
		}
		t := []byte(p.text)
		if p.group >= 0 {
			if 2*p.group+1 >= len(m) || m[2*p.group] < 0 {
				continue
			}
			t = s.space[m[2*p.group]:m[2*p.group+1]]
		}
		switch shift {
		case 'U':
			t = bytes.ToUpper(t)
		case 'L':
			t = bytes.ToLower(t)
		}
		if once != 0 && len(t) > 0 {
			r, size := utf8.DecodeRune(t)
			if once == 'u' {
				r = unicode.ToUpper(r)
			} else {
				r = unicode.ToLower(r)
			}
			out = utf8.AppendRune(out, r)
			t, once = t[size:], 0
		}
		out = append(out, t...)
	}
	return out
}
