package shell

import "math/rand/v2"

// generator is that of RANDOM: bash's, so that a seed gives the same numbers.
type generator struct {
	seed     uint32
	last     int
	unseeded bool // in a subshell that has not used it: it goes on with no numbers of its parent's
}

func (g *generator) next() int {
	if g.unseeded {
		g.reseed(rand.Uint32())
	}
	for {
		last := g.last
		g.seed = parkMiller(g.seed)
		g.last = int((g.seed>>16)^(g.seed&65535)) & 32767
		if g.last != last {
			return g.last
		}
	}
}

// reseed begins the numbers anew.
func (g *generator) reseed(seed uint32) { *g = generator{seed: seed} }

// parkMiller is the minimal standard generator of Park and Miller.
func parkMiller(seed uint32) uint32 {
	if seed == 0 {
		seed = 123459876
	}
	h, l := int64(seed)/127773, int64(seed)%127773
	t := 16807*l - 2836*h
	if t < 0 {
		t += 0x7fffffff
	}
	return uint32(t)
}
