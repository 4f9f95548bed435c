package hashlib

import (
	"encoding/binary"
	"errors"
	"hash"
	"math/bits"
)

// sm3 is the hash of GB/T 32905-2016, the same as in
// https://datatracker.ietf.org/doc/html/draft-sca-cfrg-sm3.
type sm3 struct{ sm3State }

// sm3State is what MarshalBinary writes.
type sm3State struct {
	V      [8]uint32
	Block  [sm3Block]byte // its first Length % sm3Block bytes are not hashed yet
	Length uint64
}

const sm3Block = 64

func newSM3() hash.Hash {
	d := new(sm3)
	d.Reset()
	return d
}

func (d *sm3) Size() int      { return 32 }
func (d *sm3) BlockSize() int { return sm3Block }

func (d *sm3) Reset() {
	d.sm3State = sm3State{V: [8]uint32{
		0x7380166f, 0x4914b2b9, 0x172442d7, 0xda8a0600, 0xa96f30bc, 0x163138aa, 0xe38dee4d, 0xb0fb0e4e,
	}}
}

func (d *sm3) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		used := copy(d.Block[d.Length%sm3Block:], p)
		p = p[used:]
		if d.Length += uint64(used); d.Length%sm3Block == 0 {
			d.compress()
		}
	}
	return n, nil
}

func (d *sm3) Sum(b []byte) []byte {
	end := *d
	padding := make([]byte, 1, 2*sm3Block)
	padding[0] = 0x80
	for (d.Length+uint64(len(padding)))%sm3Block != sm3Block-8 {
		padding = append(padding, 0)
	}
	end.Write(binary.BigEndian.AppendUint64(padding, d.Length*8))
	for _, w := range end.V {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

func (d *sm3) MarshalBinary() ([]byte, error) {
	return binary.Append(nil, binary.BigEndian, d.sm3State)
}

func (d *sm3) UnmarshalBinary(b []byte) error {
	if len(b) != binary.Size(d.sm3State) {
		return errors.New("not a state of sm3")
	}
	_, err := binary.Decode(b, binary.BigEndian, &d.sm3State)
	return err
}

// compress adds the block to v.
func (d *sm3) compress() {
	var w [68]uint32
	for i := range 16 {
		w[i] = binary.BigEndian.Uint32(d.Block[4*i:])
	}
	for i := 16; i < len(w); i++ {
		x := w[i-16] ^ w[i-9] ^ bits.RotateLeft32(w[i-3], 15)
		w[i] = x ^ bits.RotateLeft32(x, 15) ^ bits.RotateLeft32(x, 23) ^ bits.RotateLeft32(w[i-13], 7) ^ w[i-6]
	}
	s := d.V
	for j := range 64 {
		constant, ff, gg := uint32(0x79cc4519), s[0]^s[1]^s[2], s[4]^s[5]^s[6]
		if j >= 16 {
			constant = 0x7a879d8a
			ff, gg = s[0]&s[1]|s[0]&s[2]|s[1]&s[2], s[4]&s[5]|^s[4]&s[6]
		}
		a12 := bits.RotateLeft32(s[0], 12)
		ss1 := bits.RotateLeft32(a12+s[4]+bits.RotateLeft32(constant, j), 7)
		tt1 := ff + s[3] + (ss1 ^ a12) + (w[j] ^ w[j+4])
		tt2 := gg + s[7] + ss1 + w[j]
		s = [8]uint32{tt1, s[0], bits.RotateLeft32(s[1], 9), s[2],
			tt2 ^ bits.RotateLeft32(tt2, 9) ^ bits.RotateLeft32(tt2, 17), s[4], bits.RotateLeft32(s[5], 19), s[6]}
	}
	for i := range d.V {
		d.V[i] ^= s[i]
	}
}
