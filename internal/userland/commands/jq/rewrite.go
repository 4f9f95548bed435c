package jq

import (
	_ "embed"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/itchyny/gojq"
)

//go:embed prelude.jq
var preludeSource string

// prelude are the functions that each filter begins with.
var prelude = sync.OnceValues(func() (*gojq.Query, error) { return gojq.Parse(preludeSource) })

// The bounds of a filter, which is parsed and compiled without a look at the context.
const (
	maxSource  = 256 << 10 // bytes
	maxNesting = 500       // arrays, objects, calls and the like in one another
	maxChain   = 10_000    // operators that follow one another
)

var errFilter = errors.New("the filter is too large or nested too deeply")

// parse parses a filter that is within the bounds.
func parse(source string) (*gojq.Query, error) {
	if len(source) > maxSource {
		return nil, errFilter
	}
	q, err := gojq.Parse(source)
	if err == nil && !within(reflect.ValueOf(q), maxNesting, maxChain) {
		err = errFilter
	}
	return q, err
}

// within reports whether a syntax tree has no more levels than these.
func within(v reflect.Value, terms, queries int) bool {
	switch v.Kind() {
	case reflect.Pointer:
		switch v.Interface().(type) {
		case *gojq.Term:
			terms--
		case *gojq.Query:
			queries--
		}
		return v.IsNil() || terms > 0 && queries > 0 && within(v.Elem(), terms, queries)
	case reflect.Slice:
		for i := range v.Len() {
			if !within(v.Index(i), terms, queries) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !within(v.Field(i), terms, queries) {
				return false
			}
		}
	}
	return true
}

// rewrite notes the objects that a filter makes, has what iterates over objects do so
// in their order, and has bounded what gojq does not.
func (o *order) rewrite(q *gojq.Query) error {
	p, err := prelude()
	if err != nil {
		return err
	}
	terms(reflect.ValueOf(q), o.term, operator)
	q.FuncDefs = slices.Concat(p.FuncDefs, q.FuncDefs)
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

// call is a call of a function, as a query.
func call(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

func pipe(left, right *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: left, Op: gojq.OpPipe, Right: right}
}

// operators are the functions of ours for what gojq does without a bound.
var operators = map[gojq.Operator]string{
	gojq.OpAdd: "_plus", gojq.OpSub: "_minus", gojq.OpMul: "_times", gojq.OpEq: "_equals", gojq.OpNe: "_differs",
	gojq.OpGt: "_more", gojq.OpLt: "_fewer", gojq.OpGe: "_atleast", gojq.OpLe: "_atmost",
}

// updates are those of the operators that change a part of their input.
var updates = map[gojq.Operator]gojq.Operator{gojq.OpUpdateAdd: gojq.OpAdd, gojq.OpUpdateSub: gojq.OpSub, gojq.OpUpdateMul: gojq.OpMul}

// operator replaces an operator by a function of ours.
func operator(q *gojq.Query) {
	if op, ok := updates[q.Op]; ok { // l += r is r as $r | l |= . + $r
		const name = "$__right"
		identity := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}
		changed := &gojq.Query{Left: q.Left, Op: gojq.OpModify, Right: call(operators[op], identity, call(name))}
		q.Left, q.Op, q.Right, q.Patterns = q.Right, gojq.OpPipe, changed, []*gojq.Pattern{{Name: name}}
		return
	}
	if name, ok := operators[q.Op]; ok {
		f := call(name, q.Left, q.Right)
		q.Left, q.Right, q.Op, q.Term = nil, nil, 0, f.Term
		return
	}
	if q.Op == gojq.OpModify && !yields(q.Right) { // deletes where there is nothing, and looks at all of its input then
		inner := &gojq.Query{Left: q.Left, Op: q.Op, Right: q.Right}
		q.Left, q.Op, q.Right = call("_fits"), gojq.OpPipe, inner
	}
}

// yielding are functions that have a result for every input.
var yielding = []string{"_keyed", "_plus", "_minus", "_times", "not", "length", "tostring", "tonumber", "tojson", "fromjson", "ascii_downcase", "ascii_upcase",
	"map", "add", "keys", "sort", "sort_by", "unique", "join", "split", "sub", "gsub", "ltrimstr", "rtrimstr", "to_entries", "with_entries", "floor", "round"}

// yields reports whether a query certainly has a result.
func yields(q *gojq.Query) bool {
	switch t := q.Term; {
	case t == nil:
		return q.Op == gojq.OpPipe && yields(q.Left) && yields(q.Right)
	case slices.ContainsFunc(t.SuffixList, func(s *gojq.Suffix) bool { return s.Iter || s.Optional || s.Index != nil && s.Index.Start != nil }):
		return false
	case t.Type == gojq.TermTypeFunc:
		return t.Func.Name[0] == '$' || slices.Contains(yielding, t.Func.Name)
	case t.Type == gojq.TermTypeQuery:
		return yields(t.Query)
	default:
		return slices.Contains([]gojq.TermType{gojq.TermTypeIdentity, gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber, gojq.TermTypeArray}, t.Type) ||
			t.Type == gojq.TermTypeString && len(t.Str.Queries) == 0 || t.Type == gojq.TermTypeIndex && t.Index.Start == nil
	}
}

// index has the value bounded that an index of .[f] is.
func index(i *gojq.Index) {
	if i == nil || i.IsSlice || i.Start == nil {
		return
	}
	if t := i.Start.Term; t != nil && t.Type == gojq.TermTypeString && t.Str.Queries == nil {
		return
	} else if t != nil && t.Type == gojq.TermTypeNumber && len(t.Number) < len(strconv.Itoa(maxIndex)) {
		return
	}
	i.Start = pipe(i.Start, call("_position"))
}

// term notes what a term shows of the order of keys, and replaces what has none.
func (o *order) term(t *gojq.Term) {
	if t.Object != nil {
		o.object(t.Object)
	}
	index(t.Index)
	for _, s := range t.SuffixList {
		index(s.Index)
	}
	if t.Func != nil && t.Func.Name == "getpath" && len(t.Func.Args) == 1 {
		t.Func.Args[0] = pipe(t.Func.Args[0], call("_path"))
	}
	if t.Str != nil {
		if t.Str.Queries == nil {
			o.see(inFilter, t.Str.Str)
		}
		for i, q := range t.Str.Queries {
			if q.Term == nil || q.Term.Type != gojq.TermTypeString || len(q.Term.SuffixList) > 0 { // text between
				t.Str.Queries[i] = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: pipe(q, call("_fits"))}}
			}
		}
	}
	if t.Type == gojq.TermTypeRecurse {
		t.Type, t.Func = gojq.TermTypeFunc, &gojq.Func{Name: "recurse"}
	}
	if t.Type == gojq.TermTypeFormat && t.Str == nil {
		inner := *t
		inner.SuffixList = nil
		*t = gojq.Term{Type: gojq.TermTypeQuery, SuffixList: t.SuffixList, Query: pipe(call("_fits"), &gojq.Query{Term: &inner})}
	}
	if key, ok := constant(t.Index); ok {
		*t = gojq.Term{Type: gojq.TermTypeQuery, SuffixList: t.SuffixList, Query: atKey(key, t.Index)}
	}
	for i := 0; i < len(t.SuffixList); i++ {
		next, key, ok := call("_each"), "", false
		if key, ok = constant(t.SuffixList[i].Index); ok {
			next = atKey(key, t.SuffixList[i].Index)
		} else if !t.SuffixList[i].Iter {
			continue
		}
		inner, rest := *t, t.SuffixList[i+1:]
		inner.SuffixList = t.SuffixList[:i]
		*t = gojq.Term{Type: gojq.TermTypeQuery, SuffixList: rest, Query: pipe(&gojq.Query{Term: &inner}, next)}
		i = -1
	}
}

// object notes the keys of an object in the filter: together if all are constant, or
// else when it is made.
func (o *order) object(object *gojq.Object) {
	var keys []string
	dynamic := slices.ContainsFunc(object.KeyVals, func(kv *gojq.ObjectKeyVal) bool {
		return kv.KeyQuery != nil || kv.KeyString != nil && kv.KeyString.Queries != nil
	})
	for _, kv := range object.KeyVals {
		if kv.Val == nil && kv.Key != "" && kv.Key[0] != '$' { // {key}
			kv.Val = atKey(kv.Key, &gojq.Index{Name: kv.Key})
		}
		key, text := strings.TrimPrefix(kv.Key, "$"), kv.KeyString
		if text != nil {
			key = text.Str
		} else {
			text = &gojq.String{Str: key}
		}
		switch {
		case !dynamic && slices.Contains(keys, key):
		case !dynamic:
			o.see(inFilter, key)
			keys = append(keys, key)
		case kv.Val == nil:
		case kv.KeyQuery == nil:
			kv.Key, kv.KeyString = "", nil
			kv.KeyQuery = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: text}}
			fallthrough
		default:
			kv.KeyQuery = pipe(kv.KeyQuery, call("_position"))
		}
	}
	if len(keys) > 0 {
		o.note(inFilter, keys)
	}
}
