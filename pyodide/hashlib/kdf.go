package hashlib

import (
	"context"
	"crypto/hmac"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"math/bits"

	//lint:ignore SA1019 scrypt is defined by its core
	"golang.org/x/crypto/salsa20/salsa"
)

// maxRounds bounds the iterations of one call of PBKDF2: about 10 ms.
const maxRounds = 1 << 14

// PBKDF2 does up to rounds iterations of block number index, counted from 1: U
// is the last value of the pseudorandom function and T the exclusive or of all.
// Both are empty before the first. It returns how many it did.
//
// https://datatracker.ietf.org/doc/html/rfc8018#section-5.2
func PBKDF2(name string, password, salt []byte, index uint32, u, t []byte, rounds int) (_, _ []byte, done int, err error) {
	newHash, err := algorithm(name)
	if err != nil {
		return nil, nil, 0, err
	}
	prf := hmac.New(newHash, password)
	rounds = min(rounds, maxRounds)
	if len(u) == 0 && rounds > 0 {
		prf.Write(salt)
		prf.Write(binary.BigEndian.AppendUint32(nil, index))
		u = prf.Sum(nil)
		t, done = append([]byte{}, u...), 1
	}
	if len(u) != prf.Size() || len(t) != prf.Size() {
		return nil, nil, 0, fmt.Errorf("a block of %s has %d bytes", name, prf.Size())
	}
	for ; done < rounds; done++ {
		prf.Reset()
		prf.Write(u)
		u = prf.Sum(u[:0])
		subtle.XORBytes(t, t, u)
	}
	return u, t, done, nil
}

// ROMixMemory returns the bytes that ROMix allocates for a block of size bytes.
func ROMixMemory(size, n int64) int64 { return (n + 2) * size }

// ROMix is scrypt's function of that name, in place: b has 128 r bytes, n is a
// power of 2. The caller has made sure that there is memory.
//
// https://datatracker.ietf.org/doc/html/rfc7914#section-5
func ROMix(ctx context.Context, b []byte, n int) error {
	const often = 1 << 10 // how many steps there are between looks at ctx
	if len(b) == 0 || len(b)%128 != 0 || n < 2 || bits.OnesCount(uint(n)) != 1 {
		return fmt.Errorf("a block of %d bytes, n of %d", len(b), n)
	}
	v, y := make([]byte, n*len(b)), make([]byte, len(b))
	for i := range n {
		if i%often == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		copy(v[i*len(b):], b)
		blockMix(b, y)
	}
	for i := range n {
		if i%often == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		j := int(binary.LittleEndian.Uint64(b[len(b)-64:]) & uint64(n-1))
		subtle.XORBytes(b, b, v[j*len(b):][:len(b)])
		blockMix(b, y)
	}
	return nil
}

// blockMix is scryptBlockMix in place, with y for as many bytes.
func blockMix(b, y []byte) {
	x := [64]byte(b[len(b)-64:])
	for i := 0; i < len(b); i += 64 {
		subtle.XORBytes(x[:], x[:], b[i:i+64])
		salsa.Core208(&x, &x)
		at := i / 2 // the even ones first, then the odd ones
		if i%128 != 0 {
			at += len(b)/2 - 32
		}
		copy(y[at:], x[:])
	}
	copy(b, y)
}
