// Package modeltest is what the model tests share: they take the same steps in two places
// and compare the results, and the steps are made from bytes, which come from a random
// source or a fuzzer.
package modeltest

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Choices are made by bytes, one after the other.
type Choices struct{ rest []byte }

// Of returns the choices of a sequence of bytes.
func Of(in []byte) Choices { return Choices{in} }

// Left reports whether there are bytes left.
func (c *Choices) Left() bool { return len(c.rest) > 0 }

// Byte takes the next one; behind the end there are zeros.
func (c *Choices) Byte() int {
	if len(c.rest) == 0 {
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return int(b)
}

// Pick chooses one of several.
func Pick[T any](c interface{ Byte() int }, of ...T) T { return of[c.Byte()%len(of)] }

// Random returns n bytes, the same for the same seeds.
func Random(n int, seed1, seed2 uint64) []byte {
	rng := rand.New(rand.NewPCG(seed1, seed2))
	in := make([]byte, n)
	for i := range in {
		in[i] = byte(rng.Uint32())
	}
	return in
}

// Each runs a test with random sequences of n bytes, a fourth as many of them in
// short tests.
func Each(t *testing.T, sequences, n int, seed uint64, run func(t *testing.T, in []byte)) {
	if testing.Short() {
		sequences /= 4
	}
	for i := range sequences {
		t.Run(fmt.Sprint(i), func(t *testing.T) { run(t, Random(n, uint64(i), seed)) })
	}
}
