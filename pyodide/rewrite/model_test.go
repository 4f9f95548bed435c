package rewrite

// What a generated program means: an interpreter over its statements that knows
// exceptions as values, and nothing of wasm.

type program struct{ funcs [][]*stmt }

// Statements.
const (
	doMix      = iota // acc = acc*31 + v
	doSetLocal        // x = v
	doBlock
	doLoop
	doIf
	doBranch // if c, br label with v; or br_table c table…, label
	doThrow
	doCall // mix(f(v)), how: directly, through the table
	doReturn
	doRethrow
	doTry
)

// tagPayload has the tags that carry a value.
var tagPayload = []bool{true, true, false, true}

type stmt struct {
	kind     int
	v, c     value
	body     []*stmt
	other    []*stmt // else
	typed    bool    // block, try: has an i32 result, mixed in afterwards
	param    bool    // try: takes v, mixed in first
	label    int
	table    []int
	tag, fn  int
	how      int
	always   bool
	delegate bool
	clauses  []catch
}

func (s *stmt) hasResult() bool { return s.typed && (s.kind == doBlock || s.kind == doTry) }

type catch struct {
	tag  int // -1: all
	body []*stmt
}

const (
	valueConst = iota
	valueLocal
	valueAcc
	valueBit // n & (local or acc)
)

type value struct {
	kind int
	n    int32
	of   int
}

type exc struct {
	tag int
	v   int32
}

// Ways in which a statement ends.
const (
	goesOn = iota
	branches
	throws
	returns
	callsInstead // return_call
)

type signal struct {
	how   int
	depth int // labels still to leave, of branches and delegated exceptions
	v     int32
	e     exc
	fn    int
}

type model struct {
	p      *program
	acc    int32
	fuel   int32
	x      int32
	frames []exc // what each enclosing statement caught

	thrown, caught, rethrown, delegated int
}

const fuelPerFunc = 120

func (m *model) mix(v int32) { m.acc = m.acc*31 + v }

func (m *model) eval(v value) int32 {
	switch v.kind {
	case valueConst:
		return v.n
	case valueLocal:
		return m.x
	case valueAcc:
		return m.acc
	}
	if v.of == valueLocal {
		return v.n & m.x
	}
	return v.n & m.acc
}

// burn reports whether the program has gone on for too long.
func (m *model) burn() bool { m.fuel--; return m.fuel < 0 }

func (m *model) main(x int32) int32 {
	for f := range m.p.funcs {
		m.fuel = fuelPerFunc
		v, e := m.call(f, x)
		switch {
		case e == nil:
			m.mix(v)
		case e.tag == 1:
			m.mix(e.v)
		default:
			m.mix(77)
		}
	}
	return m.acc
}

func (m *model) call(f int, x int32) (int32, *exc) {
	oldX, oldFrames := m.x, m.frames
	defer func() { m.x, m.frames = oldX, oldFrames }()
	for {
		m.x, m.frames = x, nil
		if m.burn() {
			return m.x, nil
		}
		s := m.run(m.p.funcs[f])
		switch s.how {
		case goesOn:
			return m.x, nil
		case throws:
			return 0, &s.e
		case callsInstead:
			f, x = s.fn, s.v
		default:
			return s.v, nil
		}
	}
}

func (m *model) run(list []*stmt) signal {
	for _, s := range list {
		if sig := m.exec(s); sig.how != goesOn {
			return sig
		}
	}
	return signal{}
}

// inside runs a part of a structured statement; e is what it caught. It takes
// one label off signals that go further.
func (m *model) inside(list []*stmt, e exc) (sig signal, here bool) {
	m.frames = append(m.frames, e)
	sig = m.run(list)
	m.frames = m.frames[:len(m.frames)-1]
	if sig.how == branches || sig.how == throws {
		if here = sig.depth == 0; !here {
			sig.depth--
		}
	}
	return sig, here
}

func (m *model) exec(s *stmt) signal {
	switch s.kind {
	case doMix:
		m.mix(m.eval(s.v))
	case doSetLocal:
		m.x = m.eval(s.v)
	case doIf:
		part := s.body
		if m.eval(s.v) == 0 {
			part = s.other
		}
		if sig, here := m.inside(part, exc{}); !(here && sig.how == branches) {
			return sig
		}
	case doBlock:
		return m.result(s, s.body, exc{})
	case doLoop:
		for {
			if m.burn() {
				return signal{how: returns, v: m.x}
			}
			if sig, here := m.inside(s.body, exc{}); !(here && sig.how == branches) {
				return sig
			}
		}
	case doTry:
		return m.try(s)
	default:
		return m.jump(s)
	}
	return signal{}
}

// result runs a part of a block or try and mixes in the result it has.
func (m *model) result(s *stmt, part []*stmt, e exc) signal {
	sig, here := m.inside(part, e)
	switch {
	case sig.how == goesOn && s.typed:
		m.mix(m.eval(s.v))
	case here && sig.how == branches:
		if s.typed {
			m.mix(sig.v)
		}
		return signal{}
	}
	return sig
}

func (m *model) try(s *stmt) signal {
	if s.param {
		m.mix(m.eval(s.v))
	}
	m.frames = append(m.frames, exc{})
	sig := m.run(s.body)
	m.frames = m.frames[:len(m.frames)-1]
	switch {
	case sig.how == goesOn:
		if s.typed {
			m.mix(m.eval(s.v))
		}
		return sig
	case sig.how == branches && sig.depth == 0:
		if s.typed {
			m.mix(sig.v)
		}
		return signal{}
	case sig.how == throws && sig.depth == 0 && s.delegate:
		m.delegated++
		sig.depth = s.label
		return sig
	case sig.how == throws && sig.depth == 0:
		for _, c := range s.clauses {
			if c.tag < 0 || c.tag == sig.e.tag {
				m.caught++
				if c.tag >= 0 && tagPayload[c.tag] {
					m.mix(sig.e.v)
				}
				return m.result(s, c.body, sig.e)
			}
		}
		return sig
	}
	if sig.depth > 0 {
		sig.depth--
	}
	return sig
}

func (m *model) jump(s *stmt) signal {
	switch s.kind {
	case doBranch:
		c := m.eval(s.c)
		if s.table != nil {
			l := s.label
			if uint32(c) < uint32(len(s.table)) {
				l = s.table[c]
			}
			return signal{how: branches, depth: l}
		}
		if c != 0 {
			return signal{how: branches, depth: s.label, v: m.eval(s.v)}
		}
	case doThrow:
		if s.always || m.eval(s.c) != 0 {
			m.thrown++
			return signal{how: throws, e: exc{s.tag, m.eval(s.v)}}
		}
	case doRethrow:
		if m.eval(s.c) != 0 {
			m.rethrown++
			return signal{how: throws, e: m.frames[len(m.frames)-1-s.label]}
		}
	case doCall:
		v, e := m.call(s.fn, m.eval(s.v))
		if e != nil {
			return signal{how: throws, e: *e}
		}
		m.mix(v)
	case doReturn:
		if m.eval(s.c) == 0 {
			break
		}
		if s.how == 0 {
			return signal{how: returns, v: m.eval(s.v)}
		}
		return signal{how: callsInstead, v: m.eval(s.v), fn: s.fn}
	}
	return signal{}
}
