package rewrite

import (
	"maps"
	"slices"

	"coderunner/pyodide/wasmbin"
)

// Loops that go through memory in steps.
//
// wazero compares an address with the memory's length unless it has done so for
// the same value with the same or a larger offset. A pointer that moves has another
// value in each round. Where the steps are constants, some rounds are written as
// one: they have one address for all that lies at constant distances, the largest
// of which is touched first, and no test whether the loop goes on. Steps that only
// the caller knows are compared with the size of what lies there, all, or all but
// one of what is read; if they are others, the loop does it as ever.
//
//	steps = sizes, if
//	  loop
//	    rounds that are left / group → counter, if else br 2 end
//	    tank -= paid, tank < 1, if tick end
//	    loop
//	      address → base, load base+largest, drop; …
//	      group × body, with base+distance for each address
//	      counter -= 1, if br 1 else end
//	    end
//	    br 0
//	  end
//	end
//	loop body end
//
// All loads, stores and calculations take place in their order. Only an access that
// traps does so up to a group of rounds earlier, and none traps that would not have:
// each is one that these rounds make for certain. Where addresses wrap around at
// 4 GiB one of them lies near the end, which is behind the memory (unless that has
// all 4 GiB, and then no array reaches over its end).

const (
	maxStraight = 256  // instructions of a round
	maxRounds   = 1024 // of more than one
	maxBases    = 64
	maxGroup    = 8       // rounds
	groupBytes  = 1024    // of code for more than one round
	maxSpan     = 1 << 12 // bytes from the first to the last address of a base
)

// strides writes groups of rounds before a loop. It reports whether they are all
// rounds but a few.
func (c *coder) strides(l *leaf) bool {
	steps, ok := l.steps()
	if !ok {
		return false
	}
	all, done := c.group(l, steps.sizes)
	if done {
		c.r.stats.Strides++
	}
	// x * 2 has a step of 0, the rows of a matrix have a larger one. Of a[::2] + b[::2] both have.
	if len(steps.sizes) == 2 || len(steps.sizes) == 3 {
		for _, local := range slices.Sorted(maps.Keys(steps.sizes)) {
			if !steps.stored[local] {
				but := maps.Clone(steps.sizes)
				delete(but, local)
				c.group(l, but)
			}
		}
	}
	if reads := len(steps.sizes) - len(steps.stored); done && !all && reads > 0 && (len(steps.sizes) == 1 || reads == 2) {
		written := maps.Clone(steps.sizes)
		maps.DeleteFunc(written, func(local, _ uint32) bool { return !steps.stored[local] })
		c.group(l, written)
	}
	c.meet()
	return all
}

// group writes groups of rounds if that pays. all is true if they are all rounds but
// a few, whatever the steps are.
func (c *coder) group(l *leaf, assumed map[uint32]uint32) (all, ok bool) {
	two, ok := l.evaluate(2, assumed)
	if !ok {
		return false, false
	}
	for rounds := maxGroup; rounds > 0; rounds /= 2 {
		if rounds > 1 && rounds*len(l.code) > maxRounds {
			continue
		}
		e, _ := l.evaluate(rounds, assumed)
		g := &group{c: c, evaluation: e, rounds: rounds, tests: [2]operand(two.tests)}
		code, ok := g.write()
		if !ok || rounds == 1 && l.leaves() {
			return false, false
		}
		if rounds == 1 || len(code) <= groupBytes {
			for _, p := range g.places {
				c.places.addAll(len(c.buf)+int(p.at), c.sources, int(p.of), int(p.of))
			}
			c.buf = append(c.buf, code...)
			return len(assumed)+len(e.aligned) == 0, true
		}
	}
	return false, false
}

// steps are the locals that are steps.
type steps struct {
	sizes  map[uint32]uint32 // of what lies there
	stored map[uint32]bool   // of what is written
}

// steps finds the locals that are steps.
func (l *leaf) steps() (found steps, ok bool) {
	e, ok := l.evaluate(1, nil)
	if !ok || len(e.accesses) == 0 {
		return found, false
	}
	found = steps{map[uint32]uint32{}, map[uint32]bool{}}
	add := func(local uint32, a *access) {
		found.sizes[local] = max(found.sizes[local], a.end())
		if l.code[a.at].Op >= wasmbin.OpI32Store {
			found.stored[local] = true
		}
	}
	for _, a := range e.accesses {
		if s := a.addr.stride; s > 0 {
			add(s-1, &a)
		}
		for _, t := range a.addr.terms {
			// p += s, once in each round
			p := e.local(t.local)
			if len(p.terms) != 2 || !p.known || p.n != 0 || p.terms[0].factor != 1 || p.terms[1].factor != 1 {
				continue
			}
			s := p.terms[0].local
			if s == t.local {
				s = p.terms[1].local
			}
			if !l.sets[s] {
				add(s, &a)
			}
		}
	}
	return found, true
}
