package relayout

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// sample is an instruction of a form.
type sample struct {
	enc []byte
	inst
}

// samples returns n encodings of each opcode, prefix, digit and width that the tables
// have, with random operands. Memory operands are aligned, and have no register as
// base or index that is rsp or rbp.
func samples(t *testing.T, r *rand.Rand, n int) (out []sample) {
	escapes := [][]byte{nil, {0x0F}, {0x0F, 0x38}, {0x0F, 0x3A}}
	for k, forms := range []*[256]form{one(), two(), three38(), three3A()} {
		for op, f := range forms {
			if k == 1 && op == 0xAE { // mfence has no operands
				continue
			}
			for digit := range byte(8) {
				g := f
				if f.group != nil {
					g = f.group[digit]
				} else if digit > 0 {
					break
				}
				for p, prefix := range [][]byte{nil, {0x66}, {0xF2}, {0xF3}} {
					if g.pre&(1<<p) == 0 {
						continue
					}
					for range n {
						b := bytes.Clone(prefix)
						if f.lock {
							b = append(b, 0xF0)
						}
						wide := byte(r.IntN(2)) << 3
						m, high := operands(r, g, f.group != nil, digit)
						b = append(append(append(b, 0x40|wide|high), escapes[k]...), byte(op))
						if f.modrm {
							b = append(b, m...)
						}
						for range 12 { // the immediate, and what follows
							b = append(b, byte(r.Uint32()))
						}
						s := sample{enc: b}
						if !decode(b, &s.inst) {
							t.Fatalf("% x is not decoded", b)
						}
						s.enc = b[:s.size]
						out = append(out, s)
					}
				}
			}
		}
	}
	return out
}

// operands returns ModRM and what follows, and the bits of REX.
func operands(r *rand.Rand, f form, group bool, digit byte) (b []byte, high byte) {
	pick := func() byte {
		for {
			if n := byte(r.IntN(16)); bit(reg(n))&frame == 0 {
				return n
			}
		}
	}
	reg, rm := pick(), pick()
	if !group {
		digit, high = reg&7, reg>>3<<2
	}
	if !f.noReg && (f.noMem || r.IntN(2) == 0) {
		return []byte{0xC0 | digit<<3 | rm&7}, high | rm>>3
	}
	idx := pick()
	for idx == rm {
		idx = pick()
	}
	if r.IntN(3) > 0 {
		return []byte{0x44 | digit<<3, byte(r.IntN(4))<<6 | idx&7<<3 | rm&7, byte(r.IntN(4) * 16)}, high | idx>>3<<1 | rm>>3
	}
	b = []byte{0x80 | digit<<3 | rm&7}
	if rm&7 == byte(rsp) {
		b = append(b, 0x24)
	}
	return append(b, byte(r.IntN(4)*16), 0, 0, 0), high | rm>>3
}

// general returns the number of a general register.
func general(r x86asm.Reg) (reg, bool) {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return reg(r - x86asm.AL), true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return reg(r-x86asm.SPB) + 4, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return reg(r - x86asm.AX), true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return reg(r - x86asm.EAX), true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return reg(r - x86asm.RAX), true
	}
	return none, false
}

// withoutModRM reports whether the instruction has its register in the opcode, or a lock: encode
// is not for it.
func withoutModRM(s *sample) bool {
	return s.op == opPush || s.op == opPop || s.op == opMovImm || s.op == 0x99 || bytes.Contains(s.enc[:min(2, len(s.enc))], []byte{0xF0})
}

// TestDecoder compares lengths and operands with those of another decoder.
func TestDecoder(t *testing.T) {
	unsupported := 0
	all := samples(t, rand.New(rand.NewPCG(3, 4)), 20)
	for _, s := range all {
		x, err := x86asm.Decode(s.enc, 64)
		if err != nil {
			t.Logf("% x: %v", s.enc, err)
			unsupported++
			continue
		}
		if s.kind == plain && !withoutModRM(&s) {
			if again, err := x86asm.Decode(s.encode(nil, s.enc), 64); err != nil || again.String() != x.String() {
				t.Errorf("% x: %v is encoded as %v", s.enc, x, again)
			}
		}
		if x.Len != int(s.size) {
			t.Errorf("% x: %v has %d bytes, not %d", s.enc, x, x.Len, s.size)
		}
		var operands set
		for _, a := range x.Args {
			switch a := a.(type) {
			case x86asm.Reg:
				if r, ok := general(a); ok && a != x86asm.CL {
					operands |= bit(r)
				}
			case x86asm.Mem:
				base, _ := general(a.Base)
				idx, ok := general(a.Index)
				if base != s.base || idx != s.idx || ok && int(a.Scale) != 1<<s.scale || a.Disp != int64(s.disp) {
					t.Errorf("% x: %v, not base %d, index %d, scale %d, displacement %d", s.enc, x, s.base, s.idx, s.scale, s.disp)
				}
			}
		}
		if want := bit(s.reg) | bit(s.rm); operands&^want != 0 || want&^(operands|1<<rcx) != 0 {
			t.Errorf("% x: %v has the registers %b, not %b", s.enc, x, operands, want)
		}
	}
	t.Logf("%d instructions, %d of them the other decoder does not know", len(all), unsupported)
	if unsupported > len(all)/100 {
		t.Error("too little was compared")
	}
}
