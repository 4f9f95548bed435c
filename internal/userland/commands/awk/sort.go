package awk

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/order"
	"coderunner/internal/userland/commands/command"
)

// sortKeys orders the keys of an array as gawk does: how is one of its own orders, or a
// function of the program that compares two elements.
func (r *run) sortKeys(how string, arr *array, keys []string) {
	if how == "" || how == "@unsorted" {
		return
	}
	if f := r.prog.functions[how]; f != nil {
		r.sortCalling(f, arr, keys)
		return
	}
	name, down := strings.CutSuffix(how, "_desc")
	compare := map[string]func(a, b string) int{
		"@ind_str":  strings.Compare,
		"@ind_num":  func(a, b string) int { return compareFloat(number0(a), number0(b)) },
		"@val_num":  func(a, b string) int { return compareFloat(arr.m[a].v.num(), arr.m[b].v.num()) },
		"@val_str":  func(a, b string) int { return strings.Compare(arr.m[a].v.str(r.convfmt), arr.m[b].v.str(r.convfmt)) },
		"@val_type": func(a, b string) int { return r.byType(arr.m[a].v, arr.m[b].v) },
	}[strings.TrimSuffix(name, "_asc")]
	if compare == nil {
		r.c.Throw("sort comparison function `%s' is not defined", how)
	}
	slices.SortStableFunc(keys, func(a, b string) int {
		if down {
			a, b = b, a
		}
		return compare(a, b)
	})
}

// sortCalling orders keys by a function of their indexes and values.
func (r *run) sortCalling(f *function, arr *array, keys []string) {
	slices.SortStableFunc(keys, func(a, b string) int {
		if !arr.has(a) || !arr.has(b) {
			return 0
		}
		// As C's sort asks: whether the former is greater. Many functions return 1 or 0 only.
		x, y := arr.m[b], arr.m[a]
		args := []*cell{{v: value{kind: input, s: b}}, {v: x.v, array: x.sub}, {v: value{kind: input, s: a}}, {v: y.v, array: y.sub}}
		for len(args) < len(f.params) {
			args = append(args, &cell{})
		}
		return compareFloat(0, r.invoke(f, args[:len(f.params)]).num())
	})
}

// byType orders numbers before strings.
func (r *settings) byType(a, b value) int {
	switch x, y := a.numeric(), b.numeric(); {
	case x && y:
		return compareFloat(a.num(), b.num())
	case x:
		return -1
	case y:
		return 1
	}
	return cmp.Compare(a.str(r.convfmt), b.str(r.convfmt))
}

func asort(r *run, args []*node) value  { return r.asort(args, false) }
func asorti(r *run, args []*node) value { return r.asort(args, true) }

func (r *run) asort(args []*node, index bool) value {
	from := r.array(args[0])
	to := from
	if len(args) > 1 {
		to = r.array(args[1])
	}
	r.room((16 + 64) * len(from.m))
	keys := from.list()
	how := ""
	if len(args) > 2 {
		how = r.eval(args[2]).str(r.convfmt)
		r.sortKeys(how, from, keys)
	}
	var sorted []entry
	for _, k := range keys {
		if index {
			sorted = append(sorted, entry{v: str(k)})
		} else if from.has(k) {
			sorted = append(sorted, *from.m[k])
		}
	}
	if how == "" {
		order.Stably(sorted, func(a, b entry) int {
			return cmp.Or(command.Btoi(a.sub != nil)-command.Btoi(b.sub != nil), r.byType(a.v, b.v))
		})
	}
	if !slices.ContainsFunc(sorted, func(e entry) bool { return e.sub != nil }) {
		r.empty(to)
	}
	to.clear()
	for i, s := range sorted {
		key := strconv.Itoa(i + 1)
		r.put(to, key, s.v)
		to.m[key].sub = s.sub
	}
	return num(float64(len(sorted)))
}
