package dwarf

import "slices"

// What is read of .debug_info, by the numbers of DWARF.
const (
	tagInlined    = 0x1d
	tagSubprogram = 0x2e

	attrName          = 0x03
	attrStmtList      = 0x10
	attrLowPC         = 0x11
	attrHighPC        = 0x12
	attrOrigin        = 0x31
	attrSpecification = 0x47
	attrRanges        = 0x55
	attrCallFile      = 0x58
	attrCallLine      = 0x59

	formAddr     = 0x01
	formRefAddr  = 0x10
	formIndirect = 0x16
)

// value is the value of an attribute.
type value struct {
	form   uint64
	number uint64
	text   []byte
}

// sizes are those of forms, in bytes.
var sizes = map[uint64]uint64{0x05: 2, 0x06: 4, 0x07: 8, 0x0b: 1, 0x0c: 1, 0x0e: 4, formRefAddr: 4, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8,
	0x17: 4, 0x19: 0, 0x1f: 4, 0x20: 8, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2a: 2, 0x2b: 3, 0x2c: 4}

// value reads an attribute of a form.
func (d *Data) value(r *reader, form, addressSize uint64) (v value) {
	for form == formIndirect && r.more() {
		form = r.uleb()
	}
	v.form = form
	switch form {
	case formAddr:
		v.number = r.number(addressSize)
	case 0x03: // blocks
		r.take(r.number(2))
	case 0x04:
		r.take(r.number(4))
	case 0x0a:
		r.take(r.number(1))
	case 0x09, 0x18:
		r.take(r.uleb())
	case 0x1e: // data16
		r.take(16)
	case 0x08: // string
		v.text = r.text()
		d.steps -= len(v.text) / maxText
	case 0x0d: // sdata
		_, n := r.leb()
		v.number = uint64(n)
	case 0x0f, 0x15, 0x1a, 0x1b, 0x22, 0x23: // udata, ref_udata, indices
		v.number = r.uleb()
	default:
		n, ok := sizes[form]
		v.number = r.number(n)
		r.bad = r.bad || !ok
	}
	switch form {
	case 0x0e:
		v.text = d.name(".debug_str", v.number)
	case 0x1f:
		v.text = d.name(".debug_line_str", v.number)
	}
	return v
}

// info is a unit of .debug_info.
type info struct {
	d       *Data
	begin   int // offset
	r       *reader
	address uint64         // size of one
	abbrevs map[uint64]int // offsets by code
	base    uint64         // of ranges
	program uint64         // offset of its line program
}

// maxAbbrevs bounds the abbreviations of a unit.
const maxAbbrevs = 1 << 16

// info reads the header of the next unit, nil if it is of a version that is not read.
func (d *Data) info(r *reader) *info {
	u := &info{d: d, begin: r.pos, abbrevs: map[uint64]int{}}
	u.r = r.unit()
	version := u.r.number(2)
	a := d.reader(".debug_abbrev", u.r.number(4))
	u.address = u.r.number(1)
	if u.r.bad || version < 2 || version > 4 || u.address > 8 {
		return nil
	}
	for len(u.abbrevs) < maxAbbrevs && a.more() && d.steps > 0 {
		code := a.uleb()
		if code == 0 {
			break
		}
		u.abbrevs[code] = a.pos
		a.uleb() // tag
		a.take(1)
		for d.steps > 0 && a.more() {
			d.steps--
			if attr, form := a.uleb(), a.uleb(); attr == 0 && form == 0 {
				break
			}
		}
	}
	return u
}

// unitAt returns the unit with what is at an offset.
func (d *Data) unitAt(at uint64) *info {
	for r := d.reader(".debug_info", 0); r.more() && d.steps > 0; d.steps-- {
		begin := *r
		if r.unit(); uint64(r.pos) > at {
			return d.info(&begin)
		}
	}
	return nil
}

// entry reads an entry, of gets its attributes. The tag is 0 at the end of an entry's children.
func (u *info) entry(r *reader, of func(attr uint64, v value)) (tag uint64) {
	u.d.steps--
	code := r.uleb()
	if code == 0 {
		return 0
	}
	at, ok := u.abbrevs[code]
	if !ok {
		r.bad = true
		return 0
	}
	a := u.d.reader(".debug_abbrev", uint64(at))
	tag = a.uleb()
	a.take(1) // whether it has children
	for !a.bad && !r.bad && u.d.steps > 0 {
		attr, form := a.uleb(), a.uleb()
		if attr == 0 && form == 0 {
			break
		}
		u.d.steps--
		of(attr, u.d.value(r, form, u.address))
	}
	r.bad = r.bad || u.d.steps <= 0
	return tag
}

// maxInlined bounds the functions that are inlined in one another.
const maxInlined = 32

// call is a function that was inlined, and where its call was.
type call struct {
	name string
	at   position
}

// scope is what is read of an entry.
type scope struct{ name, program, low, high, origin, ranges, file, line value }

func (s *scope) read(attr uint64, v value) {
	switch attr {
	case attrName:
		s.name = v
	case attrStmtList:
		s.program = v
	case attrLowPC:
		s.low = v
	case attrHighPC:
		s.high = v
	case attrOrigin, attrSpecification:
		s.origin = v
	case attrRanges:
		s.ranges = v
	case attrCallFile:
		s.file = v
	case attrCallLine:
		s.line = v
	}
}

// functions returns the name of the function at each offset, and those that were inlined
// there, the outermost first.
func (d *Data) functions(offsets []uint32) (names []string, inlined [][]call) {
	names, inlined = make([]string, len(offsets)), make([][]call, len(offsets))
	for r := d.reader(".debug_info", 0); r.more() && d.steps > 0; {
		if u := d.info(r); u != nil {
			u.functions(offsets, names, inlined)
		}
	}
	return names, inlined
}

func (u *info) functions(offsets []uint32, names []string, inlined [][]call) {
	within := make([]bool, len(offsets)) // the function whose entry was the last
	for first := true; u.r.more(); first = false {
		s := scope{}
		tag := u.entry(u.r, s.read)
		here := func(at uint32) bool { return u.covers(&s, uint64(at)) }
		switch code := s.high.form != 0 || s.ranges.form != 0; {
		case first:
			if u.base, u.program = s.low.number, s.program.number; code && !slices.ContainsFunc(offsets, here) {
				return
			}
		case tag == tagSubprogram && code:
			for k, at := range offsets {
				if within[k] = here(at); within[k] {
					names[k] = s.called(u)
				}
			}
		case tag == tagInlined:
			for k, at := range offsets {
				if within[k] && len(inlined[k]) < maxInlined && here(at) {
					inlined[k] = append(inlined[k], call{s.called(u), position{u.program, s.file.number, s.line.number}})
				}
			}
		}
	}
}

// covers reports whether an entry's code has an offset. What the linker has left out is at 0.
func (u *info) covers(s *scope, at uint64) bool {
	if s.ranges.form == 0 {
		end := s.high.number
		if s.high.form != formAddr {
			end += s.low.number
		}
		return s.low.number != 0 && s.low.number <= at && at < end
	}
	base, last := u.base, uint64(1)<<(8*u.address)-1
	for r := u.d.reader(".debug_ranges", s.ranges.number); r.more() && u.d.steps > 0; u.d.steps-- {
		switch begin, end := r.number(u.address), r.number(u.address); {
		case begin == 0 && end == 0:
			return false
		case begin == last:
			base = end
		case base+begin <= at && at < base+end && base+begin != 0:
			return true
		}
	}
	return false
}

// called returns the name of an entry's function, "" if it has none.
func (s scope) called(u *info) string {
	const most = 4 // a concrete function refers to an abstract one, that to a declaration
	for range most {
		if len(s.name.text) > 0 {
			return clip(s.name.text)
		}
		at := s.origin.number
		if s.origin.form != formRefAddr {
			at += uint64(u.begin)
		} else if !u.has(at) {
			u = u.d.unitAt(at)
		}
		if s.origin.form == 0 || u == nil || !u.has(at) {
			break
		}
		r := reader{b: u.r.b, pos: int(at)}
		s = scope{}
		u.entry(&r, s.read)
	}
	return ""
}

// has reports whether an offset is in the unit.
func (u *info) has(at uint64) bool { return uint64(u.begin) <= at && at < uint64(len(u.r.b)) }
