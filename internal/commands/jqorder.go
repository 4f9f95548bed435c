package commands

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// jqOrder remembers in which order keys were written. gojq's objects are Go maps
// and lose it; jq prints objects as they were read or made. An object is printed
// in the order of one with the same keys, or else by where each key was first seen.
type jqOrder struct {
	sets  map[string][]string
	first map[string]int
}

// maxOrders bounds what jqOrder remembers.
const maxOrders = 1 << 16

func (o *jqOrder) note(keys []string) {
	for _, k := range keys {
		if _, ok := o.first[k]; !ok && len(o.first) < maxOrders {
			o.first[k] = len(o.first)
		}
	}
	if id := jqSet(keys); o.sets[id] == nil && len(o.sets) < maxOrders {
		o.sets[id] = slices.Clone(keys)
	}
}

func jqSet(keys []string) string {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	return strings.Join(sorted, "\x00")
}

// sort puts the keys of an object in order.
func (o *jqOrder) sort(keys []string) []string {
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

// query notes the objects that a filter makes.
func (o *jqOrder) query(q *gojq.Query) {
	if q == nil {
		return
	}
	o.query(q.Left)
	o.query(q.Right)
	for _, f := range q.FuncDefs {
		o.query(f.Body)
	}
	if q.Term == nil {
		return
	}
	t := q.Term
	o.query(t.Query)
	if t.Object != nil {
		var keys []string
		for _, kv := range t.Object.KeyVals {
			key := strings.TrimPrefix(kv.Key, "$")
			if kv.KeyString != nil {
				key = kv.KeyString.Str
			}
			keys = append(keys, key)
			o.query(kv.Val)
		}
		o.note(keys)
	}
	if t.Array != nil {
		o.query(t.Array.Query)
	}
	if t.Func != nil {
		for _, a := range t.Func.Args {
			o.query(a)
		}
	}
	if t.If != nil {
		o.query(t.If.Then)
		o.query(t.If.Else)
	}
}

// maxJSON bounds the nesting of JSON that is read.
const maxJSON = 10000

// value decodes one value and notes the order of keys.
func (o *jqOrder) value(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		if n, ok := t.(json.Number); ok {
			return jqNumbers(n), nil
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
		_, err := d.Token()
		return list, err
	}
	object, keys := map[string]any{}, []string{}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, err
		}
		key := k.(string)
		if _, again := object[key]; !again {
			keys = append(keys, key)
		}
		if object[key], err = o.value(d, depth+1); err != nil {
			return nil, err
		}
	}
	o.note(keys)
	_, err = d.Token()
	return object, err
}
