package jq

import (
	"context"
	"errors"
	"math/big"
	"reflect"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/itchyny/gojq"

	"coderunner/internal/userland/commands/command"
)

// maxDepth bounds the nesting of values that are compared, sorted, encoded and the
// like, as jq bounds that of what it reads and prints.
const maxDepth = 10_000

// maxNodes bounds the values that such a function may look at, each as often as it is
// part of another one.
const maxNodes = 1 << 24

// maxPath bounds the paths that a filter is on, which gojq recurses over.
const maxPath = 200_000

// maxIndex is the index from which on one is charged before it may be assigned to.
const maxIndex = 1 << 20

var (
	errDeep  = errors.New("the value is nested too deeply")
	errLarge = errors.New("the value is too large")
)

// limits is the context of a running filter. gojq asks it for Done before every
// instruction, which is where the filter's memory is measured: gojq has no other
// place for it, and charges nothing.
type limits struct {
	context.Context
	c       *command.Call
	order   *order
	env     reflect.Value // gojq's state
	stopped chan struct{}
	failed  error // why the filter was stopped, other than by the context

	steps       int
	collections int64
	allocated   uint64 // by the whole process, when the filter was measured last
	size        int64  // of the filter's values then, charged
}

// The instructions after which a filter looks at the context and at what was
// allocated.
const lookEvery = 1 << 12

// measureEvery is how many bytes the process allocates at least until a filter is
// measured again.
const measureEvery = 16 << 20

func newLimits(c *command.Call, order *order) *limits {
	countCollections()
	return &limits{Context: c.Ctx, c: c, order: order, stopped: make(chan struct{}), allocated: allocated()}
}

// run runs a filter within the limits.
func (l *limits) run(code *gojq.Code, v any, values []any) gojq.Iter {
	iter := code.RunWithContext(l, v, values...)
	l.env = reflect.ValueOf(iter)
	if l.env.Kind() == reflect.Pointer {
		l.env = l.env.Elem()
	}
	return iter
}

// Done is called before every instruction of the filter.
func (l *limits) Done() <-chan struct{} {
	if l.steps++; l.steps >= lookEvery || collections.Load() != l.collections {
		l.steps, l.collections = 0, collections.Load()
		l.look()
	}
	return l.stopped
}

// Err says why the filter was stopped.
func (l *limits) Err() error {
	if l.failed != nil {
		return l.failed
	}
	return l.Context.Err()
}

// stop ends the filter.
func (l *limits) stop(err error) {
	if l.failed == nil && l.Context.Err() == nil {
		l.failed = err
	}
	select {
	case <-l.stopped:
	default:
		close(l.stopped)
	}
}

func (l *limits) look() {
	switch {
	case l.Context.Err() != nil:
		l.stop(nil)
	case l.env.Kind() != reflect.Struct:
	case l.env.FieldByName("paths").Elem().FieldByName("data").Len() > maxPath:
		l.stop(errDeep)
	default:
		// A measure takes as long as making the values, so there are few while there is room.
		if allocated()-l.allocated < uint64(max(measureEvery, min(4*l.size, l.c.FS.Room()/2))) {
			return
		}
		if err := l.charge(l.measure()); err != nil {
			l.stop(err)
		}
		l.allocated = allocated()
	}
}

// charge has size charged in place of what was charged before.
func (l *limits) charge(size int64) error {
	if err := l.c.Reserve(size - l.size); err != nil {
		return err
	}
	l.size = size
	return nil
}

// measure returns how many bytes the values take that the filter holds.
func (l *limits) measure() int64 {
	m := measuring{seen: map[uintptr]bool{}, most: l.size + l.c.FS.Room()}
	for _, name := range []string{"stack", "paths", "scopes"} {
		m.add(l.env.FieldByName(name).Elem().FieldByName("data"))
	}
	m.add(l.env.FieldByName("values"))
	m.add(l.env.FieldByName("forks"))
	for n := 0; len(m.rest) > 0 && m.size < m.most; n++ {
		if n&0xfff == 0 && l.Context.Err() != nil {
			break
		}
		v := m.rest[len(m.rest)-1]
		m.rest = m.rest[:len(m.rest)-1]
		m.add(v)
	}
	return m.size
}

// measuring is a walk over values. A value that is part of two others counts once.
type measuring struct {
	seen map[uintptr]bool
	rest []reflect.Value // which are to be looked at
	size int64
	most int64
}

func (m *measuring) add(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			m.add(v.Elem())
		}
	case reflect.String:
		m.size += int64(v.Len()) + 16
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Field(i); f.Kind() {
			case reflect.Interface, reflect.Slice, reflect.Map:
				m.add(f)
			}
		}
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 || m.seen[v.Pointer()] {
			return
		}
		m.seen[v.Pointer()] = true
		m.size += 32
		if v.Kind() == reflect.Map {
			m.size += 64 * int64(v.Len())
			for i := v.MapRange(); i.Next(); {
				m.size += int64(i.Key().Len())
				m.later(i.Value())
			}
			return
		}
		m.size += int64(v.Cap()) * int64(v.Type().Elem().Size())
		for i := range v.Len() {
			m.later(v.Index(i))
		}
	default:
		m.size += 8
	}
}

// later has what values hold looked at, after what holds them.
func (m *measuring) later(v reflect.Value) {
	if v.Kind() == reflect.Interface {
		if v = v.Elem(); !v.IsValid() {
			return
		}
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Struct:
		m.rest = append(m.rest, v)
	default:
		m.add(v)
	}
}

// collections counts the garbage collections, between which the heap doubles.
var collections atomic.Int64

var countCollections = sync.OnceFunc(func() {
	type sentinel struct{ next *sentinel }
	var again func(*sentinel)
	again = func(s *sentinel) {
		collections.Add(1)
		runtime.SetFinalizer(s, again)
	}
	runtime.SetFinalizer(&sentinel{}, again)
})

// allocated returns how many bytes the process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// walk is a look at a value and all that is in it.
type walk struct {
	l     *limits
	nodes int
}

// fits reports why gojq must not recurse over a value, nil if it may.
func (w *walk) fits(v any, depth int) error {
	if w.nodes++; w.nodes&0xfff == 0 && w.l.Err() != nil {
		return w.l.Err()
	}
	switch {
	case depth > maxDepth:
		return errDeep
	case w.nodes > maxNodes:
		return errLarge
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := w.fits(e, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := w.fits(e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// room reports whether a function may make a value of n bytes.
func (l *limits) room(n int) error {
	if n < 1<<20 {
		return nil
	}
	return l.c.Room(n)
}

// fits is the function _fits: its input, if gojq may recurse over it and make a copy.
func (l *limits) fits(v any, _ []any) any {
	w := walk{l: l}
	var err error
	switch s := v.(type) {
	case string:
		err = l.room(6 * len(s)) // what formats make of it
	case []any, map[string]any:
		if err = w.fits(v, 0); err == nil {
			err = l.room(16 * w.nodes)
		}
	}
	return or(err, v)
}

// or returns an error as a result of a function, or else the value.
func or(err error, v any) any {
	if err != nil {
		return err
	}
	return v
}

// size returns how many values a value is, up to a bound.
func size(v any, most int) (n int) {
	n = 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if n += size(e, most-n); n >= most {
				break
			}
		}
	case map[string]any:
		for _, e := range v {
			if n += size(e, most-n); n >= most {
				break
			}
		}
	}
	return n
}

// maxPairs bounds the pairs of values that a function compares.
const maxPairs = 1 << 28

// pair is the function _pair: its input, if gojq may compare all of it with all of
// another value.
func (l *limits) pair(v any, args []any) any {
	if s, ok := v.(string); ok {
		return or(l.room(32*len(s)), v)
	}
	a, b := walk{l: l}, walk{l: l}
	err := a.fits(v, 0)
	if err == nil {
		err = b.fits(args[0], 0)
	}
	if err == nil && a.nodes > 1 && b.nodes > 1 && a.nodes > maxPairs/b.nodes {
		err = errLarge
	}
	return or(err, v)
}

// path is the function _path: its input, if it is a path that gojq may go.
func (l *limits) path(v any, _ []any) any {
	list, _ := v.([]any)
	if len(list) > maxDepth {
		return errDeep
	}
	l.steps += len(list)
	for _, e := range list {
		if err, bad := l.position(e, nil).(error); bad {
			return err
		}
	}
	return v
}

// position is the function _position: its input, if it is an index that an array has
// room for. A key is noted.
func (l *limits) position(v any, _ []any) any {
	switch n := v.(type) {
	case int:
		if n > maxIndex && n < 1<<40 {
			return or(l.room(16*n), v)
		}
	case float64:
		if n > maxIndex && n < 1<<40 {
			return or(l.room(16*int(n)), v)
		}
	case []any:
		return l.fits(v, nil)
	case string:
		l.order.see(inUse, n)
	}
	return v
}

// sums is the function _sums: its input, if there is room for the sum of its elements.
func (l *limits) sums(v any, _ []any) any {
	list, _ := v.([]any)
	total := 0
	for _, e := range list {
		switch e := e.(type) {
		case string:
			total += len(e)
		case []any:
			total += 16 * len(e)
		case map[string]any:
			total += 64 * len(e)
		}
	}
	return or(l.room(total), v)
}

// joins is the function _joins: its input, if there is room for its elements joined.
func (l *limits) joins(v any, args []any) any {
	list, _ := v.([]any)
	separator, _ := args[0].(string)
	if err, bad := l.sums(v, nil).(error); bad {
		return err
	}
	return or(l.room(len(list)*(len(separator)+8)), v)
}

// table is the function _table: its input, if there is room for it transposed.
func (l *limits) table(v any, _ []any) any {
	rows, _ := v.([]any)
	columns := 0
	for _, row := range rows {
		if r, ok := row.([]any); ok {
			columns = max(columns, len(r))
		}
	}
	return or(l.room(16*len(rows)*columns), v)
}

// digits is the function _digits: its input, if it is not a number of so many digits
// that reading it takes long.
func (l *limits) digits(v any, _ []any) any {
	if s, ok := v.(string); ok && len(s) > maxDigits {
		return errors.New("Cannot be parsed as a number")
	}
	return v
}

// maxDigits bounds the numbers that are not rounded.
const maxDigits = 1000

// rounded returns a number of many digits as a floating-point number, as jq has all.
func rounded(v any) any {
	if n, ok := v.(*big.Int); ok && n.BitLen() > 4*maxDigits {
		f, _ := new(big.Float).SetInt(n).Float64()
		return f
	}
	return v
}

// searches is the function _searches: its input, if gojq may look in it for all
// matches of a regular expression. For each, gojq counts the characters before it.
func (l *limits) searches(v any, args []any) any {
	s, _ := v.(string)
	source, _ := args[0].(string)
	flags, _ := args[1].(string)
	if len(s)+len(source) < 1<<10 {
		return v
	}
	re, err := l.c.Limits().CompileLinear(source)
	if err != nil {
		if re == nil && len(source) > 1<<10 {
			return err
		}
		return v // gojq has the words
	}
	if !re.Short(len(s)) {
		return errLarge
	}
	if strings.Contains(flags, "g") && len(s) > 0 {
		most := maxMatches / len(s)
		if len(re.FindAllSubmatchIndex([]byte(s), most+1)) > most {
			return errLarge
		}
	}
	return v
}

// maxMatches bounds the matches in a string, times its length.
const maxMatches = 1 << 30
