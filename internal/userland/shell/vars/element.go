package vars

import (
	"fmt"
	"strconv"

	"coderunner/internal/userland/shell/parse"
)

// Convert makes an array of a variable, but not of the other kind of one.
func (vs *Vars) Convert(name string, v *Variable, to Kind) error {
	switch {
	case to == Scalar || v.Kind == to:
		return nil
	case v.Kind == Indexed:
		return fmt.Errorf("%s: cannot convert indexed to associative array", name)
	case v.Kind == Associative:
		return fmt.Errorf("%s: cannot convert associative to indexed array", name)
	}
	old, was := v.Str, v.IsSet
	v.Kind, v.Str = to, ""
	if to == Associative {
		v.Table = vs.NewTable()
		if was {
			v.Table.Set("0", old)
		}
		return nil
	}
	v.List = vs.NewArray(nil)
	if was {
		v.List.Set(0, old)
	}
	return nil
}

// FunctionScope returns the scope of the function that runs, nil without one.
func (vs *Vars) FunctionScope() *Scope {
	for s := vs.Scope; s != nil && s.Parent != nil; s = s.Parent {
		if !s.Temporary {
			return s
		}
	}
	return nil
}

// IsSet reports whether a name has a value.
func (vs *Vars) IsSet(name string) bool {
	_, set := vs.Value(vs.Lookup(name))
	return set
}

// Text returns a variable that is a text.
func Text(s string) *Variable { return &Variable{Str: s, IsSet: true} }

// Computed returns a variable that is a list.
func (vs *Vars) Computed(list []string) *Variable {
	return &Variable{Kind: Indexed, IsSet: len(list) > 0, List: vs.NewArray(list)}
}

// Elements returns all elements of an array; those of a scalar are its value.
func (vs *Vars) Elements(name string, star bool) Value {
	v := Value{Name: name, Many: true, Star: star}
	switch a := vs.Lookup(name); {
	case a == nil || !a.IsSet:
	case a.Kind == Indexed:
		v.Elems = a.List.List
		for _, i := range a.List.Indexes() {
			v.Keys = append(v.Keys, strconv.Itoa(i))
		}
	case a.Kind == Associative:
		v.Keys = a.Table.Keys()
		for _, k := range v.Keys {
			v.Elems = append(v.Elems, a.Table.Entries[k])
		}
	default:
		v.Elems, v.Keys = []string{a.Str}, []string{"0"}
	}
	v.IsSet = len(v.Elems) > 0
	return v
}

// Element returns name[sub].
func (vs *Vars) Element(name, sub string) (Value, error) {
	v := Value{Name: name + "[" + sub + "]"}
	a := vs.Lookup(name)
	if a != nil && a.Kind == Associative {
		var s string
		if a.Table != nil {
			s, v.IsSet = a.Table.Entries[sub]
		}
		v.Elems = []string{s}
		return v, nil
	}
	i, err := vs.host.Evaluate(sub)
	if err != nil || a == nil {
		return v, err
	}
	var s string
	switch {
	case a.Kind == Indexed && a.List != nil:
		if i < 0 {
			i += int64(a.List.Next())
		}
		if i < 0 {
			vs.host.Report(fmt.Errorf("%s: %w", name, ErrSubscript)) // and it is empty, as in bash
			return v, nil
		}
		s, v.IsSet = a.List.Get(int(i))
	case i == 0 || i == -1:
		s, v.IsSet = a.Str, a.IsSet
	}
	v.Elems = []string{s}
	return v, nil
}

// SetText is setElement for a subscript that is the text of a name: printf -v 'm[$key]'.
func (vs *Vars) SetText(name, sub, s string, add bool) error {
	name, _ = vs.Resolve(name)
	return vs.SetElement(name, vs.host.Subscript(vs.Lookup(name), sub), s, add)
}

// SetNamed assigns to the text of a name, which may have a subscript.
func (vs *Vars) SetNamed(name, s string) error {
	if base, sub, ok := parse.CutSubscript(name); ok {
		return vs.SetText(base, sub, s, false)
	}
	return vs.Set(name, s)
}

// Fill assigns elements to an array.
func (vs *Vars) Fill(name string, v *Variable, pairs []Pair) error {
	for i := 0; i < len(pairs); i++ {
		p := pairs[i]
		var err error
		switch {
		case v.Kind == Associative && !p.Keyed: // (key value key value)
			value := ""
			if i+1 < len(pairs) {
				i++
				value = pairs[i].Value
			}
			err = vs.SetKey(name, v, p.Value, value, false)
		case v.Kind == Associative:
			err = vs.SetKey(name, v, p.Key, p.Value, false)
		case p.Keyed:
			var n int64
			if n, err = vs.host.Evaluate(p.Key); err == nil {
				err = vs.SetIndex(name, v, int(n), p.Value, false)
			}
			if err == nil && i+1 < len(pairs) && !pairs[i+1].Keyed {
				pairs[i+1].Key, pairs[i+1].Keyed = strconv.FormatInt(n+1, 10), true
			}
		default:
			err = vs.SetIndex(name, v, v.List.Next(), p.Value, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
