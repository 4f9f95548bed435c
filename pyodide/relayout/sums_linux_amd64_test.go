package relayout

import (
	"math/rand/v2"
	"testing"
)

// TestSums executes copies with additions to them, and the leas for them, with random registers.
func TestSums(t *testing.T) {
	if !inProcess(t) {
		return
	}
	r := rand.New(rand.NewPCG(7, 8))
	e := newExecutor(t)
	var moves, adds []sample
	for _, s := range samples(t, r, 60) {
		if _, _, ok := addend(&s.inst); ok {
			adds = append(adds, s)
		} else if s.op == opStore || s.op == opLoad {
			moves = append(moves, s)
		}
	}
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
