package relayout

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// Version changes whenever File would return other code for the same file.
const Version = "layout 7"

// wazeroVersion is the version of wazero that this package was tested with.
const wazeroVersion = "v1.12.0"

// The file of wazero's cache, in little endian: see serializeCompiledModule.
//
//	magic  length of version: 1  version
//	functions: 4  their offsets: 8 each
//	length of code: 8  code  its CRC-32C: 4
//	source map: 1; if it is 1, its length: 8  entries: 16 each  clauses of exceptions: 4  …
const (
	magic     = "WAZEVO"
	unknown   = "dev" // the version in binaries that do not know it, as tests
	offsetLen = 8
)

// castagnoli returns the table of CRC-32C, which takes 0.15 ms to make.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// reader takes parts off the front of a file.
type reader struct {
	b  []byte
	ok bool
}

func (r *reader) take(n uint64) []byte {
	if r.ok = r.ok && n <= uint64(len(r.b)); !r.ok {
		return nil
	}
	part := r.b[:n:n]
	r.b = r.b[n:]
	return part
}

func (r *reader) number(size uint64) (n uint64) {
	for k, b := range r.take(size) {
		n |= uint64(b) << (8 * k)
	}
	return n
}

// File lays out the code in a file of wazero's cache and returns such a file. shapes
// are those of the functions, or nil. The error is ErrForeign if the file is none that this package knows.
func File(b []byte, shapes []Shape) ([]byte, Stats, error) {
	r := reader{b, true}
	if string(r.take(uint64(len(magic)))) != magic {
		return nil, Stats{}, foreign("no magic")
	}
	if v := string(r.take(r.number(1))); v != wazeroVersion && v != unknown {
		return nil, Stats{}, foreign("it is of version %q", v)
	}
	head := b[:len(b)-len(r.b)]
	count := r.number(4)
	table := reader{r.take(count * offsetLen), r.ok}
	code := r.take(r.number(8))
	sum := r.number(4)
	if uint64(crc32.Checksum(code, castagnoli())) != sum {
		return nil, Stats{}, foreign("its checksum is wrong")
	}
	sources, known := r.sources()
	rest := r.b
	if clauses := r.number(4); !r.ok || !known || clauses != 0 {
		return nil, Stats{}, foreign("it is cut short, or has clauses of exceptions")
	}
	if count == 0 {
		return b, Stats{}, nil
	}
	offsets := make([]int32, count)
	for n := range offsets {
		o := table.number(offsetLen)
		if o > math.MaxInt32 {
			return nil, Stats{}, foreign("function %d is at %d", n, o)
		}
		offsets[n] = int32(o)
	}
	code, offsets, sources, stats, err := layOut(code, offsets, sources, shapes)
	if err != nil {
		return nil, Stats{}, err
	}
	out := make([]byte, 0, len(head)+len(offsets)*offsetLen+len(code)+len(rest)+16)
	out = binary.LittleEndian.AppendUint32(append(out, head...), uint32(count))
	for _, o := range offsets {
		out = binary.LittleEndian.AppendUint64(out, uint64(o))
	}
	out = append(binary.LittleEndian.AppendUint64(out, uint64(len(code))), code...)
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(code, castagnoli()))
	return append(appendSources(out, sources), rest...), stats, nil
}
