package rewrite

import (
	"slices"
	"sort"

	"coderunner/pyodide/wasmbin"
)

// places tells where in the input the code of the output is from: by offsets in the code
// sections, as debug information has them.
type places []place

// place says of the output from at on, up to the next place, that it is the input from of on.
// Of a function that was copied into its caller, call is where the call was.
type place struct{ at, of, call uint32 }

// Of returns where the instruction at an offset is from, in the code sections. The call is 0 if it
// is of the same function there. Without Options.Places nothing is known.
func (i *Info) Of(at uint32) (of, call uint32) { return i.places.of(at) }

func (p places) of(at uint32) (of, call uint32) {
	n := p.after(int(at))
	if n == 0 {
		return 0, 0
	}
	q := p[n-1]
	return q.of + at - q.at, q.call
}

// itself are the places of what stayed as it was.
var itself = places{{}}

// keepPlaces keeps the places of the function at hand, whose code begins at an offset.
func (c *coder) keepPlaces(at int) {
	if len(c.places) == 0 {
		return
	}
	code, _ := c.r.m.SectionOf(wasmbin.SecCode)
	for _, p := range c.places {
		p.at, p.of = p.at+uint32(at), p.of-uint32(code.Start)
		if p.call > 0 {
			p.call -= uint32(code.Start)
		}
		c.r.places = append(c.r.places, p)
	}
}

// add notes where what is appended at an offset is from.
func (p *places) add(at int, of, call uint32) {
	if last := len(*p) - 1; last >= 0 && (*p)[last].call == call && (*p)[last].of+uint32(at)-(*p)[last].at == of {
		return
	}
	*p = append(*p, place{uint32(at), of, call})
}

// addAll notes for what is appended at an offset the places that are from begin to end of
// where it is from.
func (p *places) addAll(at int, from places, begin, end int) {
	of, call := from.of(uint32(begin))
	p.add(at, of, call)
	for n := from.after(begin); n < len(from) && int(from[n].at) < end; n++ {
		p.add(at+int(from[n].at)-begin, from[n].of, from[n].call)
	}
}

// after returns the index of the first place behind an offset.
func (p places) after(at int) int {
	return sort.Search(len(p), func(k int) bool { return int(p[k].at) > at })
}

// copied notes that the output from begin to end is there once more at an offset.
func (p *places) copied(at, begin, end int) {
	if len(*p) > 0 {
		p.addAll(at, *p, begin, end)
	}
}

// swapped notes that two parts of the output, up to its end, have changed places, of which
// the second now begins later by more.
func (p *places) swapped(first, second, end, more int) {
	if len(*p) == 0 {
		return
	}
	old := slices.Clone((*p)[max(p.after(first)-1, 0):])
	*p = (*p)[:p.after(first-1)]
	p.addAll(first, old, second, end)
	p.addAll(first+end-second+more, old, first, second)
}
