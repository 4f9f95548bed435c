package jq

import (
	"maps"
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// order remembers in which order keys were first seen. gojq's objects are Go maps and
// have none; jq prints an object's keys as they were written. Here an object has the
// order in which the filter first writes its keys together, or else the last value of
// the input or list of entries that does, or else its keys are in the order in which each was first seen:
// as a key of the input, as one that the filter has computed, in the filter, as a
// string of the input.
type order struct {
	c     *command.Call
	sets  map[string]ordering
	value int               // of the input, from 1; 0: the filter
	seen  [4]map[string]int // by origin
}

// ordering is the order of the keys of a set, and the value that has it.
type ordering struct {
	keys  []string
	value int
}

// The origins of what may be a key.
const (
	inKey = iota
	inUse // by .[f] and {(f): 1}
	inFilter
	inString
)

func newOrder(c *command.Call) *order {
	return &order{c: c, sets: map[string]ordering{}, seen: [4]map[string]int{{}, {}, {}, {}}}
}

// maxOrders bounds the keys and the sets of keys that order remembers, maxKey their
// lengths.
const (
	maxOrders = 1 << 16
	maxKey    = 1 << 10
)

// see notes what may be a key.
func (o *order) see(origin int, k string) {
	if first := o.seen[origin]; len(first) < maxOrders && len(k) <= maxKey {
		if _, ok := first[k]; !ok && o.c.Reserve(int64(len(k))+64) == nil {
			first[strings.Clone(k)] = len(first)
		}
	}
}

// rank returns where a key was first seen.
func (o *order) rank(k string) int {
	for origin, first := range o.seen {
		if n, ok := first[k]; ok {
			return origin*maxOrders + n
		}
	}
	return len(o.seen) * maxOrders
}

// note notes the keys of an object.
func (o *order) note(origin int, keys []string) {
	for _, k := range keys {
		o.see(origin, k)
	}
	id := set(keys)
	known, ok := o.sets[id]
	value := o.value
	if origin == inFilter {
		value = 0
	}
	switch {
	case ok && (known.value == 0 || known.value == value):
	case ok:
		o.sets[id] = ordering{keys, value}
	case len(o.sets) < maxOrders && len(id) <= maxKey && o.c.Reserve(int64(2*len(id)+16*len(keys))+64) == nil:
		o.sets[id] = ordering{keys, value}
	}
}

func set(keys []string) string {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	return strings.Join(sorted, "\x00")
}

// keysOf returns the keys of an object in order.
func (o *order) keysOf(object map[string]any) []string {
	keys := slices.Sorted(maps.Keys(object))
	if known, ok := o.sets[strings.Join(keys, "\x00")]; ok {
		return known.keys
	}
	slices.SortStableFunc(keys, func(a, b string) int { return o.rank(a) - o.rank(b) })
	return keys
}

// made notes the order of an object that the filter is about to make of a list.
func (o *order) made(keys []string) {
	id := set(keys)
	if known, ok := o.sets[id]; ok && known.value > 0 {
		o.sets[id] = ordering{keys, known.value}
	} else if !ok {
		o.note(inString, keys)
	}
}

// entries is the function _entries: its input, a list for from_entries.
func (o *order) entries(v any, _ []any) any {
	list, _ := v.([]any)
	var keys []string
	known := map[string]bool{}
	for _, e := range list {
		entry, _ := e.(map[string]any)
		for _, name := range []string{"key", "k", "name", "Name", "Key", "K"} {
			if k, ok := entry[name].(string); ok {
				if !known[k] {
					known[k], keys = true, append(keys, k)
				}
				break
			}
		}
	}
	o.made(keys)
	return v
}

// union notes the order of the sum of a list of objects.
func (o *order) union(list []any) {
	var keys []string
	known := map[string]bool{}
	for _, e := range list {
		object, ok := e.(map[string]any)
		if !ok {
			return
		}
		for _, k := range o.keysOf(object) {
			if !known[k] {
				known[k], keys = true, append(keys, k)
			}
		}
	}
	o.made(keys)
}

// keys is the function _keys: the keys of an object in their order.
func (o *order) keys(v any, _ []any) any {
	object, _ := v.(map[string]any)
	list := []any{}
	for _, k := range o.keysOf(object) {
		list = append(list, k)
	}
	return list
}
