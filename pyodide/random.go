package pyodide

import (
	"context"
	"crypto/rand"
	"encoding/json"
)

// Interpreters of one snapshot begin with the same state of random and of the generators that
// packages have made. To seed one takes CPython as long as to execute a small program, so the host
// writes the state: a RandomObject of Modules/_randommodule.c is, behind its header, the index of
// the next of 624 words, which is 624 after a seed, and the words.
const (
	generatorIndex = 8
	generatorState = 12
	generatorWords = 624
	maxGenerators  = 16 // that the host seeds
)

// noteGenerators takes the addresses of generators, each with its last word and its index, and
// reports whether the host can seed them.
func (in *Interp) noteGenerators(_ context.Context, argument json.RawMessage) (any, error) {
	var list [][3]uint32
	if err := json.Unmarshal(argument, &list); err != nil {
		return nil, err
	}
	in.generators = nil
	mem := in.mod.Memory()
	for _, g := range list {
		index, ok1 := mem.ReadUint32Le(g[0] + generatorIndex)
		word, ok2 := mem.ReadUint32Le(g[0] + generatorState + 4*(generatorWords-1))
		if !ok1 || !ok2 || word != g[1] || index != g[2] || index != generatorWords || len(list) > maxGenerators {
			in.generators = nil
			return false, nil
		}
		in.generators = append(in.generators, g[0])
	}
	return true, nil
}

// seed makes the generators of a snapshot differ from those of its other interpreters.
func (in *Interp) seed(generators []uint32) error {
	for _, at := range generators[:min(len(generators), maxGenerators)] {
		state, ok := in.mod.Memory().Read(at+generatorState, 4*generatorWords)
		if !ok {
			return errOutOfRange
		}
		_, _ = rand.Read(state) // it never fails
	}
	return nil
}
