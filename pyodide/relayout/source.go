package relayout

import (
	"encoding/binary"
	"math"
	"sort"
)

// Source is an entry of wazero's source map: the machine code from Code on is of the
// instruction at Wasm in the module's code section. Where an address of a stack trace is
// from, is told by the last entry before it.
type Source struct{ Code, Wasm int32 }

const sourceLen = 16

// sources reads a source map. It reports false if that is not as wazero writes it.
func (r *reader) sources() (list []Source, ok bool) {
	if r.number(1) == 0 {
		return nil, true
	}
	n := r.number(8)
	if !r.ok || n > uint64(len(r.b)/sourceLen) {
		return nil, false
	}
	list = make([]Source, n)
	for k := range list {
		wasm, code := r.number(8), r.number(8)
		if wasm > math.MaxInt32 || code > math.MaxInt32 || k > 0 && int32(code) < list[k-1].Code {
			return nil, false
		}
		list[k] = Source{int32(code), int32(wasm)}
	}
	return list, true
}

// appendSources appends a source map as wazero writes it.
func appendSources(b []byte, list []Source) []byte {
	if len(list) == 0 {
		return append(b, 0)
	}
	b = binary.LittleEndian.AppendUint64(append(b, 1), uint64(len(list)))
	for _, s := range list {
		b = binary.LittleEndian.AppendUint64(b, uint64(s.Wasm))
		b = binary.LittleEndian.AppendUint64(b, uint64(s.Code))
	}
	return b
}

// TakeSources returns a file of wazero's cache without its source map, and that, nil if it
// has none.
func TakeSources(file []byte) ([]byte, []Source) {
	r := reader{file, true}
	r.take(uint64(len(magic)))
	r.take(r.number(1))
	r.take(r.number(4) * offsetLen)
	r.take(r.number(8) + 4)
	if !r.ok {
		return file, nil
	}
	head := len(file) - len(r.b)
	list, ok := r.sources()
	if !ok {
		return file, nil
	}
	return append(append(file[:head:head], 0), r.b...), list
}

// between returns the entries for the code from begin to end.
func between(list []Source, begin, end int32) []Source {
	from := sort.Search(len(list), func(k int) bool { return list[k].Code >= begin })
	return list[from : from+sort.Search(len(list)-from, func(k int) bool { return list[from+k].Code >= end })]
}

// source returns where the instruction at an offset of the function is from, 0 without a
// source map.
func (f *function) source(at int32) int32 {
	n := sort.Search(len(f.sources), func(k int) bool { return f.sources[k].Code > f.start+at })
	if n == 0 {
		return 0
	}
	return f.sources[n-1].Wasm
}

// note makes an entry of the new source map.
func (f *function) note(at int, wasm int32) {
	if len(f.sources) > 0 {
		f.laid.sources = append(f.laid.sources, Source{int32(at), wasm})
	}
}
