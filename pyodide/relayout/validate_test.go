//go:build amd64

package relayout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// validator compares a function's new code with its old: it walks through both at
// once, with the registers that surely have equal values. Which old instruction a new
// one was is a hint, and checked. What it takes for granted are the table of opcodes,
// how one instruction moves the context, and the convention of calls: where there is neither an
// argument nor a result, what there is is nobody's.
type validator struct {
	old     *function
	results set
	laid    *laid
	code    []inst  // of the new code
	was     []int32 // the old offset of each
	index   map[int32]int32
	entry   entries
	at      map[[2]int32]equal
	work    [][2]int32

	spared *clamp // of the jump table whose entry the new code has just added by the byte
}

// equal is what is known before a pair of instructions.
type equal struct {
	regs     set // that have equal values, and the flags
	bytes    set // that have equal lowest bytes, besides
	old, new state
	truths
	indexes
	values values     // of the old code
	sums   [none]sums // what a register of the old code has
	copied *inst      // in the old code, the copy that is missing in the new
}

// validate returns how the new code of f, the function at begin, differs from the old.
func validate(f *function, code []byte, begin, end int32, entry entries) error {
	old := new(function)
	v := &validator{old: old, results: f.results, laid: &f.laid, index: map[int32]int32{}, entry: entry, at: map[[2]int32]equal{}}
	if decoded, known := old.decode(code, begin, end); !decoded || !known {
		return errors.New("the old code is not known")
	}
	if err := v.decode(f); err != nil {
		return err
	}
	s := state{reached: true, sp: entrySP, regs: 1 << rax}
	v.push(0, 0, equal{regs: entry(begin) | calleeSaved | arguments&^f.params, old: s, new: s, values: unknownValues()})
	for len(v.work) > 0 {
		p := v.work[len(v.work)-1]
		v.work = v.work[:len(v.work)-1]
		if err := v.walk(p[0], p[1], v.at[p]); err != nil {
			return err
		}
	}
	return nil
}

// decode decodes the new code up to the stubs.
func (v *validator) decode(f *function) error {
	code := f.laid.code
	begin := appendPrologue(nil, f.frame)
	p := len(begin)
	at := p - growthAt
	if !bytes.HasPrefix(code, begin[:at]) || !bytes.HasPrefix(code[at+4:], begin[at+4:]) {
		return errors.New("another prologue")
	}
	growth := code[at+4+int(binary.LittleEndian.Uint32(code[at:])):]
	grow := appendGrowth(nil, f.frame)
	if back := len(code) - len(growth) + len(grow) + 5; !bytes.HasPrefix(growth, grow) || growth[len(grow)] != 0xE9 ||
		back+int(int32(binary.LittleEndian.Uint32(growth[len(grow)+1:]))) != p {
		return errors.New("the stack grows in another way")
	}
	for n := range f.insts {
		var i inst
		begin, cleared := p, none
		if f.insts[n].op != 0x0F57 {
			if cleared = isClear(code[p:]); cleared != none {
				p += len(appendClear(nil, cleared))
			}
		}
		switch b := code[p]; {
		case b == 0xEB || b&0xF0 == 0x70:
			i = inst{reg: none, rm: none, base: none, idx: none, kind: jump, size: 2, imm: int32(int8(code[p+1]))}
			if b != 0xEB {
				i.kind, i.cond, i.reads = branch, b&15, flags
			}
		default:
			if !decode(code[p:], &i) {
				return fmt.Errorf("% x at %d", code[p:p+8], p)
			}
		}
		i.at = int32(p)
		p = int(i.end())
		if cleared != none && !keepsHalf(&i, code, cleared) {
			return fmt.Errorf("the register cleared at %d is read, or not written", begin)
		}
		i.target = i.end() + i.imm
		if i.kind == jump && slices.ContainsFunc(f.laid.calls, func(c fixup) bool { return c.at == i.at+1 }) {
			i.kind = tail
		}
		v.index[int32(begin)] = int32(n)
		v.code, v.was = append(v.code, i), append(v.was, f.insts[n].at)
	}
	return nil
}

// push notes that the codes are at a pair, with what is known.
func (v *validator) push(o, n int32, e equal) {
	p := [2]int32{o, n}
	if known, ok := v.at[p]; ok {
		e.bytes = (e.regs | e.bytes) & (known.regs | known.bytes)
		e.regs &= known.regs
		e.bytes &^= e.regs
		e.old, e.new = known.old.meet(e.old), known.new.meet(e.new)
		e.values = known.values.meet(e.values)
		for r := range e.sums {
			for k, s := range known.sums[r] {
				e.sums[r][k] = e.sums[r][k].meet(s)
			}
		}
		if e.copied != known.copied {
			e.copied = nil
		}
		e.truths, e.indexes = e.truths.meet(known.truths), e.indexes.meet(known.indexes)
		if e == known {
			return
		}
	}
	v.at[p] = e
	v.work = append(v.work, p)
}

// follow pushes the pair of an old instruction and a new offset: of an instruction or
// of a stub.
func (v *validator) follow(o, to int32, e equal) error {
	if n, ok := v.index[to]; ok {
		v.push(o, n, e)
		return nil
	}
	for range 16 {
		i := &v.old.insts[o]
		switch {
		case i.kind == jump:
			o = i.target
		case missable(i):
			e.miss(i)
			o++
		default:
			return v.exit(i, to, e)
		}
	}
	return fmt.Errorf("no exit for the stub at %d", to)
}

// exit compares an exit with a stub.
func (v *validator) exit(i *inst, at int32, e equal) error {
	if i.kind != exit || at < 0 || int(at) >= len(v.laid.code) {
		return fmt.Errorf("%d is at the stub %d", i.at, at)
	}
	p := place{reg: rax}
	var load inst
	if decode(v.laid.code[at:], &load); load.op == opStore {
		p.reg = load.reg
	} else if load.op == opLoad {
		p = place{none, load.disp}
	}
	want := stub{code: uint32(i.imm), from: p}.append(nil)
	end := at + int32(len(want))
	if int(end) > len(v.laid.code) || !bytes.Equal(v.laid.code[at:end], want) || !slices.Contains(v.laid.exits, fixup{end - 4, i.imm}) {
		return fmt.Errorf("the stub at %d is not for the code %d", at, i.imm)
	}
	sure := e.old.regs.has(i.reg) && (e.new.regs.has(p.reg) || p.reg == none && e.new.slot != 0 && e.new.slot == e.new.sp+p.disp)
	if !sure && (p.reg != i.reg || !e.regs.has(p.reg)) {
		return fmt.Errorf("stub at %d reads the context from %v, where it is not", at, p)
	}
	return nil
}

// walk compares from a pair to where the codes branch.
func (v *validator) walk(o, n int32, e equal) error {
	for {
		a, b := &v.old.insts[o], &v.code[n]
		switch {
		case b.kind == jump && v.isCode(b.target):
			v.push(o, v.index[b.target], e)
			return nil
		case a.kind == exit:
			if b.kind != jump {
				return fmt.Errorf("the exit at %d is %d", a.at, b.at)
			}
			return v.exit(a, b.target, e)
		case a.kind == jump:
			v.push(a.target, n, e)
			return nil
		case v.was[n] != a.at && a.kind == branch: // both ways lead to the same
			v.push(a.target, n, e)
		case v.was[n] != a.at && a.restoresStack() && e.old.sp == entrySP:
			e.old.step(a)
		case v.was[n] != a.at:
			if !missable(a) {
				return fmt.Errorf("% x at %d is missing before %d", v.old.code[a.at:a.end()], a.at, b.at)
			}
			e.miss(a)
		default:
			if done, err := v.match(a, b, &e, o, n); done || err != nil {
				return err
			}
			n++
		}
		o++
	}
}

func (v *validator) isCode(at int32) bool {
	_, ok := v.index[at]
	return ok
}

// missable reports whether an instruction may be missing, if what it writes is not
// read. What writes only xmm registers may not: they are not followed.
func missable(i *inst) bool {
	return i.kind == plain && i.writes != 0 && !i.stores && i.writes&frame == 0 && (!i.mem() || i.op == opLea || i.op == opLoad || i.base == rsp) && i.op != 0xF7
}

// match compares an old instruction with what it is now, and executes both.
func (v *validator) match(a, b *inst, e *equal, o, n int32) (done bool, err error) {
	made := bytes.Equal(v.laid.code[b.at:b.end()], b.append(nil))
	if made && e.sum(a, b) || e.test(a, b) {
		return false, nil
	}
	reads, was, is := a.reads, v.old.code[a.at:a.end()], v.laid.code[b.at:b.end()]
	spared := v.spared
	v.spared = nil
	switch a.kind {
	case call, tail:
		reads = v.entry(a.target)
		if is[0] != was[0] || !slices.Contains(v.laid.calls, fixup{b.at + 1, a.target}) {
			return true, fmt.Errorf("the call at %d is another", a.at)
		}
		is = was
	case callAddress, tailAddress:
		reads |= arguments &^ (e.old.regs &^ (1 << rax))
	case ret:
		reads = v.results &^ e.old.regs
	case branch:
		is = was
	case plain:
		if a.base == rip {
			is, was = is[:max(0, len(is)-4)], was[:len(was)-4]
			if a.target >= 0 { // the address of a jump table
				break
			}
			from, to := a.end()+a.disp, b.end()+b.disp
			if to < 0 || int(to) > len(v.laid.code) || !bytes.Equal(v.old.code[from:], v.laid.code[to:]) {
				return true, fmt.Errorf("the constant at %d is another", a.at)
			}
		}
	}
	if a.kind == ret || a.kind == tail || a.kind == tailAddress {
		reads |= calleeSaved
	}
	now := *a // as it should be in the new code
	was, cond, want, sure := e.conditions(a, b, was, &reads)
	if _, ok := a.condition(); ok {
		now.withCondition(cond)
	}
	if known := a.reads &^ reads; e.renamed(&now, b) {
		reads, is = b.reads&^known, was
	} else if a.kind == plain && o+1 < int32(len(v.old.insts)) && e.entry(a, b, &v.old.insts[o+1]) {
		reads, is = bit(a.reg), was
		c := e.clamp
		v.spared = &c
	} else if r, ok := e.constant(a, b, made); ok {
		reads, is = r, was
	} else if r, ok := e.folded(a, b); ok {
		reads, is = r, was
	}
	writes := a.writes
	if reads&writes&flags != 0 { // they stay or change, and nobody reads those that stay
		reads, writes = reads&^flags, writes&^flags
	}
	reads, part := e.lowest(a, reads)
	if e.old.sp != e.new.sp || reads&^frame&^e.regs != 0 || !bytes.Equal(was, is) {
		return true, fmt.Errorf("% x at %d, now % x at %d: reads %b, equal are %b, rsp %d and %d", was, a.at, is, b.at, reads, e.regs, e.old.sp, e.new.sp)
	}
	e.truths.match(a, b, &e.values, v.old.comparesSelf(a), cond, want, sure)
	if e.regs |= writes; cond != want && a.kind == plain {
		e.regs &^= a.writes
		part = 0
	}
	if e.regs &^= part; part&flags != 0 {
		e.truths = truths{}
	}
	switch a.kind {
	case branch:
		other := b.end()
		taken := b.target
		if want == b.cond^1 {
			taken, other = other, taken
		} else if want != b.cond || b.kind != branch {
			return true, fmt.Errorf("the branch at %d is another", a.at)
		}
		return true, errors.Join(v.follow(a.target, taken, *e), v.follow(o+1, other, *e))
	case table:
		l := &v.code[n-1]
		for l.op != opLea || l.base != rip {
			if l.at <= v.code[0].at {
				return true, errors.New("no table")
			}
			l = &v.code[v.index[l.at]-1]
		}
		at, targets := l.end()+l.disp, v.old.tables[a.target]
		if spared != nil {
			now := make([]int32, byteTable)
			for k := range now {
				now[k] = targets[spared.entry(k)]
			}
			targets = now
		}
		for k, to := range targets {
			d := int64(binary.LittleEndian.Uint64(v.laid.code[at+int32(k)*tableEntry:]))
			if d != int64(int32(d)) {
				return true, fmt.Errorf("entry %d of a table leads to %d", k, d)
			}
			if err := v.follow(to, at+int32(d), *e); err != nil {
				return true, err
			}
		}
		return true, nil
	case call, callAddress:
		e.regs = e.regs&calleeSaved | callerSaved
	}
	if a.kind.leaves() {
		return true, nil
	}
	e.step(a)
	e.stepNew(b)
	e.bytes |= part &^ flags
	return false, nil
}

// lowest takes out of reads what does not matter to an instruction, or only with its lowest byte.
// It returns the registers of which the lowest byte is all that is equal behind the instruction,
// and the flags if they are not.
func (e *equal) lowest(a *inst, reads set) (rest, part set) {
	const and, or = 0x21, 0x09
	switch {
	case a.kind == call || a.kind == callAddress || a.kind == tail || a.kind == tailAddress || a.kind == ret:
		return reads &^ (e.bytes &^ a.reads), 0 // it is no argument and no result
	case a.kind != plain || a.prefix != 0 || a.mem():
		return reads, 0
	case a.op&^15 == opSet:
		return reads &^ bit(a.rm), bit(a.rm) &^ e.regs
	case a.op == opZeroByte, (a.op == opImm8 || a.op == opImm32) && a.digit == 4 && a.imm == int32(uint8(a.imm)):
		return reads &^ e.bytes, 0
	case (a.op == and || a.op == or) && reads&e.bytes != 0:
		return reads &^ e.bytes, a.writes
	}
	return reads, 0
}

// conditions returns the old code of an instruction with the new one's condition, that condition,
// and the one that it should be, if that is sure. It takes what is known of conditions out of reads.
func (e *equal) conditions(a, b *inst, was []byte, reads *set) (code []byte, cond, want uint8, sure bool) {
	if a.op == opZeroByte && a.kind == plain && !a.mem() && e.is[a.rm].known && e.is[a.rm].meet(e.made[a.rm]).known {
		*reads &^= bit(a.rm)
	}
	want, ok := a.condition()
	if !ok {
		return was, 0, 0, false
	}
	if want, sure = e.now(want, e.regs&flags != 0); sure {
		*reads &^= flags
	}
	cond = b.cond
	if a.kind == plain {
		if cond = want; a.op&^15 == opSet {
			cond = uint8(b.op & 15)
		}
		was = slices.Clone(was)
		was[bytes.IndexByte(was[:2], 0x0F)+1] = byte(a.op&^15) | cond
	}
	return was, cond, want, sure
}

// withCondition sets the condition, whatever the encoding.
func (i *inst) withCondition(cond uint8) {
	if i.cond = cond; i.kind == plain {
		i.op = i.op&^15 | uint16(cond)
	}
}
