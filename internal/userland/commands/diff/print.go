package diff

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// diffPrinter prints hunks.
type diffPrinter struct {
	c       *command.Call
	a, b    *side
	context int
	color   bool

	functions bool // -p: hunks show the function that they are in
}

// function returns what -p shows of a hunk that begins at a line.
func (p *diffPrinter) function(at int) string {
	for at--; at >= 0 && p.functions; at-- {
		if l := bytes.TrimRight(p.a.lines[at], " \t\r\n"); len(l) > 0 && (l[0] == '$' || l[0] > '9' && regex.WordByte(l[0])) {
			return " " + string(l[:min(len(l), 40)])
		}
	}
	return ""
}

func (p *diffPrinter) title(a, b string) {
	if p.color {
		a, b = "\x1b[1m"+a+"\x1b[0m", "\x1b[1m"+b+"\x1b[0m"
	}
	p.c.Print(a + "\n" + b + "\n")
}

// line prints a line with its mark.
func (p *diffPrinter) line(mark string, s *side, i int) {
	color := ""
	if p.color {
		color = map[byte]string{'-': "31", '<': "31", '+': "32", '>': "32"}[mark[0]]
	}
	if color != "" {
		p.c.Printf("\x1b[%sm%s%s\x1b[0m\n", color, mark, s.lines[i])
	} else {
		p.c.Print(mark)
		p.c.Out.Write(s.lines[i])
		p.c.Print("\n")
	}
	if s.bare && i == len(s.lines)-1 {
		p.c.Print("\\ No newline at end of file\n")
	}
}

// op is the command of a hunk: what is added, deleted or changed.
func (h hunk) op() string {
	switch {
	case h.alo == h.ahi:
		return "a"
	case h.blo == h.bhi:
		return "d"
	}
	return "c"
}

func diffRange(lo, hi int) string {
	if hi-lo <= 1 {
		return fmt.Sprint(hi)
	}
	return fmt.Sprintf("%d,%d", lo+1, hi)
}

func (p *diffPrinter) normal(hunks []hunk) {
	for _, h := range hunks {
		op := h.op()
		p.c.Printf("%s%s%s\n", diffRange(h.alo, h.ahi), op, diffRange(h.blo, h.bhi))
		for i := h.alo; i < h.ahi; i++ {
			p.line("< ", p.a, i)
		}
		if op == "c" {
			p.c.Print("---\n")
		}
		for i := h.blo; i < h.bhi; i++ {
			p.line("> ", p.b, i)
		}
	}
}

func (p *diffPrinter) ed(hunks []hunk) {
	for _, h := range slices.Backward(hunks) {
		op := h.op()
		p.c.Printf("%s%s\n", diffRange(h.alo, h.ahi), op)
		for i := h.blo; i < h.bhi; i++ {
			p.c.Printf("%s\n", p.b.lines[i])
		}
		if op != "d" {
			p.c.Print(".\n")
		}
	}
}

// groups joins the hunks whose contexts touch.
func (p *diffPrinter) groups(hunks []hunk) (list [][]hunk) {
	for i, h := range hunks {
		if i > 0 && h.alo-hunks[i-1].ahi <= 2*p.context {
			list[len(list)-1] = append(list[len(list)-1], h)
		} else {
			list = append(list, []hunk{h})
		}
	}
	return list
}

func (p *diffPrinter) unified(hunks []hunk) {
	position := func(lo, hi int) string {
		switch hi - lo {
		case 0:
			return fmt.Sprintf("%d,0", lo)
		case 1:
			return fmt.Sprint(hi)
		}
		return fmt.Sprintf("%d,%d", lo+1, hi-lo)
	}
	for _, g := range p.groups(hunks) {
		first, last := g[0], g[len(g)-1]
		before, after := min(p.context, first.alo), min(p.context, len(p.a.lines)-last.ahi)
		head := fmt.Sprintf("@@ -%s +%s @@", position(first.alo-before, last.ahi+after), position(first.blo-before, last.bhi+after))
		if p.color {
			head = "\x1b[36m" + head + "\x1b[0m"
		}
		p.c.Print(head + p.function(first.alo-before) + "\n")
		at := first.alo - before
		for _, h := range g {
			for ; at < h.alo; at++ {
				p.line(" ", p.a, at)
			}
			for ; at < h.ahi; at++ {
				p.line("-", p.a, at)
			}
			for i := h.blo; i < h.bhi; i++ {
				p.line("+", p.b, i)
			}
		}
		for ; at < last.ahi+after; at++ {
			p.line(" ", p.a, at)
		}
	}
}

func (p *diffPrinter) contextual(hunks []hunk) {
	for _, g := range p.groups(hunks) {
		first, last := g[0], g[len(g)-1]
		before, after := min(p.context, first.alo), min(p.context, len(p.a.lines)-last.ahi)
		p.c.Printf("***************%s\n*** %s ****\n", p.function(first.alo-before), diffRange(first.alo-before, last.ahi+after))
		p.half(g, p.a, first.alo-before, last.ahi+after, "- ", func(h hunk) (int, int, bool) { return h.alo, h.ahi, h.blo < h.bhi })
		p.c.Printf("--- %s ----\n", diffRange(first.blo-before, last.bhi+after))
		p.half(g, p.b, first.blo-before, last.bhi+after, "+ ", func(h hunk) (int, int, bool) { return h.blo, h.bhi, h.alo < h.ahi })
	}
}

func (p *diffPrinter) half(g []hunk, s *side, at, end int, mark string, of func(hunk) (lo, hi int, both bool)) {
	if !slices.ContainsFunc(g, func(h hunk) bool { lo, hi, _ := of(h); return hi > lo }) {
		return
	}
	for _, h := range g {
		lo, hi, both := of(h)
		for ; at < lo; at++ {
			p.line("  ", s, at)
		}
		for ; at < hi; at++ {
			if both {
				p.line("! ", s, at)
			} else {
				p.line(mark, s, at)
			}
		}
	}
	for ; at < end; at++ {
		p.line("  ", s, at)
	}
}

// tabStop is the distance of the stops that both columns are aligned by.
const tabStop = 8

// pair is a line of two columns.
type pair struct {
	strings.Builder
	column int
}

// half writes at most width cells of a text.
func (l *pair) half(text []byte, width int) {
	end := l.column + width
	for _, r := range command.ExpandTabs(string(text), []int{tabStop}) {
		if l.column += command.Cells(r); l.column > end {
			l.column -= command.Cells(r)
			return
		}
		l.WriteRune(r)
	}
}

// to goes to a column by tabs, then spaces.
func (l *pair) to(column int) {
	for next := l.column + tabStop - l.column%tabStop; next <= column; next += tabStop {
		l.WriteByte('\t')
		l.column = next
	}
	for ; l.column < column; l.column++ {
		l.WriteByte(' ')
	}
}

func (p *diffPrinter) sideBySide(hunks []hunk, width int, suppress bool) {
	second := (width + tabStop + 3) / (2 * tabStop) * tabStop // the right column, as GNU finds it
	half := max(0, min(second-3, width-second))
	if half == 0 {
		second = width
	}
	row := func(a []byte, mark string, b []byte) {
		var l pair
		if l.half(a, half); mark != " " {
			l.to((half + second - 1) / 2)
			l.WriteString(mark)
			l.column++
		}
		if len(b) > 0 {
			l.to(second)
			l.half(b, half)
		}
		p.c.Print(l.String() + "\n")
	}
	at := 0
	for _, h := range append(hunks, hunk{len(p.a.lines), len(p.a.lines), 0, 0}) {
		for ; at < h.alo; at++ {
			if !suppress {
				row(p.a.lines[at], " ", p.a.lines[at])
			}
		}
		for i := 0; h.alo+i < h.ahi || h.blo+i < h.bhi; i++ {
			switch {
			case h.alo+i >= h.ahi:
				row(nil, ">", p.b.lines[h.blo+i])
			case h.blo+i >= h.bhi:
				row(p.a.lines[h.alo+i], "<", nil)
			default:
				row(p.a.lines[h.alo+i], "|", p.b.lines[h.blo+i])
			}
		}
		at = h.ahi
	}
}
