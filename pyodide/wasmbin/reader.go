package wasmbin

import (
	"fmt"
	"unicode/utf8"
)

// Reader reads the fields of one section or body of a module. The first thing
// that goes wrong sticks: Err returns it, and from then on every method returns
// zero and nothing is left to read, so that loops over Len end.
type Reader struct {
	b        []byte
	pos, end int
	section  string
	err      *FormatError
}

// NewReader returns a Reader of b[start:end], which must be within b. Offsets
// are relative to b; section names the part in errors.
func NewReader(b []byte, start, end int, section string) *Reader {
	return &Reader{b: b, pos: start, end: end, section: section}
}

// Err returns the first error, a *FormatError, or nil.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Pos is the offset of the next byte.
func (r *Reader) Pos() int { return r.pos }

// Len is the number of bytes left, 0 after an error.
func (r *Reader) Len() int { return r.end - r.pos }

// Fail records an error unless there is one already.
func (r *Reader) Fail(at int, format string, a ...any) {
	if r.err == nil {
		r.err = &FormatError{r.section, at, fmt.Sprintf(format, a...)}
	}
	r.pos = r.end
}

func (r *Reader) truncated() { r.Fail(r.pos, "ends too early") }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if r.pos >= r.end {
		r.truncated()
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

// Bytes reads n bytes, which alias the module.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > r.Len() {
		r.truncated()
		return nil
	}
	r.pos += n
	return r.b[r.pos-n : r.pos : r.pos]
}

// U32 reads an unsigned LEB128 number.
func (r *Reader) U32() uint32 {
	if r.pos < r.end {
		if c := r.b[r.pos]; c < 0x80 {
			r.pos++
			return uint32(c)
		}
	}
	var v uint32
	for s := 0; s < 35; s += 7 {
		c := r.Byte()
		if s == 28 && c > 0x0f {
			break
		}
		v |= uint32(c&0x7f) << s
		if c < 0x80 {
			return v
		}
	}
	r.Fail(r.pos, "number does not fit 32 bits")
	return 0
}

// signed reads a signed LEB128 number of at most n bytes.
func (r *Reader) signed(n int) int64 {
	var v int64
	for i := range n {
		c := r.Byte()
		v |= int64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if s := 7 * (i + 1); s < 64 && c&0x40 != 0 {
				v |= -1 << s
			}
			return v
		}
	}
	r.Fail(r.pos, "number is longer than %d bytes", n)
	return 0
}

// S32 reads a signed LEB128 number of 32 bits.
func (r *Reader) S32() int32 {
	at := r.pos
	v := r.signed(5)
	if v != int64(int32(v)) {
		r.Fail(at, "number does not fit 32 bits")
		return 0
	}
	return int32(v)
}

// S33 reads a signed LEB128 number of 33 bits, as block types are.
func (r *Reader) S33() int64 { return r.signed(5) }

// S64 reads a signed LEB128 number of 64 bits.
func (r *Reader) S64() int64 { return r.signed(10) }

// Count reads the length of a vector whose elements take at least size bytes
// each, and refuses what cannot be there or exceeds limit: the result may be
// used to allocate.
func (r *Reader) Count(what string, size, limit int) int {
	at := r.pos
	n := int(r.U32())
	if n > limit {
		r.Fail(at, "%d %s, at most %d are supported", n, what, limit)
		return 0
	}
	if n > r.Len()/size {
		r.Fail(at, "%d %s in %d bytes", n, what, r.Len())
		return 0
	}
	return n
}

// Name reads a string.
func (r *Reader) Name() string {
	at := r.pos
	b := r.Bytes(r.Count("bytes in a name", 1, maxName))
	if !utf8.Valid(b) {
		r.Fail(at, "name is not UTF-8")
		return ""
	}
	return string(b)
}

func (r *Reader) names() []string {
	n := r.Count("names", 1, maxImports)
	var out []string
	for i := 0; i < n && r.err == nil; i++ {
		out = append(out, r.Name())
	}
	return out
}

// ValType reads a value type.
func (r *Reader) ValType() ValType {
	t := ValType(r.Byte())
	if r.err == nil && !t.Known() {
		r.Fail(r.pos-1, "unsupported value type %#x", byte(t))
	}
	return t
}

func (r *Reader) valTypes(what string, limit int) []ValType {
	n := r.Count(what, 1, limit)
	if n == 0 {
		return nil
	}
	out := make([]ValType, n)
	for i := range out {
		out[i] = r.ValType()
	}
	return out
}

// index reads an index below n.
func (r *Reader) index(what string, n int) uint32 {
	at := r.pos
	i := r.U32()
	if r.err == nil && int(i) >= n {
		r.Fail(at, "%s index %d out of range (%d)", what, i, n)
		return 0
	}
	return i
}

// limits reads the size of a table or memory.
func (r *Reader) limits(what string, ceiling uint32) (l Limits) {
	at := r.pos
	f := r.Byte()
	if f > 1 && !(f == 3 && what == "memory") {
		r.Fail(at, "unsupported %s flags %#x", what, f)
		return l
	}
	l.Min, l.HasMax, l.Shared = r.U32(), f&1 != 0, f == 3
	if l.HasMax {
		l.Max = r.U32()
	}
	if l.Min > ceiling || l.HasMax && l.Max < l.Min {
		r.Fail(at, "%s of %d to %d, at most %d are supported", what, l.Min, l.Max, ceiling)
	}
	return l
}
