package relayout

import (
	"bytes"
	"encoding/binary"
)

// decoded is a function's code.
type decoded struct {
	start  int32  // in the module's old code
	code   []byte // the old code
	frame  int32  // the size of the frame in the prologue, which is not in insts
	insts  []inst
	tables [][]int32 // the targets of jump tables: instructions
	consts int32     // where constants begin in code
	stubs  []stub

	params, results set // where the function may have them

	sources []Source // in the module's old code
}

// function is the code of one function while it is laid out, and what that takes. It is
// used for one after the other.
type function struct {
	decoded

	index  []int32 // the instruction at an offset, or -1
	blocks []block
	leads  []bool // whether an instruction is jumped to
	work   []int32
	at     []int32 // for place
	long   []bool  // branches that do not reach with one byte
	laid   laid
}

const tableEntry = 8 // bytes

// maxTable bounds the jump tables that are believed.
const maxTable = 1 << 20

// decode decodes the function. decoded is false if there is an instruction that is
// not known, and known is false if the function has not the shape that is expected.
func (f *function) decode(code []byte, start, end int32) (decoded, known bool) {
	f.start, f.code = start, code[start:end]
	f.insts, f.tables, f.stubs = f.insts[:0], f.tables[:0], f.stubs[:0]
	f.index = resize(f.index, len(f.code)+1)
	for n := range f.index {
		f.index[n] = -1
	}
	size, p := frameSize(f.code)
	f.frame, known = size, size > 0
	f.consts = int32(len(f.code))
	var masks []int // instructions that take an address, of a table or a constant
	for int32(p) < f.consts {
		if len(f.insts) > 0 && f.insts[len(f.insts)-1].kind.leaves() && f.atEnd(p, masks) {
			break
		}
		n := len(f.insts)
		f.insts = append(f.insts, inst{})
		i := &f.insts[n]
		if !decode(f.code[p:f.consts], i) {
			return false, false
		}
		i.at = int32(p)
		exitAt(f.code[p:f.consts], i)
		f.index[p] = int32(n)
		p = int(i.end())
		switch {
		case i.kind == branch || i.kind == jump || i.kind == call:
			if !f.follow(i) {
				return false, false
			}
		case i.base == rip:
			i.target = -1
			if i.op == opLea {
				masks = append(masks, n)
			} else if !f.constant(i) {
				return false, false
			}
		case i.kind == tailAddress && !f.isTail(n):
			lea, ok := f.jumpTable(n)
			if !ok {
				return false, false
			}
			p += len(f.tables[i.target]) * tableEntry
			masks = remove(masks, lea)
		}
	}
	for _, n := range masks {
		if !f.constant(&f.insts[n]) {
			return false, false
		}
	}
	if n := len(f.insts); n == 0 || !f.insts[n-1].kind.leaves() {
		return false, false
	}
	return true, f.resolve() && known
}

// atEnd reports whether p is behind the last instruction: at the padding, or at a
// constant whose address one of masks takes.
func (f *function) atEnd(p int, masks []int) bool {
	if rest := f.code[p:f.consts]; len(rest) < 16 && len(bytes.Trim(rest, "\x00")) == 0 {
		return true
	}
	for _, n := range masks {
		if i := &f.insts[n]; i.end()+i.disp == int32(p) {
			return true
		}
	}
	return false
}

// constant notes a constant behind the code.
func (f *function) constant(i *inst) bool {
	to := int64(i.end()) + int64(i.disp)
	if last := f.insts[len(f.insts)-1]; to < int64(last.end()) || to >= int64(len(f.code)) {
		return false
	}
	f.consts = min(f.consts, int32(to))
	return true
}

// follow sets the target of a branch, jump or call: an offset in the function, or in
// the module if it leaves the function.
func (f *function) follow(i *inst) bool {
	to := int64(i.end()) + int64(i.imm)
	inside := to > 0 && to < int64(len(f.code))
	if i.kind == jump && !inside {
		i.kind = tail
	}
	if i.kind == branch || i.kind == jump {
		i.target = int32(to)
		return inside
	}
	to += int64(f.start)
	i.target = int32(to)
	return to >= 0 && to == int64(i.target)
}

// isTail reports whether the jump to an address is a tail call: it is behind the end
// of a frame.
func (f *function) isTail(n int) bool {
	return n > 0 && f.insts[n-1].op == opPop && f.insts[n-1].reg == rbp
}

// jumpTable reads the table behind the jump n. See lowerBrTable:
//
//	mov max, length-1; cmp i, max; cmovnb i, max; lea r, table; add r, [r+8*i]; jmp r
//
// lea is the instruction that takes its address.
func (f *function) jumpTable(n int) (lea int, ok bool) {
	j := &f.insts[n]
	if n == 0 || j.rm == none {
		return 0, false
	}
	add := &f.insts[n-1]
	if add.op != 0x03 || !add.wide || add.reg != j.rm || add.base != j.rm || add.idx == none || add.scale != 3 || add.disp != 0 {
		return 0, false
	}
	lea, ok1 := f.writer(n-1, bit(j.rm))
	cmov, ok2 := f.writer(n-1, bit(add.idx))
	if !ok1 || !ok2 || f.insts[cmov].op != 0x0F43 || f.insts[cmov].rm == none {
		return 0, false
	}
	limit := f.insts[cmov].rm
	cmp, ok1 := f.writer(cmov, flags)
	load, ok2 := f.writer(cmov, bit(limit))
	if !ok1 || !ok2 || f.insts[cmp].op != 0x39 || f.insts[cmp].reg != limit || f.insts[cmp].rm != add.idx {
		return 0, false
	}
	last, p := f.insts[load].imm, j.end()
	switch l := &f.insts[load]; {
	case l.op == opXor && l.rm == l.reg:
		last = 0
	case l.op != opMovImm || last < 0 || last >= maxTable:
		return 0, false
	}
	l := &f.insts[lea]
	if l.op != opLea || l.base != rip || l.end()+l.disp != p || int64(last+1)*tableEntry > int64(f.consts-p) {
		return 0, false
	}
	t := make([]int32, last+1)
	for k := range t {
		t[k] = p + int32(binary.LittleEndian.Uint64(f.code[p+int32(k)*tableEntry:]))
	}
	j.kind, j.target, l.target = table, int32(len(f.tables)), int32(len(f.tables))
	f.tables = append(f.tables, t)
	return lea, true
}

// writer returns the instruction that has written one of a set of registers last
// before n.
func (f *function) writer(n int, s set) (int, bool) {
	const most = 16
	for k := n - 1; k >= 0 && k > n-most && f.insts[k].kind == plain; k-- {
		if f.insts[k].writes&s != 0 {
			return k, true
		}
	}
	return 0, false
}

// resolve turns the offsets of targets into instructions.
func (f *function) resolve() bool {
	to := func(at *int32) bool {
		if *at < 0 || int(*at) >= len(f.index) || f.index[*at] < 0 {
			return false
		}
		*at = f.index[*at]
		return true
	}
	for n := range f.insts {
		if i := &f.insts[n]; (i.kind == jump || i.kind == branch) && !to(&i.target) {
			return false
		}
	}
	for _, t := range f.tables {
		for k := range t {
			if !to(&t[k]) {
				return false
			}
		}
	}
	return true
}

// compact removes the instructions that are gone, and reports whether there are any.
func (f *function) compact() bool {
	first := 0
	for ; first < len(f.insts) && !f.insts[first].gone; first++ {
	}
	if first == len(f.insts) {
		return false
	}
	f.index = resize(f.index, len(f.insts)+1)
	n := int32(0)
	for k := range f.insts {
		f.index[k] = n // or of what follows
		if f.insts[k].gone {
			continue
		}
		if int(n) < k {
			f.insts[n] = f.insts[k]
		}
		n++
	}
	f.index[len(f.insts)] = n
	f.insts = f.insts[:n]
	for k := range f.insts {
		if i := &f.insts[k]; (i.kind == jump || i.kind == branch) && i.target >= 0 {
			i.target = f.index[i.target]
		}
	}
	for _, t := range f.tables {
		for k := range t {
			t[k] = f.index[t[k]]
		}
	}
	return true
}

// stuck returns the bytes behind the last instruction that was decoded.
func (f *function) stuck() []byte {
	p := int32(0)
	if n := len(f.insts); n > 1 {
		p = f.insts[n-2].end()
	}
	return f.code[p:min(int(p)+16, len(f.code))]
}

// resize returns a slice of length n, s if it is long enough. Its elements are of no
// value.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2)
	}
	return s[:n]
}

func remove(s []int, v int) []int {
	kept := s[:0]
	for _, x := range s {
		if x != v {
			kept = append(kept, x)
		}
	}
	return kept
}
