package codestore

import (
	"encoding/binary"
	"os"
	"sort"

	"coderunner/pyodide/relayout"
)

// emptyUnit is a compilation unit without anything, version 4: wazero maps machine code to
// the code section of modules with debug information, of which it needs no more.
var emptyUnit = []byte{7, 0, 0, 0, 4, 0, 0, 0, 0, 0, 4}

// takePlaces takes the source map out of a file of wazero's cache. It returns, for each place in
// the machine code, its offset and the two of Source.Of as varints: by how much each differs from
// the one before.
func takePlaces(file string, origin func(at uint32) (of, call uint32)) ([]byte, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	b, sources := relayout.TakeSources(b)
	var text []byte
	var code, of, call uint32
	for _, s := range sources {
		o, c := origin(uint32(s.Wasm))
		for _, d := range [...]uint32{uint32(s.Code) - code, o - of, c - call} {
			text = binary.AppendVarint(text, int64(int32(d)))
		}
		code, of, call = uint32(s.Code), o, c
	}
	return text, os.WriteFile(file, b, 0o600)
}

// place is where the code of a frame is from: see Source.Of.
type place struct{ of, call uint32 }

// placesOf returns where the code of each frame is from, nil if nobody knows.
func (s *Stub) placesOf(stack []frame) []place {
	if s == nil || len(s.places) == 0 {
		return nil
	}
	var codes []int // ascending
	var list []place
	var last [3]uint32
	for b := s.places; len(b) > 0; {
		for k := range last {
			d, n := binary.Varint(b)
			if n <= 0 {
				return nil
			}
			last[k], b = last[k]+uint32(d), b[n:]
		}
		codes, list = append(codes, int(last[0])), append(list, place{last[1], last[2]})
	}
	found := make([]place, len(stack))
	for k, f := range stack {
		if n := sort.SearchInts(codes, f.at); n > 0 {
			found[k] = list[n-1]
		}
	}
	return found
}
