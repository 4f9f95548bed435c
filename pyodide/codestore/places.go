package codestore

import (
	"bytes"
	"encoding/gob"
	"errors"
	"os"
	"sort"

	"coderunner/pyodide/relayout"
)

// emptyUnit is a compilation unit without anything, version 4: wazero maps machine code to
// the code section of modules with debug information, of which it needs no more.
var emptyUnit = []byte{7, 0, 0, 0, 4, 0, 0, 0, 0, 0, 4}

// places are where machine code is from, by its offsets, as differences to the one before.
type places struct {
	Code     []uint32
	Of, Call []int32
}

// takePlaces takes the source map out of a file of wazero's cache.
func takePlaces(file string, origin func(at uint32) (of, call uint32)) ([]byte, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	b, sources := relayout.TakeSources(b)
	var p places
	var code, of, call uint32
	for _, s := range sources {
		o, c := origin(uint32(s.Wasm))
		p.Code, p.Of, p.Call = append(p.Code, uint32(s.Code)-code), append(p.Of, int32(o-of)), append(p.Call, int32(c-call))
		code, of, call = uint32(s.Code), o, c
	}
	var text bytes.Buffer
	err = errors.Join(os.WriteFile(file, b, 0o600), gob.NewEncoder(&text).Encode(p))
	return text.Bytes(), err
}

// place is where the code of a frame is from: see Source.Of.
type place struct{ of, call uint32 }

// placesOf returns where the code of each frame is from, nil if nobody knows.
func (s *Stub) placesOf(stack []frame) []place {
	var p places
	if s == nil || len(s.places) == 0 || gob.NewDecoder(bytes.NewReader(s.places)).Decode(&p) != nil || len(p.Of) != len(p.Code) || len(p.Call) != len(p.Code) {
		return nil
	}
	list := make([]place, len(p.Code))
	var code uint32
	var last place
	for n, d := range p.Code {
		code += d
		last.of, last.call = last.of+uint32(p.Of[n]), last.call+uint32(p.Call[n])
		p.Code[n], list[n] = code, last
	}
	found := make([]place, len(stack))
	for k, f := range stack {
		if n := sort.Search(len(list), func(n int) bool { return int(p.Code[n]) >= f.at }); n > 0 {
			found[k] = list[n-1]
		}
	}
	return found
}
