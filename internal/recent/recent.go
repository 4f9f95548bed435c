// Package recent is a map for memos that does not grow without bound.
package recent

import "sync"

const (
	limit      = 1024
	maxWeights = 16 << 20
)

// Map keeps the values used last: at least 1024 of them, or 16 MiB if Weigh is set,
// at most twice as many. It is safe for concurrent use. The zero value is ready to
// use.
type Map[K comparable, V any] struct {
	Weigh func(V) int // returns a value's bytes; nil: values are small

	weights  int // of new; guarded by mu
	mu       sync.Mutex
	new, old map[K]V // new becomes old when it has limit values; guarded by mu
}

// Get returns the value of a key.
func (m *Map[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.new[key]
	if !ok {
		if v, ok = m.old[key]; ok {
			m.putLocked(key, v)
		}
	}
	return v, ok
}

// Put sets the value of a key.
func (m *Map[K, V]) Put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.putLocked(key, v)
}

// Update sets the value of a key to what change makes of it, or of the zero value,
// and returns it. Change must not use m.
func (m *Map[K, V]) Update(key K, change func(V) V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.new[key]
	if !ok {
		v = m.old[key]
	}
	v = change(v)
	m.putLocked(key, v)
	return v
}

func (m *Map[K, V]) putLocked(key K, v V) {
	if _, have := m.new[key]; m.new == nil || !have && (len(m.new) >= limit || m.weights >= maxWeights) {
		m.new, m.old, m.weights = map[K]V{}, m.new, 0
	}
	if m.Weigh != nil {
		m.weights += m.Weigh(v)
	}
	m.new[key] = v
}
