package jq

// walker takes a value apart as --stream does: an event [path, value] for each leaf, and
// [path] of the last element at the end of each array and object.
type walker struct {
	order *order
	stack []level
	path  []any
}

// level is an array or object that the walker is in.
type level struct {
	array  []any
	object map[string]any
	keys   []string // of object
	next   int
}

func (l *level) len() int { return len(l.array) + len(l.keys) }

// key is the index or the name of an element.
func (l *level) key(i int) any {
	if l.object != nil {
		return l.keys[i]
	}
	return i
}

// start begins a value, and returns its event if it is a leaf.
func (w *walker) start(v any) (event any, leaf bool) {
	if w.enter(v) {
		return nil, false
	}
	return []any{[]any{}, v}, true
}

// enter goes into an array or an object with elements.
func (w *walker) enter(v any) bool {
	var l level
	switch v := v.(type) {
	case []any:
		l.array = v
	case map[string]any:
		l.object, l.keys = v, w.order.keysOf(v)
	}
	if l.len() == 0 {
		return false
	}
	w.stack = append(w.stack, l)
	return true
}

// next returns the next event, and false at the end of the value.
func (w *walker) next() (event any, ok bool) {
	for len(w.stack) > 0 {
		l := &w.stack[len(w.stack)-1]
		if l.next == l.len() {
			event = []any{w.at(l.key(l.next - 1))}
			w.stack = w.stack[:len(w.stack)-1]
			w.path = w.path[:max(0, len(w.path)-1)]
			return event, true
		}
		key := l.key(l.next)
		l.next++
		var v any
		if l.object != nil {
			v = l.object[key.(string)]
		} else {
			v = l.array[l.next-1]
		}
		if w.enter(v) {
			w.path = append(w.path, key)
			continue
		}
		return []any{w.at(key), v}, true
	}
	return nil, false
}

// at is the path of an element here.
func (w *walker) at(key any) []any {
	return append(append(make([]any, 0, len(w.path)+1), w.path...), key)
}
