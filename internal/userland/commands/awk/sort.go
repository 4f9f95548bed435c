package awk

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// sortKeys orders the keys of an array as gawk does: how is one of its own orders, or a
// function of the program that compares two elements.
func (r *run) sortKeys(how string, arr *array, keys []string) error {
	if how == "" || how == "@unsorted" {
		return nil
	}
	if f := r.prog.functions[how]; f != nil {
		return r.sortCalling(f, arr, keys)
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
		return fmt.Errorf("sort comparison function `%s' is not defined", how)
	}
	slices.SortStableFunc(keys, func(a, b string) int {
		if down {
			a, b = b, a
		}
		return compare(a, b)
	})
	return nil
}

// sortCalling orders keys by a function of their indexes and values.
func (r *run) sortCalling(f *function, arr *array, keys []string) (failed error) {
	slices.SortStableFunc(keys, func(a, b string) int {
		if failed != nil || !arr.has(a) || !arr.has(b) {
			return 0
		}
		// As C's sort asks: whether the former is greater. Many functions return 1 or 0 only.
		x, y := arr.m[b], arr.m[a]
		args := []*cell{{v: value{kind: input, s: b}}, {v: x.v, array: x.sub}, {v: value{kind: input, s: a}}, {v: y.v, array: y.sub}}
		for len(args) < len(f.params) {
			args = append(args, &cell{})
		}
		v, err := r.invoke(f, args[:len(f.params)])
		if err != nil {
			failed = err
		}
		return compareFloat(0, v.num())
	})
	return failed
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

func asort(r *run, args []*node) (value, error)  { return r.asort(args, false) }
func asorti(r *run, args []*node) (value, error) { return r.asort(args, true) }

func (r *run) asort(args []*node, index bool) (value, error) {
	from, err := r.array(args[0])
	if err != nil {
		return value{}, err
	}
	to := from
	if len(args) > 1 {
		if to, err = r.array(args[1]); err != nil {
			return value{}, err
		}
	}
	if err := r.room((16 + 64) * len(from.m)); err != nil {
		return value{}, err
	}
	keys := from.list()
	how := ""
	if len(args) > 2 {
		v, err := r.eval(args[2])
		if err != nil {
			return value{}, err
		}
		how = v.str(r.convfmt)
		if err := r.sortKeys(how, from, keys); err != nil {
			return value{}, err
		}
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
		slices.SortStableFunc(sorted, func(a, b entry) int {
			return cmp.Or(command.Btoi(a.sub != nil)-command.Btoi(b.sub != nil), r.byType(a.v, b.v))
		})
	}
	if !slices.ContainsFunc(sorted, func(e entry) bool { return e.sub != nil }) {
		r.empty(to)
	}
	to.clear()
	for i, s := range sorted {
		key := strconv.Itoa(i + 1)
		if err := r.put(to, key, s.v); err != nil {
			return value{}, err
		}
		to.m[key].sub = s.sub
	}
	return num(float64(len(sorted))), nil
}
