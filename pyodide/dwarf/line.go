package dwarf

// program is the header of a line program, and reads the program.
type program struct {
	*reader
	at              uint64 // offset of the program
	version         uint64
	length, base    int // of an instruction; the least step of lines
	steps, standard uint64
	lengths         []byte  // of the operands of standard opcodes
	tables          *reader // of directories and files
}

// Standard and extended opcodes.
const (
	lnsCopy = iota + 1
	lnsAdvancePC
	lnsAdvanceLine
	lnsSetFile
	lnsConstAddPC = 8
	lnsFixedPC    = 9

	lneEnd     = 1
	lneAddress = 2
)

// program reads the header of the next line program. It returns nil if that is not one.
func (d *Data) program(r *reader) *program {
	p := &program{at: uint64(r.pos)}
	p.reader = r.unit()
	p.version = p.number(2)
	if p.version >= 5 {
		p.take(2) // size of addresses and of segments
	}
	begin := p.number(4)
	begin += uint64(p.pos)
	p.length = int(p.byte())
	if p.version >= 4 {
		p.take(1) // operations of an instruction
	}
	p.take(1) // whether rows are statements
	p.base, p.steps, p.standard = int(int8(p.byte())), p.number(1), p.number(1)
	p.lengths = p.take(max(p.standard, 1) - 1)
	tables := *p.reader
	p.tables = &tables
	if p.bad || p.version < 2 || p.version > 5 || p.steps == 0 || begin < uint64(p.pos) || begin > uint64(len(p.b)) {
		return nil
	}
	p.pos = int(begin)
	return p
}

// lines returns where the code at each offset is from.
func (d *Data) lines(offsets []uint32) []position {
	found := make([]position, len(offsets))
	for r := d.reader(".debug_line", 0); r.more(); {
		if p := d.program(r); p != nil {
			d.rows(p, func(begin, end uint64, file, line uint64) {
				for k, at := range offsets {
					if begin <= uint64(at) && uint64(at) < end {
						found[k] = position{p.at, file, line}
					}
				}
			})
		}
	}
	return found
}

// rows executes a line program: row is called for each part of the code with one line. A
// linker leaves programs of functions that are not in the module, which begin at 0.
func (d *Data) rows(p *program, row func(begin, end, file, line uint64)) {
	var at, first, last uint64 // addresses: of now, of the sequence's first row, of its last
	file, line, rows := uint64(1), int64(1), 0
	var lastFile, lastLine uint64
	emit := func() {
		if rows == 0 {
			first = at
		} else if first != 0 && last < at {
			row(last, at, lastFile, lastLine)
		}
		rows, last, lastFile, lastLine = rows+1, at, file, uint64(max(line, 0))
	}
	advance := func(n uint64) { at += n * uint64(p.length) }
	for p.more() && d.steps > 0 {
		d.steps--
		op := uint64(p.byte())
		switch {
		case op >= p.standard:
			op -= p.standard
			advance(op / p.steps)
			line += int64(p.base) + int64(op%p.steps)
			emit()
		case op == 0:
			n := p.uleb()
			next := uint64(p.pos) + n
			if n == 0 || p.bad || n > uint64(len(p.b)-p.pos) {
				return
			}
			switch p.byte() {
			case lneEnd:
				emit()
				at, rows, file, line = 0, 0, 1, 1
			case lneAddress:
				at = p.number(min(n-1, 8))
			}
			p.pos = int(next)
		case op == lnsCopy:
			emit()
		case op == lnsAdvancePC:
			advance(p.uleb())
		case op == lnsAdvanceLine:
			_, n := p.leb()
			line += n
		case op == lnsSetFile:
			file = p.uleb()
		case op == lnsConstAddPC:
			advance((255 - p.standard) / p.steps)
		case op == lnsFixedPC:
			at += p.number(2)
		default:
			for range p.lengths[op-1] {
				p.uleb()
			}
		}
	}
}

// file returns the name of a position's file, "" if it has none.
func (d *Data) file(p position) string {
	h := d.program(d.reader(".debug_line", p.program))
	if h == nil {
		return ""
	}
	if h.version >= 5 {
		return d.file5(h, p.file)
	}
	dirs := h.tables
	skipped := *dirs
	for len(skipped.text()) > 0 {
	}
	for n := uint64(1); skipped.more(); n++ {
		name := skipped.text()
		dir := skipped.uleb()
		skipped.uleb() // time
		skipped.uleb() // size
		if len(name) == 0 {
			break
		}
		if n != p.file {
			continue
		}
		for ; dir > 1 && len(dirs.text()) > 0; dir-- {
		}
		if dir == 0 {
			return clip(name)
		}
		return join(clip(dirs.text()), clip(name))
	}
	return ""
}

// file5 is file for version 5, whose entries have the attributes that come before them.
func (d *Data) file5(h *program, file uint64) string {
	const path, directory = 1, 2
	entry := func(number uint64) (name []byte, dir uint64) {
		formats := h.tables.take(0)
		count := h.tables.byte()
		begin := h.tables.pos
		for range 2 * int(count) {
			h.tables.uleb()
		}
		if h.tables.bad {
			return nil, 0
		}
		formats = h.tables.b[begin:h.tables.pos]
		for n, all := uint64(0), h.tables.uleb(); n < all && h.tables.more() && d.steps > 0; n++ {
			f := reader{b: formats}
			for range count {
				d.steps--
				kind := f.uleb()
				v := d.value(h.tables, f.uleb(), 4)
				if n == number && kind == path {
					name = v.text
				} else if n == number && kind == directory {
					dir = v.number
				}
			}
			if count == 0 {
				break
			}
		}
		return name, dir
	}
	before := *h.tables
	entry(0)
	name, dir := entry(file)
	*h.tables = before
	in, _ := entry(dir)
	if dir == 0 {
		return clip(name)
	}
	return join(clip(in), clip(name))
}
