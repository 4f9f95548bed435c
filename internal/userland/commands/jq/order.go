package jq

import (
	"encoding/json"
	"errors"
	"io"
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

// maxJSON bounds the nesting of JSON that is read.
const maxJSON = 10000

// decode decodes one value and notes the order of keys. The error is io.EOF only if
// the input ends before the first one.
func (o *order) decode(d *json.Decoder, depth int) (any, error) {
	if depth == 0 {
		o.value++
	}
	t, err := d.Token()
	if depth > 0 {
		err = unexpected(err)
	}
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		switch t := t.(type) {
		case json.Number:
			return numbers(t), nil
		case string:
			o.see(inString, t)
		}
		return t, nil
	}
	if depth > maxJSON {
		return nil, errors.New("Exceeds depth limit for parsing")
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			v, err := o.decode(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, o.end(d)
	}
	object, keys := map[string]any{}, []string{}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, unexpected(err)
		}
		key, _ := k.(string) // as the decoder has checked
		if _, again := object[key]; !again {
			keys = append(keys, key)
		}
		if object[key], err = o.decode(d, depth+1); err != nil {
			return nil, err
		}
	}
	o.note(inKey, keys)
	return object, o.end(d)
}

// end reads the end of a list or an object.
func (o *order) end(d *json.Decoder) error {
	_, err := d.Token()
	return unexpected(err)
}

// unexpected returns the error of an input that ends within a value.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
