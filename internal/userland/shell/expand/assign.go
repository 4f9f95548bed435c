package expand

import (
	"coderunner/internal/userland/shell/vars"
	"fmt"
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// AssignIndex assigns to name[index].
func (ex *Expander) AssignIndex(name string, index syntax.ArithmExpr, s string, add bool) error {
	name, _ = ex.vars.Resolve(name)
	if v := ex.vars.Lookup(name); v != nil && v.Kind == vars.Associative {
		key, err := ex.Key(index)
		if err == nil && key == "" {
			sub := ex.host.Source().Of(index)
			if sub == `""` && ex.host.Source().Rewritten() { // which requote puts there
				sub = ""
			}
			err = fmt.Errorf("%s[%s]: %w", name, sub, vars.ErrSubscript)
		}
		if err != nil {
			return err
		}
		return ex.vars.SetElement(name, key, s, add)
	}
	n, err := ex.Number(index)
	if err != nil {
		return err
	}
	return ex.vars.SetElement(name, strconv.FormatInt(n, 10), s, add)
}

// AssignArray assigns (a b [5]=c).
func (ex *Expander) AssignArray(name string, x *syntax.ArrayExpr, add, assoc bool) error {
	name, _ = ex.vars.Resolve(name)
	v, err := ex.vars.Writable(name)
	if err != nil {
		return err
	}
	old := *v
	if assoc = assoc || v.Kind == vars.Associative; !add {
		ex.vars.Charge(v, 0)
		v.List, v.Table, v.Str = nil, nil, ""
	}
	switch {
	case assoc:
		v.Kind, v.IsSet = vars.Associative, true
		if v.Table == nil {
			v.Table = ex.vars.NewTable()
		}
	case v.Kind == vars.Scalar || v.List == nil:
		var list []string
		if add && v.IsSet && v.Kind == vars.Scalar {
			list = []string{v.Str}
		}
		v.Kind, v.IsSet, v.List, v.Str = vars.Indexed, true, ex.vars.NewArray(list), ""
	}
	fresh := *v
	*v = old // the elements' values may be the old ones
	if add || len(x.Elems) == 0 {
		*v = fresh
	}
	pairs, err := ex.Elements(x, fresh.Kind == vars.Associative)
	if err != nil {
		return err
	}
	if *v = fresh; v.List != nil {
		v.List = ex.vars.Own(v.List)
	}
	return ex.vars.Fill(name, v, pairs)
}

// Elements expands what stands in the parentheses of an array.
func (ex *Expander) Elements(x *syntax.ArrayExpr, assoc bool) (pairs []vars.Pair, err error) {
	for i := 0; i < len(x.Elems); i++ {
		e := x.Elems[i]
		if e.Index == nil {
			list, err := ex.Fields([]*syntax.Word{e.Value})
			if err != nil {
				return nil, err
			}
			for _, s := range list {
				pairs = append(pairs, vars.Pair{Value: s})
			}
			continue
		}
		p := vars.Pair{Keyed: true}
		if assoc {
			p.Key, err = ex.Key(e.Index)
		} else {
			var n int64
			n, err = ex.Number(e.Index)
			p.Key = strconv.FormatInt(n, 10)
		}
		if err != nil {
			return nil, err
		}
		if p.Value, err = ex.AssignedValue(e.Value); err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}
