package jq

import (
	"context"
	"reflect"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"

	"github.com/itchyny/gojq"

	"coderunner/internal/userland/commands/command"
)

// maxPath bounds the paths that a filter is on, which gojq recurses over.
const maxPath = 200_000

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
		if v.Kind() == reflect.Map && v.Type().Key().Kind() != reflect.String { // the addresses that an update has made
			m.size += 16 * int64(v.Len())
			return
		}
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
