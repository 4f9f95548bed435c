package vars

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Set assigns a string to a name, which may be a reference or have special
// meaning.
func (vs *Vars) Set(name, s string) error {
	name, sub := vs.Resolve(name)
	if sub != "" {
		return vs.SetText(name, sub, s, false)
	}
	v, err := vs.Writable(name)
	if err != nil {
		return err
	}
	return vs.Assign(name, v, s, false)
}

// Assign gives a variable a value, or appends to it, as its attributes ask.
func (vs *Vars) Assign(name string, v *Variable, s string, add bool) error {
	switch v.Kind {
	case Indexed:
		return vs.SetIndex(name, v, 0, s, add)
	case Associative:
		return vs.SetKey(name, v, "0", s, add)
	}
	s, err := vs.converted(v, s, v.Str, add)
	if err != nil {
		return err
	}
	if !vs.Charge(v, int64(len(s)+len(name))) {
		return ErrMemory
	}
	v.Str, v.IsSet = s, true
	vs.host.Assigned(name, s)
	return nil
}

// converted returns a value as the attributes of its variable ask.
func (vs *Vars) converted(v *Variable, s, old string, add bool) (string, error) {
	if v.Attrs&Integer != 0 {
		n, err := vs.host.Evaluate(s)
		if err != nil {
			return "", err
		}
		if add {
			o, _ := vs.host.Evaluate(old)
			n += o
		}
		return strconv.FormatInt(n, 10), nil
	}
	if add {
		if !vs.Room(int64(len(old) + len(s))) {
			return "", ErrMemory
		}
		s = old + s
	}
	switch {
	case v.Attrs&Lower != 0:
		s = strings.Map(unicode.ToLower, s)
	case v.Attrs&Upper != 0:
		s = strings.Map(unicode.ToUpper, s)
	}
	return s, nil
}

// ElementCost is what an element or a name takes beside its text.
const ElementCost = 64

// SetIndex assigns to an element of an indexed array, which v becomes.
func (vs *Vars) SetIndex(name string, v *Variable, i int, s string, add bool) error {
	if err := vs.Convert(name, v, Indexed); err != nil {
		return err
	}
	if i < 0 {
		if i += v.List.Next(); i < 0 {
			return fmt.Errorf("%s[%d]: %w", name, i-v.List.Next(), ErrSubscript)
		}
	}
	old, _ := v.List.Get(i)
	s, err := vs.converted(v, s, old, add)
	if err != nil {
		return err
	}
	if !vs.Charge(v, v.charged+int64(len(s)-len(old))+ElementCost) {
		return ErrMemory
	}
	v.List = vs.Own(v.List)
	v.List.Set(i, s)
	v.IsSet = true
	return nil
}

// SetKey assigns to an element of an associative array.
func (vs *Vars) SetKey(name string, v *Variable, key, s string, add bool) error {
	if key == "" {
		return fmt.Errorf("%s[]: %w", name, ErrSubscript)
	}
	v.Table = vs.OwnTable(v.Table)
	old := v.Table.Entries[key]
	s, err := vs.converted(v, s, old, add)
	if err != nil {
		return err
	}
	if !vs.Charge(v, v.charged+int64(len(s)-len(old)+len(key))+2*ElementCost) {
		return ErrMemory
	}
	v.Table.Set(key, s)
	v.IsSet = true
	return nil
}

// SetElement assigns to name[sub], where name may be a reference to an array.
func (vs *Vars) SetElement(name, sub, s string, add bool) error {
	name, _ = vs.Resolve(name)
	v, err := vs.Writable(name)
	if err != nil {
		return err
	}
	if v.Kind == Associative {
		return vs.SetKey(name, v, sub, s, add)
	}
	i, err := vs.host.Evaluate(sub)
	if err != nil {
		return err
	}
	return vs.SetIndex(name, v, int(i), s, add)
}

// SetList makes an indexed array of a name.
func (vs *Vars) SetList(name string, list []string) error {
	name, _ = vs.Resolve(name)
	v, err := vs.Writable(name)
	if err != nil {
		return err
	}
	size := int64(0)
	for _, s := range list {
		size += int64(len(s)) + ElementCost
	}
	if !vs.Charge(v, size) {
		return ErrMemory
	}
	v.Kind, v.List, v.Table, v.Str, v.IsSet = Indexed, vs.NewArray(list), nil, "", true
	return nil
}
