package relayout

import "encoding/binary"

// laid is the new code of a function.
type laid struct {
	code  []byte
	calls []fixup // of functions, by their offset in the module's old code
	exits []fixup // of the rests of exits, by their code

	sources []Source // of calls, exits and what grows the stack
}

// fixup is a distance of 4 bytes at an offset of the code.
type fixup struct{ at, target int32 }

// short is the length of branches whose target is near.
const short = 2

// emit writes the new code of the function: the prologue, the instructions, the
// stubs, what grows the stack, jump tables and constants.
func (f *function) emit() {
	at, stubs := f.place()
	f.laid.calls, f.laid.exits, f.laid.sources = f.laid.calls[:0], f.laid.exits[:0], f.laid.sources[:0]
	out := appendPrologue(f.laid.code[:0], f.frame)
	body := int32(len(out))
	tables, constants := f.dataAt(stubs[len(f.stubs)] + int32(len(appendGrowth(nil, f.frame))) + 5)
	for n := range f.insts {
		i := &f.insts[n]
		size := at[n+1] - at[n]
		if i.kind == call || i.kind == callAddress {
			f.note(len(out), f.source(i.at))
		}
		if r, ok := i.clears(f.code); ok {
			out = appendClear(out, r)
		}
		switch old := f.code[i.at:i.end()]; {
		case i.made:
			out = i.append(out)
		case i.now > 0:
			out = i.encode(out, old)
		case (i.kind == jump || i.kind == branch) && size == short:
			op := byte(0xEB)
			if i.kind == branch {
				op = 0x70 | i.cond
			}
			out = append(out, op, byte(target(i.target, at, stubs)-at[n+1]))
		case i.kind == jump:
			out = appendRel(out, target(i.target, at, stubs), 0xE9)
		case i.kind == branch:
			out = appendRel(out, target(i.target, at, stubs), 0x0F, 0x80|i.cond)
		case i.kind == call || i.kind == tail:
			f.laid.calls = append(f.laid.calls, fixup{int32(len(out)) + 1, i.target})
			out = append(out, old...)
		case i.base == rip && i.target >= 0:
			out = appendRel(out, tables[i.target], old[:len(old)-4]...)
		case i.base == rip:
			out = appendRel(out, constants+i.end()+i.disp-f.consts, old[:len(old)-4]...)
		default:
			out = append(out, old...)
		}
	}
	for _, s := range f.stubs {
		f.note(len(out), s.wasm)
		out = s.append(out)
		f.laid.exits = append(f.laid.exits, fixup{int32(len(out)) - 4, int32(s.code)})
	}
	f.note(len(out), f.source(0))
	binary.LittleEndian.PutUint32(out[body-growthAt:], uint32(int32(len(out))-(body-growthAt+4)))
	out = appendRel(appendGrowth(out, f.frame), body, 0xE9)
	for k, t := range f.tables {
		out = pad(out, tableEntry)
		for _, n := range t {
			out = binary.LittleEndian.AppendUint64(out, uint64(int64(at[n]-tables[k])))
		}
	}
	if data := f.code[f.consts:]; len(data) > 0 {
		out = append(pad(out, constantAlign), data...)
	}
	f.laid.code = out
}

const constantAlign = 16

// dataAt returns where jump tables and constants are behind code that ends at end.
func (f *function) dataAt(end int32) (tables []int32, constants int32) {
	align := func(n int32) { end = (end + n - 1) &^ (n - 1) }
	for _, t := range f.tables {
		align(tableEntry)
		tables = append(tables, end)
		end += int32(len(t) * tableEntry)
	}
	align(constantAlign)
	return tables, end
}

// place returns where the instructions and the stubs begin, and where each end.
// Branches are short unless their target is too far then.
func (f *function) place() (at, stubs []int32) {
	f.at = resize(f.at, len(f.insts)+1+len(f.stubs)+1)
	at, stubs = f.at[:len(f.insts)+1], f.at[len(f.insts)+1:]
	f.long = resize(f.long, len(f.insts))
	clear(f.long)
	for again := true; again; {
		p := int32(len(appendPrologue(f.laid.code[:0], f.frame)))
		for n := range f.insts {
			at[n] = p
			p += f.size(n)
		}
		at[len(f.insts)] = p
		for k, s := range f.stubs {
			stubs[k] = p
			p += int32(len(s.append(f.laid.code[:0])))
		}
		stubs[len(f.stubs)] = p
		again = false
		for n := range f.insts {
			i := &f.insts[n]
			if i.kind != jump && i.kind != branch || f.long[n] {
				continue
			}
			if d := target(i.target, at, stubs) - at[n+1]; d != int32(int8(d)) {
				f.long[n], again = true, true
			}
		}
	}
	return at, stubs
}

// target returns where an instruction or a stub is.
func target(n int32, at, stubs []int32) int32 {
	if n < 0 {
		return stubs[^n]
	}
	return at[n]
}

// measure notes how long an instruction is that was made or changed.
func (f *function) measure(i *inst) {
	if i.made {
		i.size = uint8(len(i.append(f.laid.code[:0])))
		return
	}
	i.now = uint8(len(i.encode(f.laid.code[:0], f.code[i.at:i.end()])))
}

// size returns how long an instruction is in the new code.
func (f *function) size(n int) int32 {
	i := &f.insts[n]
	size := int32(i.size)
	if i.now > 0 {
		size = int32(i.now)
	}
	if r, ok := i.clears(f.code); ok {
		size += int32(len(appendClear(f.laid.code[:0], r)))
	}
	switch {
	case i.kind == jump && f.long[n]:
		return 5
	case i.kind == branch && f.long[n]:
		return 6
	case i.kind == jump, i.kind == branch:
		return short
	}
	return size
}
