// Package dwarf finds the source lines of WebAssembly code by a module's debug information.
//
// debug/dwarf of the standard library is not used, since a module is a program's, which may
// have forged it: a few bytes there make debug/dwarf allocate terabytes, by counts that it
// believes and by names that it joins or copies again and again.
//
// # Sources
//
// DWARF 4 and 5, https://dwarfstd.org, and for WebAssembly
// https://yurydelendik.github.io/webassembly-dwarf: addresses are offsets in the code section.
//
// # Limits
//
// Lines of versions 2 to 5. Inlined functions of versions 2 to 4, which compilers write for
// WebAssembly unless they are told otherwise, in units of 32 bits.
package dwarf

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"coderunner/pyodide/wasmbin"
)

// Frame is a function and where it is in its source. Function and File are "", and Line is 0,
// where nobody knows.
type Frame struct {
	Function string
	File     string
	Line     int
}

// Data is the debug information of a module.
type Data struct {
	sections map[string][]byte
	steps    int // that may still be made: see maxSteps
}

// maxSteps bounds the time: it is the number of attributes and rows that are read at most, for
// all of which an honest module has several bytes.
const maxSteps = 20_000_000

// maxText bounds names, in bytes.
const maxText = 1 << 10

// Open returns the debug information of a module, nil if there are no lines in it.
func Open(wasm []byte) *Data {
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return nil
	}
	d := &Data{sections: map[string][]byte{}}
	for _, s := range m.Sections {
		if s.ID == wasmbin.SecCustom && strings.HasPrefix(s.Name, ".debug_") {
			d.sections[s.Name] = m.Bytes[s.Start:s.End]
		}
	}
	if len(d.sections[".debug_line"]) == 0 {
		return nil
	}
	return d
}

// position is a place in a source: a file by its number in a line program.
type position struct {
	program uint64 // offset of the line program
	file    uint64
	line    uint64
}

// Lookup returns for each offset in the code section the functions there, the innermost first:
// the last is WebAssembly's, into which the others were inlined. There are none where nothing
// is known.
func (d *Data) Lookup(offsets []uint32) [][]Frame {
	d.steps = maxSteps
	at := d.lines(offsets)
	names, inlined := d.functions(offsets)
	found := make([][]Frame, len(offsets))
	for k, p := range at {
		if p.line == 0 && p.file == 0 {
			continue
		}
		for _, i := range slices.Backward(inlined[k]) {
			found[k] = append(found[k], d.frame(i.name, p))
			p = i.at
		}
		found[k] = append(found[k], d.frame(names[k], p))
	}
	return found
}

func (d *Data) frame(function string, p position) Frame {
	return Frame{Function: function, File: d.file(p), Line: int(min(p.line, 1<<31-1))}
}

// reader reads fields in little endian. After what is beyond the end everything is zero.
type reader struct {
	b   []byte
	pos int
	bad bool
}

func (d *Data) reader(section string, at uint64) *reader {
	b := d.sections[section]
	if at > uint64(len(b)) {
		return &reader{bad: true}
	}
	return &reader{b: b, pos: int(at)}
}

func (r *reader) more() bool { return !r.bad && r.pos < len(r.b) }

func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)-r.pos) {
		r.bad = true
		return nil
	}
	r.pos += int(n)
	return r.b[r.pos-int(n) : r.pos]
}

// number reads a number of size bytes, 8 at most.
func (r *reader) number(size uint64) (v uint64) {
	for k, c := range r.take(size) {
		v |= uint64(c) << (8 * k)
	}
	return v
}

func (r *reader) byte() byte { return byte(r.number(1)) }

// leb reads a number in LEB128: unsigned, and the same as signed.
func (r *reader) leb() (u uint64, s int64) {
	for shift := uint(0); ; shift += 7 {
		c := r.byte()
		if shift < 64 {
			u |= uint64(c&0x7f) << shift
		}
		if c < 0x80 {
			if s = int64(u); shift < 57 && c&0x40 != 0 {
				s |= -1 << (shift + 7)
			}
			return u, s
		}
	}
}

func (r *reader) uleb() uint64 {
	u, _ := r.leb()
	return u
}

// text reads a text that ends with a NUL.
func (r *reader) text() []byte {
	n := -1
	if r.more() {
		n = bytes.IndexByte(r.b[r.pos:], 0)
	}
	if n < 0 {
		r.bad = true
		return nil
	}
	return r.take(uint64(n) + 1)[:n]
}

// name returns the text at an offset of a section, nil if it is longer than maxText.
func (d *Data) name(section string, at uint64) []byte {
	r := d.reader(section, at)
	r.b = r.b[:min(uint64(len(r.b)), at+maxText+1)]
	return r.text()
}

// clip returns a text that may be shown.
func clip(b []byte) string { return strings.ToValidUTF8(string(b[:min(len(b), maxText)]), "?") }

// unit reads the length of a unit and returns a reader of what follows of it.
func (r *reader) unit() *reader {
	n := r.number(4)
	begin := r.pos
	if r.take(n); r.bad {
		return &reader{bad: true}
	}
	return &reader{b: r.b[:r.pos], pos: begin}
}

// join returns the name of a file in a directory.
func join(dir, name string) string {
	if dir == "" || path.IsAbs(name) {
		return name
	}
	return path.Join(dir, name)
}
