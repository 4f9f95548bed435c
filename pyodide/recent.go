package pyodide

import "sync"

// recent keeps the values used last: at least limit of them, at most twice as
// many. It is safe for concurrent use.
type recent[K comparable, V any] struct {
	limit    int
	mu       sync.Mutex
	new, old map[K]V // new becomes old when it has limit values
}

func (r *recent[K, V]) get(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.new[key]
	if !ok {
		if v, ok = r.old[key]; ok {
			r.putLocked(key, v)
		}
	}
	return v, ok
}

func (r *recent[K, V]) put(key K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.putLocked(key, v)
}

func (r *recent[K, V]) putLocked(key K, v V) {
	if r.new == nil || len(r.new) >= r.limit {
		r.new, r.old = map[K]V{}, r.new
	}
	r.new[key] = v
}
