package diff

import "bytes"

// place finds where a hunk fits, with as little fuzz as possible.
func (p *patcher) place(s *side, h patchHunk, offset, from int) (at, fuzz int, ok bool) {
	for fuzz = 0; fuzz <= min(p.fuzz, max(h.before, h.after)); fuzz++ {
		if at, ok = p.nearest(s, h, h.first()+offset, from, fuzz); ok || p.c.Stopped() {
			return at, fuzz, ok
		}
	}
	return 0, 0, false
}

// nearest finds where a hunk fits, nearest to where it should. One with less context at
// an end than at the other is at that end of the file, as GNU's locate_hunk has it.
func (p *patcher) nearest(s *side, h patchHunk, want, from, fuzz int) (at int, ok bool) {
	if len(h.old) == 0 {
		return min(max(want, from), len(s.lines)), want <= len(s.lines)+1 || len(s.lines) == 0
	}
	lead, tail := h.ignored(fuzz)
	switch at = len(s.lines) - len(h.old); {
	case lead < 0 && h.at <= 1:
		return 0, from == 0 && (tail >= 0 || at == 0) && p.fits(s, h, 0, fuzz)
	case tail < 0:
		return at, at >= from && p.fits(s, h, at, fuzz)
	}
	for off := 0; off <= len(s.lines); off++ {
		if off&0xfff == 0 && p.c.Stopped() {
			return 0, false
		}
		if p.fits(s, h, want+off, fuzz) && want+off >= from {
			return want + off, true
		}
		if off > 0 && want-off >= from && p.fits(s, h, want-off, fuzz) {
			return want - off, true
		}
	}
	return 0, false
}

// ignored returns how many lines of context need not fit at the start and the end of a
// hunk: negative where it has less than at the other end.
func (h patchHunk) ignored(fuzz int) (lead, tail int) {
	context := max(h.before, h.after)
	return fuzz + h.before - context, fuzz + h.after - context
}

// first returns the line, from 0, at which a hunk of an unchanged file begins.
func (h patchHunk) first() int {
	if len(h.old) == 0 {
		return h.at
	}
	return h.at - 1
}

func (p *patcher) fits(s *side, h patchHunk, at, fuzz int) bool {
	lead, tail := h.ignored(fuzz)
	lo, hi := max(lead, 0), len(h.old)-max(tail, 0)
	if at < 0 || hi < lo || at+hi > len(s.lines) { // in a hunk of context alone both ends may be the same lines
		return false
	}
	for i := lo; i < hi; i++ {
		a, b := s.lines[at+i], h.old[i]
		if p.o.On("l") {
			a, b = bytes.Join(bytes.Fields(a), []byte(" ")), bytes.Join(bytes.Fields(b), []byte(" "))
		}
		if !bytes.Equal(a, b) {
			return false
		}
	}
	return true
}
