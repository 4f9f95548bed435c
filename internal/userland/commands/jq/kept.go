package jq

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/itchyny/gojq"
)

// updates are the operators that change a part of their input.
var updates = []gojq.Operator{
	gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv,
	gojq.OpUpdateMod, gojq.OpUpdateAlt,
}

// changing are the functions that do, by their numbers of arguments.
var changing = map[string]int{"del": 1, "delpaths": 1, "setpath": 2}

// keeping has the order of the input's keys kept in what q makes of it.
func keeping(q *gojq.Query) *gojq.Query {
	const name = "$__input"
	kept := &gojq.Func{Name: "_kept", Args: []*gojq.Query{{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name}}}}}
	return &gojq.Query{
		Left: &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}, Op: gojq.OpPipe,
		Right: pipe(q, &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: kept}}), Patterns: []*gojq.Pattern{{Name: name}},
	}
}

// change has the order kept in what a term makes of its input.
func change(t *gojq.Term) {
	if n, ok := changing[nameOf(t)]; ok && len(t.Func.Args) == n {
		inner, rest := *t, t.SuffixList
		inner.SuffixList = nil
		*t = gojq.Term{Type: gojq.TermTypeQuery, SuffixList: rest, Query: keeping(&gojq.Query{Term: &inner})}
	}
}

func nameOf(t *gojq.Term) string {
	if t.Type != gojq.TermTypeFunc || t.Func == nil {
		return ""
	}
	return t.Func.Name
}

func address(v any) uintptr {
	switch v := v.(type) {
	case map[string]any:
		return reflect.ValueOf(v).Pointer()
	case []any:
		if len(v) > 0 {
			return reflect.ValueOf(v).Pointer()
		}
	}
	return 0
}

// kept notes that what became of before has its keys in the same order, and new ones
// behind them.
func (o *order) kept(before, after any) {
	if address(before) == address(after) {
		return
	}
	switch after := after.(type) {
	case []any:
		before, ok := before.([]any)
		if !ok || len(before) != len(after) {
			return
		}
		were := make(map[uintptr]bool, len(before))
		for _, e := range before {
			were[address(e)] = true
		}
		for i, e := range after {
			if !were[address(e)] { // and did not only move
				o.kept(before[i], e)
			}
		}
	case map[string]any:
		before, ok := before.(map[string]any)
		if !ok || len(after) > maxMade {
			return
		}
		if _, made := o.own[address(after)]; made {
			return
		}
		var more []string
		for k := range after {
			if _, ok := before[k]; !ok {
				more = append(more, k)
			}
		}
		keys := make([]string, 0, len(after))
		for _, k := range o.keysOf(before) {
			if _, ok := after[k]; ok {
				keys = append(keys, k)
			}
		}
		slices.Sort(more)
		keys = append(keys, o.arrange(more)...)
		if len(o.fixed) == 0 || !o.fixed[set(keys)] {
			o.made(keys, after)
		}
		for k, e := range after {
			o.kept(before[k], e)
		}
	}
}

// entries notes the order of an object that from_entries made of a list.
func (o *order) entries(object map[string]any, list []any) {
	known := make(map[string]bool, len(object))
	var keys []string
	for _, e := range list {
		entry, _ := e.(map[string]any)
		for _, name := range []string{"key", "k", "name", "Name", "Key", "K"} {
			v := entry[name]
			if v == nil || v == false {
				continue
			}
			k, ok := v.(string)
			if !ok {
				text, _ := json.Marshal(v)
				k = string(text)
			}
			if _, ok := object[k]; ok && !known[k] {
				known[k], keys = true, append(keys, k)
			}
			break
		}
	}
	if len(keys) == len(object) {
		o.differs(object, slices.Clip(keys))
		o.made(keys, object)
	}
}
