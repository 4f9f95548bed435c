package relayout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Stats are what was done.
type Stats struct {
	Functions     int // all
	Kept          int // of them, those left as they were
	Before, After int // bytes of code
	Exits, Stubs  int // the exits, and what became of them
	Dead          int // instructions of which nothing was read
	Conditions    int // comparisons of what is known by the flags
	Sums          int // copies and additions that became one instruction
}

// Shape is how many arguments and results of a function are integers or references, which are in
// general registers.
type Shape struct{ Arguments, Results int }

// ErrForeign is the error for code that is not as this package expects: nothing is
// done with it.
var ErrForeign = errors.New("the machine code is not laid out as wazero " + wazeroVersion + " does for amd64")

// foreign returns ErrForeign with the reason.
func foreign(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrForeign, fmt.Sprintf(format, a...))
}

const functionAlign = 16

// module is the code of a module while it is laid out.
type module struct {
	code    []byte
	offsets []int32 // of the functions, ascending
	sources []Source
	entries []set   // the arguments that they may read
	shapes  []Shape // nil: nothing is known of them
	decoded []decoded
	room    atomic.Int64 // for instructions of decoded
	parts   []laid
	stats   []Stats
}

// maxDecoded bounds the instructions that are decoded once, of 48 bytes each. Functions
// beyond that are decoded a second time.
const maxDecoded = 1 << 20

func newModule(code []byte, offsets []int32, sources []Source, shapes []Shape) *module {
	n := len(offsets)
	m := &module{code: code, offsets: offsets, sources: sources, entries: make([]set, n), shapes: shapes, decoded: make([]decoded, n), parts: make([]laid, n), stats: make([]Stats, n)}
	m.room.Store(maxDecoded)
	return m
}

// layOut lays out the functions at the offsets of code. It returns new code, offsets and
// sources.
func layOut(code []byte, offsets []int32, sources []Source, shapes []Shape) ([]byte, []int32, []Source, Stats, error) {
	if int64(len(code)) > math.MaxInt32/2 {
		return nil, nil, nil, Stats{}, foreign("it has %d bytes", len(code))
	}
	if shapes != nil && len(shapes) != len(offsets) {
		return nil, nil, nil, Stats{}, foreign("it has %d functions instead of %d", len(offsets), len(shapes))
	}
	m := newModule(code, offsets, sources, shapes)
	if offsets[0] != 0 {
		return nil, nil, nil, Stats{}, foreign("its first function is at %d", offsets[0])
	}
	for n := range offsets {
		if begin, end := m.bounds(n); begin < 0 || begin >= end || int(end) > len(code) {
			return nil, nil, nil, Stats{}, foreign("function %d is at %d to %d of %d", n, begin, end, len(code))
		}
	}
	// What a function may read of its arguments is known before the dead copies in
	// its callers are looked for.
	if err := m.each(func(f *function, n int) error { return m.findEntry(f, n) }); err != nil {
		return nil, nil, nil, Stats{}, err
	}
	if err := m.each(func(f *function, n int) error { return m.layFunction(f, n) }); err != nil {
		return nil, nil, nil, Stats{}, err
	}
	return m.join()
}

// bounds returns where function n is in the old code.
func (m *module) bounds(n int) (begin, end int32) {
	if n+1 < len(m.offsets) {
		return m.offsets[n], m.offsets[n+1]
	}
	return m.offsets[n], int32(len(m.code))
}

// entry returns the arguments that the function at an offset may read.
func (m *module) entry(target int32) set {
	if n, ok := slices.BinarySearch(m.offsets, target); ok {
		return m.entries[n]
	}
	return arguments
}

// shape returns the registers that may have function n's arguments, and its results.
func (m *module) shape(n int) (in, out set) {
	if m.shapes == nil {
		return arguments, arguments
	}
	const contexts = 2
	return first(contexts + m.shapes[n].Arguments), first(m.shapes[n].Results)
}

// load decodes function n, moves its exits away and simplifies it. It reports false if
// the function is to be kept.
func (m *module) load(f *function, n int) (known bool, err error) {
	begin, end := m.bounds(n)
	f.sources = between(m.sources, begin, end)
	f.params, f.results = m.shape(n)
	decoded, known := f.decode(m.code, begin, end)
	if !decoded {
		return false, foreign("function %d has an instruction that it does not use: % x", n, f.stuck())
	}
	if !known || !f.findContext() {
		return false, nil
	}
	exits := 0
	for k := range f.insts {
		if f.insts[k].kind == jump && f.insts[k].target < 0 {
			exits++
		}
	}
	m.stats[n].Exits = exits
	f.simplify()
	return true, nil
}

// findEntry finds which arguments function n may read.
func (m *module) findEntry(f *function, n int) error {
	m.entries[n] = arguments
	known, err := m.load(f, n)
	if !known {
		return err
	}
	f.liveness(worst)
	m.entries[n] = f.blocks[0].live&f.params | 1<<rax // the prologue reads rax
	if m.room.Add(-int64(len(f.insts))) >= 0 {
		d := f.decoded
		d.insts, d.tables, d.stubs = slices.Clone(d.insts), slices.Clone(d.tables), slices.Clone(d.stubs)
		m.decoded[n] = d
	}
	return nil
}

// layFunction lays out function n.
func (m *module) layFunction(f *function, n int) error {
	part, s := &m.parts[n], &m.stats[n]
	if d := &m.decoded[n]; d.insts != nil {
		f.decoded, *d = *d, decoded{}
	} else if known, err := m.load(f, n); err != nil {
		return err
	} else if !known {
		s.Kept++
		*part = f.keep()
		return nil
	}
	f.shareValues()
	s.Dead = f.removeDead(m.entry)
	f.fuseTests()
	s.Conditions = f.fuseConditions()
	f.foldConstants()
	s.Sums = f.fuseSums()
	f.foldSums()
	f.spareClamps()
	f.compact()
	f.simplify()
	f.emit()
	s.Stubs = len(f.stubs)
	*part = laid{slices.Clone(f.laid.code), slices.Clone(f.laid.calls), slices.Clone(f.laid.exits), slices.Clone(f.laid.sources)}
	return nil
}

// keep returns a function as it is.
func (f *function) keep() laid {
	l := laid{code: f.code} // whose constants and tables are relative to it
	for n := range f.insts {
		if i := &f.insts[n]; i.kind == call || i.kind == tail {
			l.calls = append(l.calls, fixup{i.at + 1, i.target})
		}
	}
	for _, s := range f.sources {
		l.sources = append(l.sources, Source{s.Code - f.start, s.Wasm})
	}
	return l
}

// join puts the functions behind one another, and the rests of their exits behind
// them.
func (m *module) join() (out []byte, offsets []int32, sources []Source, s Stats, err error) {
	offsets = make([]int32, len(m.parts))
	size := 0
	for n := range m.parts {
		offsets[n] = int32(size)
		size = (size + len(m.parts[n].code) + functionAlign - 1) &^ (functionAlign - 1)
	}
	out = make([]byte, 0, size+1<<10)
	for n := range m.parts {
		out = append(pad(out, functionAlign), m.parts[n].code...)
	}
	rests := map[int32]int32{}
	fix := func(at int32, target int32) { binary.LittleEndian.PutUint32(out[at:], uint32(target-at-4)) }
	for n := range m.parts {
		p := &m.parts[n]
		for _, s := range p.sources {
			sources = append(sources, Source{offsets[n] + s.Code, s.Wasm})
		}
		for _, c := range p.calls {
			k, ok := slices.BinarySearch(m.offsets, c.target)
			if !ok {
				return nil, nil, nil, Stats{}, foreign("function %d calls %d, which is none", n, c.target)
			}
			fix(offsets[n]+c.at, offsets[k])
		}
		for _, e := range p.exits {
			rest, ok := rests[e.target]
			if !ok {
				out = pad(out, functionAlign)
				rest = int32(len(out))
				out = appendRest(out, uint32(e.target))
				rests[e.target] = rest
			}
			fix(offsets[n]+e.at, rest)
		}
		t := &m.stats[n]
		s.Kept, s.Exits, s.Stubs, s.Dead, s.Conditions, s.Sums = s.Kept+t.Kept, s.Exits+t.Exits, s.Stubs+t.Stubs, s.Dead+t.Dead, s.Conditions+t.Conditions, s.Sums+t.Sums
	}
	s.Functions, s.Before, s.After = len(m.offsets), len(m.code), len(out)
	return out, offsets, sources, s, nil
}

// each calls do for each function, on all processors.
func (m *module) each(do func(f *function, n int) error) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(m.offsets))
	errs := make([]error, workers)
	for w := range workers {
		wait.Go(func() {
			var f function
			for errs[w] == nil {
				n := int(next.Add(1)) - 1
				if n >= len(m.offsets) {
					return
				}
				errs[w] = do(&f, n)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
