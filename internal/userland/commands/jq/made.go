package jq

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/itchyny/gojq"
)

// literal is an object in the filter with keys that are known only when it is made:
// {(.k): 1, a: 2}.
type literal struct {
	keys    []string // the last ones
	dynamic []int    // which are not constant
}

// maxMade bounds the objects whose keys are remembered as a set when they are made:
// one that grows in a loop makes a set at each turn.
const maxMade = 64

// use notes keys in the order of their first use.
func (o *order) use(keys []string) {
	for _, k := range keys {
		if _, again := o.used[k]; !again && len(o.used) < maxOrders {
			o.used[strings.Clone(k)] = len(o.used)
		}
	}
}

// unused reports whether a key was not used.
func (o *order) unused(k string) bool {
	_, ok := o.used[k]
	return !ok
}

// made notes the keys of an object that the filter has made. One that is still to be
// made is nil, and its keys count more than those of earlier ones.
func (o *order) made(keys []string, object map[string]any) {
	if len(keys) > maxMade {
		o.use(keys)
		return
	}
	id := set(keys)
	if object != nil {
		o.differs(object, keys)
	}
	if known := o.sets[id]; object == nil && known != nil || known == nil && len(o.sets) < maxOrders {
		o.sets[id] = keys
	}
}

// function is a call of a function of ours with numbers.
func function(name string, numbers ...int) *gojq.Query {
	f := &gojq.Func{Name: name}
	for _, n := range numbers {
		f.Args = append(f.Args, &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeNumber, Number: strconv.Itoa(n)}})
	}
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: f}}
}

func pipe(left, right *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: left, Op: gojq.OpPipe, Right: right}
}

// object notes the keys of an object in the filter, or has them noted when it is
// made, if some are not constant.
func (o *order) object(t *gojq.Term, keys []string) {
	lit, id := literal{keys: keys}, len(o.literals)
	for i, kv := range t.Object.KeyVals {
		if kv.KeyString != nil && kv.KeyString.Queries != nil && kv.Val != nil {
			kv.KeyQuery, kv.KeyString = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: kv.KeyString}}, nil
		}
		if kv.KeyQuery != nil {
			kv.KeyQuery, lit.dynamic = pipe(kv.KeyQuery, function("_key", id, i)), append(lit.dynamic, i)
		} else {
			o.see(inFilter, keys[i])
		}
	}
	if lit.dynamic == nil {
		if twice := set(keys); !o.fixed[twice] || slices.Equal(o.sets[twice], keys) {
			o.note(inFilter, keys, nil)
			return
		}
	}
	o.literals = append(o.literals, lit)
	inner, rest := *t, t.SuffixList
	inner.SuffixList = nil
	*t = gojq.Term{Type: gojq.TermTypeQuery, SuffixList: rest, Query: pipe(&gojq.Query{Term: &inner}, function("_made", id))}
}

// order returns the keys of an object that the literal made, or else nil: where
// literals nest by recursion, the last keys are another's.
func (l literal) order(object map[string]any) (keys []string) {
	last := slices.Clone(l.keys)
	if len(l.dynamic) == 1 {
		for k := range object {
			if !slices.Contains(slices.Delete(slices.Clone(last), l.dynamic[0], l.dynamic[0]+1), k) {
				last[l.dynamic[0]] = k
			}
		}
	}
	for _, k := range last {
		if _, ok := object[k]; ok && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	if len(keys) != len(object) {
		return nil
	}
	return keys
}

// union notes the keys of a list of objects, for their sum.
func (o *order) union(v any, _ []any) any {
	list, _ := v.([]any)
	var keys []string
	known := map[string]bool{}
	for _, e := range list {
		object, ok := e.(map[string]any)
		if !ok {
			return v
		}
		for _, k := range o.keysOf(object) {
			if !known[k] {
				known[k], keys = true, append(keys, k)
			}
		}
	}
	if len(keys) > 0 {
		o.made(keys, nil)
	}
	return v
}

// index has a string noted that becomes a key, perhaps, by .[f].
func index(i *gojq.Index) {
	if i == nil || i.IsSlice || i.Start == nil {
		return
	}
	if t := i.Start.Term; t == nil || t.Type != gojq.TermTypeNumber && (t.Type != gojq.TermTypeString || t.Str.Queries != nil) {
		i.Start = pipe(i.Start, function("_used"))
	}
}

// query has sums of objects noted, and what changes them.
func query(q *gojq.Query) {
	if slices.Contains(updates, q.Op) && q.Op != 0 {
		inner := *q
		inner.FuncDefs, inner.Imports, inner.Meta = nil, nil, nil
		outer := keeping(&inner)
		q.Left, q.Op, q.Right, q.Patterns, q.Term = outer.Left, outer.Op, outer.Right, outer.Patterns, nil
	}
	if name := map[gojq.Operator]string{gojq.OpAdd: "_plus", gojq.OpMul: "_times"}[q.Op]; name != "" {
		call := &gojq.Func{Name: name, Args: []*gojq.Query{q.Left, q.Right}}
		q.Left, q.Right, q.Op, q.Term = nil, nil, 0, &gojq.Term{Type: gojq.TermTypeFunc, Func: call}
	}
}

// functions are what a rewritten filter calls.
func (o *order) functions() []gojq.CompilerOption {
	return []gojq.CompilerOption{
		gojq.WithFunction("_keys", 0, 0, o.keys),
		gojq.WithFunction("_union", 0, 0, o.union),
		gojq.WithFunction("_key", 2, 2, func(v any, args []any) any {
			if k, ok := v.(string); ok {
				o.literals[args[0].(int)].keys[args[1].(int)] = k
			}
			return v
		}),
		gojq.WithFunction("_made", 1, 1, func(v any, args []any) any {
			object, _ := v.(map[string]any)
			if keys := o.literals[args[0].(int)].order(object); keys != nil {
				o.made(keys, object)
			}
			return v
		}),
		gojq.WithFunction("_used", 0, 0, func(v any, _ []any) any {
			if k, ok := v.(string); ok {
				o.use([]string{k})
			}
			return v
		}),
		gojq.WithFunction("_kept", 1, 1, func(v any, args []any) any {
			o.kept(args[0], v)
			return v
		}),
		gojq.WithFunction("_entries", 1, 1, func(v any, args []any) any {
			object, _ := v.(map[string]any)
			list, _ := args[0].([]any)
			o.entries(object, list)
			return v
		}),
		gojq.WithFunction("_times", 2, 2, func(_ any, args []any) any { return o.times(args[0], args[1]) }),
		gojq.WithFunction("_plus", 2, 2, func(_ any, args []any) any { return o.plus(args[0], args[1]) }),
	}
}

// operator returns an operator of gojq.
func operator(op string) func() (*gojq.Code, error) {
	return sync.OnceValues(func() (*gojq.Code, error) {
		q, err := gojq.Parse("$l " + op + " $r")
		if err != nil {
			return nil, err
		}
		return gojq.Compile(q, gojq.WithVariables([]string{"$l", "$r"}))
	})
}

var addition, multiplication = operator("+"), operator("*")

// evaluate applies an operator.
func evaluate(code func() (*gojq.Code, error), l, r any) any {
	op, err := code()
	if err != nil {
		return err
	}
	v, _ := op.Run(nil, l, r).Next()
	return v
}

// times is the operator *. Of objects it is a merge, with those of the right in the
// place of those of the left.
func (o *order) times(l, r any) any {
	switch l := l.(type) {
	case int:
		if r, ok := r.(int); ok && int(int32(l)) == l && int(int32(r)) == r {
			return l * r
		}
	case float64:
		if r, ok := r.(float64); ok {
			return l * r
		}
	}
	product := evaluate(multiplication, l, r)
	o.merged(l, r, product)
	return product
}

// merged notes the order of a merge.
func (o *order) merged(left, right, product any) {
	l, okL := left.(map[string]any)
	r, okR := right.(map[string]any)
	p, okP := product.(map[string]any)
	if !okL || !okR || !okP {
		return
	}
	keys := slices.Clone(o.keysOf(l))
	for _, k := range o.keysOf(r) {
		if _, ok := l[k]; !ok {
			keys = append(keys, k)
		} else {
			o.merged(l[k], r[k], p[k])
		}
	}
	o.made(keys, p)
}

// sum returns a sum of objects, and notes its keys.
func (o *order) sum(l, r map[string]any) map[string]any {
	sum := maps.Clone(l)
	maps.Copy(sum, r)
	var keys []string
	if len(l) <= maxMade || slices.ContainsFunc(slices.Collect(maps.Keys(l)), o.unused) {
		keys = slices.Clone(o.keysOf(l))
	}
	for _, k := range o.keysOf(r) {
		if _, ok := l[k]; !ok {
			keys = append(keys, k)
		}
	}
	if len(l)+len(r) > maxMade {
		o.use(keys)
	} else {
		o.made(keys, sum)
	}
	return sum
}

// plus is the operator +.
func (o *order) plus(l, r any) any {
	switch l := l.(type) {
	case map[string]any:
		r, ok := r.(map[string]any)
		if !ok {
			break
		}
		return o.sum(l, r)
	case int:
		if r, ok := r.(int); ok && int(int32(l)) == l && int(int32(r)) == r {
			return l + r
		}
	case float64:
		if r, ok := r.(float64); ok {
			return l + r
		}
	case string:
		if r, ok := r.(string); ok {
			return l + r
		}
	}
	return evaluate(addition, l, r)
}
