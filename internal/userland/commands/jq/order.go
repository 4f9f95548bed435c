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
// in its own order where that is not the one of others with the same keys; or else in
// the order of the objects with the same keys that were read or that the filter
// made; or else by when each key was first used in .[f], if all
// were; or else by where each was first seen: as a key of the input, in the filter,
// as a string of the input.
type order struct {
	own      map[uintptr]ordering // by the address of the object
	owned    int                  // keys in it
	sets     map[string][]string
	fixed    map[string]bool   // sets that the filter has
	seen     [3]map[string]int // by origin
	used     map[string]int
	literals []literal
}

// ordering is the order of one object's keys. It holds the object, whose address no
// other one then gets.
type ordering struct {
	object map[string]any
	keys   []string
}

// The origins of what may be a key.
const (
	inKey = iota
	inFilter
	inString
)

func newOrder() *order {
	return &order{own: map[uintptr]ordering{}, sets: map[string][]string{}, fixed: map[string]bool{}, seen: [3]map[string]int{{}, {}, {}}, used: map[string]int{}}
}

// maxOrders bounds what order remembers.
const maxOrders = 1 << 16

// see notes what may be a key.
func (o *order) see(origin int, k string) {
	if first := o.seen[origin]; len(first) < maxOrders {
		if _, ok := first[k]; !ok {
			first[k] = len(first)
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

// note notes the keys of an object, which is nil in the filter.
func (o *order) note(origin int, keys []string, object map[string]any) {
	for _, k := range keys {
		o.see(origin, k)
	}
	id := set(keys)
	if origin == inFilter {
		o.fixed[id] = true
	} else if known := o.sets[id]; known != nil {
		if !slices.Equal(keys, known) {
			o.differs(object, keys)
		}
		return
	}
	if o.sets[id] != nil || len(o.sets) < maxOrders {
		o.sets[id] = keys
	}
}

// differs notes the order of an object that others with the same keys may not have.
func (o *order) differs(object map[string]any, keys []string) {
	if o.owned += len(keys) + 1; o.owned > maxOrders {
		clear(o.own)
		o.owned = len(keys) + 1
	}
	o.own[address(object)] = ordering{object, keys}
}

func set(keys []string) string {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	return strings.Join(sorted, "\x00")
}

// keysOf returns the keys of an object in order.
func (o *order) keysOf(object map[string]any) []string {
	if own, ok := o.own[address(object)]; ok {
		return own.keys
	}
	keys := slices.Sorted(maps.Keys(object))
	return o.arrange(keys)
}

// arrange puts sorted keys in the order of others that are the same.
func (o *order) arrange(keys []string) []string {
	if len(keys) == 0 {
		return nil
	}
	if known := o.sets[strings.Join(keys, "\x00")]; known != nil {
		return known
	}
	rank := o.rank
	if !slices.ContainsFunc(keys, o.unused) {
		rank = func(k string) int { return o.used[k] }
	}
	slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
	return keys
}

// ordered are the functions that show the order of keys. gojq's own sort them.
var ordered = sync.OnceValues(func() (*gojq.Query, error) {
	return gojq.Parse(`
		def _each: if type == "object" then .[_keys[]] else .[] end;
		def _add: add;
		def add: if type == "object" then reduce _each as $x (null; _plus(.; $x)) else _union | _add end;
		def keys_unsorted: if type == "object" then _keys else keys end;
		def map(f): [_each | f];
		def map_values(f): . as $before | (_each |= f) | _kept($before);
		def walk(f): def w: if type == "object" then map_values(w) elif type == "array" then map(w) else . end | f; w;
		def recurse: def r: ., (_each? | r); r;
		def paths: path(recurse) | select(. != []);
		def paths(f): . as $in | paths | select(. as $p | $in | getpath($p) | f);
		def leaf_paths: paths(scalars);
		def to_entries: [keys_unsorted[] as $k | {key: $k, value: .[$k]}];
		def _from_entries: from_entries;
		def from_entries: . as $list | _from_entries | _entries($list);
		def INDEX(stream; f): reduce stream as $x ({}; .[$x | f | tostring | _used] |= $x);
		def INDEX(f): INDEX(_each; f);
		def tostream: path(def r: (_each? | r), .; r) as $p | getpath($p) | reduce path(_each?) as $q ([$p, .]; [$p + $q]);
		def with_entries(f): to_entries | map(f) | from_entries;
		def debug(f): (f | debug | empty), .;
		def _ltrimstr($x): ltrimstr($x);
		def ltrimstr($x): if type == "string" and ($x | type) == "string" then _ltrimstr($x) else . end;
		def _rtrimstr($x): rtrimstr($x);
		def rtrimstr($x): if type == "string" and ($x | type) == "string" then _rtrimstr($x) else . end;
		def tojson: _json;
		def tostring: if type == "string" then . else _json end;
		.`)
})

// rewrite notes the objects that a filter makes, and has what iterates over objects
// do so in their order.
func (o *order) rewrite(q *gojq.Query) error {
	prelude, err := ordered()
	if err != nil {
		return err
	}
	terms(reflect.ValueOf(q), o.term, query)
	q.FuncDefs = slices.Concat(prelude.FuncDefs, q.FuncDefs)
	return nil
}

// terms calls f with all terms of a syntax tree and query with all queries, the inner
// ones first.
func terms(v reflect.Value, f func(*gojq.Term), query func(*gojq.Query)) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		terms(v.Elem(), f, query)
		switch t := v.Interface().(type) {
		case *gojq.Term:
			f(t)
		case *gojq.Query:
			query(t)
		}
	case reflect.Slice:
		for i := range v.Len() {
			terms(v.Index(i), f, query)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			terms(v.Field(i), f, query)
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
		o.object(t, keys)
	}
	index(t.Index)
	for _, s := range t.SuffixList {
		index(s.Index)
	}
	if t.Str != nil && t.Str.Queries == nil {
		o.see(inFilter, t.Str.Str)
	}
	change(t)
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
	for _, k := range o.keysOf(object) {
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
		k, err := d.Token()
		if err != nil {
			return nil, unexpected(err)
		}
		key, _ := k.(string) // as the decoder has checked
		if _, again := object[key]; !again {
			keys = append(keys, key)
		}
		if object[key], err = o.value(d, depth+1); err != nil {
			return nil, err
		}
	}
	o.note(inKey, keys, object)
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
