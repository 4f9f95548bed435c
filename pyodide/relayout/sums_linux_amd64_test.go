package relayout

import (
	"math/rand/v2"
	"testing"
)

// movesAnd returns samples of moves, and those of another kind.
func movesAnd(t *testing.T, r *rand.Rand, is func(*inst) bool) (moves, others []sample) {
	for _, s := range samples(t, r, 60) {
		if is(&s.inst) {
			others = append(others, s)
		} else if s.op == opStore || s.op == opLoad {
			moves = append(moves, s)
		}
	}
	return moves, others
}

// TestSums executes copies with additions to them, and the leas for them, with random registers.
func TestSums(t *testing.T) {
	if !inProcess(t) {
		return
	}
	r := rand.New(rand.NewPCG(7, 8))
	e := newExecutor(t)
	moves, adds := movesAnd(t, r, func(i *inst) bool {
		_, _, ok := addend(i)
		return ok
	})
	done := 0
	for _, move := range moves {
		for _, add := range adds {
			lea, ok := sumOf(&move.inst, &add.inst)
			if !ok {
				continue
			}
			done++
			enc := lea.append(nil)
			before := e.random(r, &move)
			e.load(append(move.enc[:len(move.enc):len(move.enc)], add.enc...))
			two := e.run(before)
			e.load(enc)
			one := e.run(before)
			if one.regs != two.regs || one.memory != two.memory || one.xmm != two.xmm {
				t.Errorf("% x, % x, now % x: %x and %x", move.enc, add.enc, enc, two.regs, one.regs)
			}
			var i inst
			if !decode(enc, &i) || i.reads != lea.reads || i.writes != lea.writes || i.kills != lea.kills {
				t.Errorf("% x reads %b, writes %b: %+v", enc, i.reads, i.writes, lea)
			}
		}
	}
	if done < 100 {
		t.Errorf("%d pairs", done)
	}
}

// TestTests executes copies with conjunctions and tests, and the tests for them: the flags are the same.
func TestTests(t *testing.T) {
	if !inProcess(t) {
		return
	}
	r := rand.New(rand.NewPCG(9, 10))
	e := newExecutor(t)
	moves, ands := movesAnd(t, r, func(i *inst) bool { return i.result() != none && i.logic() })
	done := 0
	for _, and := range ands {
		to := and.result()
		test := inst{op: opTest, wide: and.wide, rm: to, reg: to, base: none, idx: none}
		before := e.random(r, &and)
		e.load(and.enc)
		one := e.run(before)
		e.load(append(and.enc[:len(and.enc):len(and.enc)], test.append(nil)...))
		if two := e.run(before); (one.flags^two.flags)&seenFlags != 0 {
			t.Errorf("% x: flags %x, of a test %x", and.enc, one.flags, two.flags)
		}
		for _, move := range moves {
			short, ok := testOf(&move.inst, &and.inst)
			if !ok {
				continue
			}
			done++
			before := e.random(r, &move)
			e.load(append(move.enc[:len(move.enc):len(move.enc)], and.enc...))
			two := e.run(before)
			e.load(short.append(nil))
			if one := e.run(before); (one.flags^two.flags)&seenFlags != 0 {
				t.Errorf("% x, % x, now % x: flags %x and %x", move.enc, and.enc, short.append(nil), two.flags, one.flags)
			}
		}
	}
	if done < 20 {
		t.Errorf("%d pairs", done)
	}
}
