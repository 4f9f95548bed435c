package awk

import "fmt"

// entryCost is what an element takes beside its key and its value.
const entryCost = 192

// array is an associative array that remembers the order of insertion.
type array struct {
	m     map[string]*entry
	keys  []string
	users int // parameters of running functions that are this array
}

// entry is an element: a value, or an array once it is used as one.
type entry struct {
	v       value
	sub     *array
	at      int // in keys
	charged int // bytes of v
}

func newArray() *array { return &array{m: map[string]*entry{}} }

func (a *array) has(key string) bool { return a.m[key] != nil }

// get returns the element of a key, which is made.
func (a *array) get(key string) (e *entry, made bool) {
	if e := a.m[key]; e != nil {
		return e, false
	}
	if len(a.keys) > 2*len(a.m)+16 {
		a.keys = a.list()
		for i, k := range a.keys {
			a.m[k].at = i
		}
	}
	e = &entry{at: len(a.keys)}
	a.m[key], a.keys = e, append(a.keys, key)
	return e, true
}

// set makes an element that is charged as part of something else.
func (a *array) set(key string, v value) {
	e, _ := a.get(key)
	e.v = v
}

// put makes or changes an element.
func (m *memory) put(a *array, key string, v value) {
	e, made := a.get(key)
	if made {
		m.hold(int64(len(key)) + entryCost)
	}
	m.set(&e.v, &e.charged, v)
}

// list returns the keys in the order of insertion.
func (a *array) list() []string {
	list := make([]string, 0, len(a.m))
	for i, k := range a.keys {
		if e := a.m[k]; e != nil && e.at == i {
			list = append(list, k)
		}
	}
	return list
}

func (a *array) clear() { a.m, a.keys = map[string]*entry{}, nil }

// cell is a variable: a value, or an array once it is used as one.
type cell struct {
	v       value
	array   *array
	own     bool   // the array was made for this variable
	passed  bool   // the array is the caller's, and counts this parameter
	from    *cell  // the caller's variable that an unset parameter stands for
	elem    *entry // the caller's element that it stands for
	charged int    // bytes of v
}

// arr returns the array of a variable, which is made.
func (c *cell) arr() *array {
	switch {
	case c.array != nil:
	case c.from != nil:
		c.array = c.from.arr()
	case c.elem != nil:
		c.array = c.elem.arr()
	default:
		c.array, c.own = newArray(), true
	}
	return c.array
}

// arr returns the array of an element, which is made.
func (e *entry) arr() *array {
	if e.sub == nil {
		e.sub = newArray()
	}
	return e.sub
}

// scalar refuses an array that is used as a value.
func (r *run) scalar(n *node, key string) {
	r.c.Throw("attempt to use array `%s' in a scalar context", n.name(key))
}

// name is a variable, or an element of it, as messages have it.
func (n *node) name(key string) string {
	for n.op == "index" {
		n = n.a
	}
	if key != "" {
		return fmt.Sprintf("%s[%q]", n.text, key)
	}
	return n.text
}

// arrayOf returns the array that a variable or an element is, which is made.
func (r *run) arrayOf(n *node) *array {
	if n.op == "var" {
		c := r.cell(n)
		if c.array == nil && c.v.kind != unset {
			r.c.Throw("attempt to use scalar `%s' as an array", n.text)
		}
		return c.arr()
	}
	r.enter()
	defer r.c.Leave(frame)
	e, key := r.entry(n)
	if e.sub == nil {
		if e.v.kind != unset {
			r.c.Throw("attempt to use scalar `%s' as an array", n.name(key))
		}
		r.hold(entryCost)
	}
	return e.arr()
}

// entry returns the element that n names, which is made, and its key.
func (r *run) entry(n *node) (*entry, string) {
	key := r.subscript(n.list)
	return r.at(n, key), key
}

// at returns the element of n's array with the given key, which is made.
func (r *run) at(n *node, key string) *entry {
	e, made := r.arrayOf(n.a).get(key)
	if made {
		r.hold(int64(len(key)) + entryCost)
	}
	return e
}

// either returns the array that an expression is, nil if it is a value, and the value.
func (r *run) either(n *node) (*array, value) {
	switch n.op {
	case "var":
		c := r.cell(n)
		if c.array != nil || c.from != nil && c.from.array != nil || c.elem != nil && c.elem.sub != nil {
			return c.arr(), value{}
		}
	case "index":
		e, _ := r.entry(n)
		return e.sub, e.v
	}
	return nil, r.eval(n)
}
