package jq

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/itchyny/gojq"
)

// order remembers in which order keys were written. gojq's objects are Go maps
// and lose it; jq prints objects as they were read or made. An object is printed
// in the order of one with the same keys, or else by where each key was first seen.
type order struct {
	sets  map[string][]string
	first map[string]int
}

// maxOrders bounds what order remembers.
const maxOrders = 1 << 16

func (o *order) note(keys []string) {
	for _, k := range keys {
		if _, ok := o.first[k]; !ok && len(o.first) < maxOrders {
			o.first[k] = len(o.first)
		}
	}
	if id := set(keys); o.sets[id] == nil && len(o.sets) < maxOrders {
		o.sets[id] = slices.Clone(keys)
	}
}

func set(keys []string) string {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	return strings.Join(sorted, "\x00")
}

// sort puts the keys of an object in order.
func (o *order) sort(keys []string) []string {
	slices.Sort(keys)
	if known := o.sets[strings.Join(keys, "\x00")]; known != nil {
		return known
	}
	slices.SortStableFunc(keys, func(a, b string) int {
		x, ok1 := o.first[a]
		y, ok2 := o.first[b]
		switch {
		case ok1 && ok2:
			return x - y
		case ok1:
			return -1
		case ok2:
			return 1
		}
		return 0
	})
	return keys
}

// ordered are the functions that show the order of keys. gojq's own sort them.
var ordered = sync.OnceValues(func() (*gojq.Query, error) {
	return gojq.Parse(`
		def _each: if type == "object" then .[_keys[]] else .[] end;
		def _add: add;
		def add: if type == "object" then reduce _each as $x (null; . + $x) else _add end;
		def keys_unsorted: if type == "object" then _keys else keys end;
		def map(f): [_each | f];
		def map_values(f): _each |= f;
		def recurse: def r: ., (_each? | r); r;
		def paths: path(recurse) | select(. != []);
		def paths(f): . as $in | paths | select(. as $p | $in | getpath($p) | f);
		def leaf_paths: paths(scalars);
		def to_entries: [keys_unsorted[] as $k | {key: $k, value: .[$k]}];
		def with_entries(f): to_entries | map(f) | from_entries;
		.`)
})

// rewrite notes the objects that a filter makes, and has what iterates over objects
// do so in their order.
func (o *order) rewrite(q *gojq.Query) error {
	prelude, err := ordered()
	if err != nil {
		return err
	}
	terms(reflect.ValueOf(q), o.term)
	q.FuncDefs = slices.Concat(prelude.FuncDefs, q.FuncDefs)
	return nil
}

// terms calls f with all terms of a syntax tree, the inner ones first.
func terms(v reflect.Value, f func(*gojq.Term)) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		terms(v.Elem(), f)
		if t, ok := v.Interface().(*gojq.Term); ok {
			f(t)
		}
	case reflect.Slice:
		for i := range v.Len() {
			terms(v.Index(i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			terms(v.Field(i), f)
		}
	}
}

func (o *order) term(t *gojq.Term) {
	if t.Object != nil {
		var keys []string
		for _, kv := range t.Object.KeyVals {
			key := strings.TrimPrefix(kv.Key, "$")
			if kv.KeyString != nil {
				key = kv.KeyString.Str
			}
			keys = append(keys, key)
		}
		o.note(keys)
	}
	call := func(name string) *gojq.Term {
		return &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name}}
	}
	if t.Type == gojq.TermTypeRecurse {
		t.Type, t.Func = gojq.TermTypeFunc, &gojq.Func{Name: "recurse"}
	}
	for {
		i := slices.IndexFunc(t.SuffixList, func(s *gojq.Suffix) bool { return s.Iter })
		if i < 0 {
			return
		}
		inner, rest := *t, t.SuffixList[i+1:]
		inner.SuffixList = t.SuffixList[:i]
		*t = gojq.Term{Type: gojq.TermTypeQuery, SuffixList: rest,
			Query: &gojq.Query{Left: &gojq.Query{Term: &inner}, Op: gojq.OpPipe, Right: &gojq.Query{Term: call("_each")}}}
	}
}

// keys is the function _keys: the keys of an object in their order.
func (o *order) keys(v any, _ []any) any {
	object, _ := v.(map[string]any)
	list := []any{}
	for _, k := range o.sort(slices.Collect(maps.Keys(object))) {
		list = append(list, k)
	}
	return list
}

// maxJSON bounds the nesting of JSON that is read.
const maxJSON = 10000

// value decodes one value and notes the order of keys. The error is io.EOF only if
// the input ends before the first one.
func (o *order) value(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err == io.EOF && depth > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		if n, ok := t.(json.Number); ok {
			return numbers(n), nil
		}
		return t, nil
	}
	if depth > maxJSON {
		return nil, errors.New("Exceeds depth limit for parsing")
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			v, err := o.value(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, o.end(d)
	}
	object, keys := map[string]any{}, []string{}
	for d.More() {
		k, err := o.value(d, depth+1)
		if err != nil {
			return nil, err
		}
		key, _ := k.(string) // as the decoder has checked
		if _, again := object[key]; !again {
			keys = append(keys, key)
		}
		if object[key], err = o.value(d, depth+1); err != nil {
			return nil, err
		}
	}
	o.note(keys)
	return object, o.end(d)
}

// end reads the end of a list or an object.
func (o *order) end(d *json.Decoder) error {
	if _, err := d.Token(); err != io.EOF {
		return err
	}
	return io.ErrUnexpectedEOF
}
