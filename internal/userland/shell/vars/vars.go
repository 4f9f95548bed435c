// Package vars holds a shell's variables: their values, attributes, arrays and scopes, and
// how much of the program's memory they take. Its Host evaluates arithmetic expressions,
// subscripts and computed variables.
package vars

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"coderunner/internal/userland/shell/parse"
)

// Attrs are the attributes of a variable.
type Attrs uint8

const (
	Exported Attrs = 1 << iota
	ReadOnly
	Integer
	Lower
	Upper
	NameRef
)

// Kind is what a variable holds.
type Kind uint8

const (
	Scalar Kind = iota
	Indexed
	Associative
)

// Variable is a shell variable. Its arrays are shared with subshells, see array.
type Variable struct {
	Kind    Kind
	Attrs   Attrs
	IsSet   bool
	Str     string
	List    *Array
	Table   *Table
	charged int64 // bytes, by this shell
}

// Value is what a parameter stands for.
type Value struct {
	Name  string // with its subscript, for errors
	Elems []string
	Keys  []string // of an array's elements
	Many  bool     // $@, $* or all elements of an array
	Star  bool     // joined in double quotes
	IsSet bool
}

// Copy returns a variable that shares what v holds, which nobody is charged for.
func (v *Variable) Copy() Variable {
	c := *v
	c.charged = 0
	return c
}

// Scope holds the variables of a function call, or the global ones.
type Scope struct {
	Vars         map[string]*Variable
	Parent       *Scope
	Temporary    bool // the assignments before a command: no function's
	LocalOptions bool // local -
}

// Host is what variables need of the shell that has them.
type Host interface {
	// Evaluate evaluates the text of an arithmetic expression.
	Evaluate(s string) (int64, error)
	// Special returns the value of a variable that is computed, nil for others.
	Special(name string) *Variable
	// Assigned does what an assignment to some names means beside the value.
	Assigned(name, s string)
	// Subscript expands the text of a subscript of v.
	Subscript(v *Variable, sub string) string
	// Report reports an error that does not end what meets it.
	Report(err error)
	// AllExport reports whether new variables are exported.
	AllExport() bool
}

// Vars are the variables of a shell.
type Vars struct {
	*Memory
	Scope *Scope          // the innermost
	Plain map[string]bool // special variables that were unset
	token *token
	host  Host
}

// New returns the variables of a new shell, which want a host.
func New(m *Memory) *Vars {
	return &Vars{Memory: m, Scope: &Scope{Vars: make(map[string]*Variable, 32)}, Plain: map[string]bool{}, token: new(token)}
}

// SetHost makes host what the variables see of their shell.
func (vs *Vars) SetHost(host Host) { vs.host = host }

// Fork returns the variables of a subshell, which want a host.
func (vs *Vars) Fork() *Vars {
	c := &Vars{Memory: vs.Memory, Scope: vs.Scope.clone(), Plain: maps.Clone(vs.Plain), token: new(token)}
	vs.token = new(token)
	return c
}

// Size returns what a copy of the variables takes, in bytes, without what they hold.
func (vs *Vars) Size() (n int64) {
	for s := vs.Scope; s != nil; s = s.Parent {
		if s.needed(false) {
			n += 128 + 192*int64(len(s.Vars))
		}
	}
	return n
}

// Find returns the variable of a name and its scope, nil without one.
func (s *Scope) Find(name string) (*Variable, *Scope) {
	for ; s != nil; s = s.Parent {
		if v := s.Vars[name]; v != nil {
			return v, s
		}
	}
	return nil, nil
}

// needed reports whether a copy of the scopes has this one: no subshell declares anything
// in that of a function that called the one in which it begins. inner reports whether no
// function's scope is above it.
func (s *Scope) needed(inner bool) bool {
	return len(s.Vars) > 0 || s.Parent == nil || inner && !s.Temporary
}

// clone copies the variables of all scopes, but not what they hold.
func (s *Scope) clone() (first *Scope) {
	last, inner := &first, true
	for ; s != nil; s = s.Parent {
		if s.needed(inner) {
			c := &Scope{Vars: make(map[string]*Variable, len(s.Vars)), Temporary: s.Temporary, LocalOptions: s.LocalOptions}
			all := make([]Variable, 0, len(s.Vars))
			for name, v := range s.Vars {
				all = append(all, v.Copy())
				c.Vars[name] = &all[len(all)-1]
			}
			*last, last = c, &c.Parent
		}
		inner = inner && s.Temporary
	}
	return first
}

// maxRefs bounds the length of a chain of name references.
const maxRefs = 20

// Resolve follows name references. A reference to an element returns its
// subscript, too.
func (vs *Vars) Resolve(name string) (target, subscript string) {
	for range maxRefs {
		v, _ := vs.Scope.Find(name)
		if v == nil || v.Attrs&NameRef == 0 || v.Str == "" {
			return name, ""
		}
		if base, sub, ok := parse.CutSubscript(v.Str); ok {
			return base, sub
		}
		name = v.Str
	}
	return name, ""
}

// Special returns the value of a variable that is computed, nil for others.
func (vs *Vars) Special(name string) *Variable { return vs.host.Special(name) }

// Lookup returns the variable of a name that is no reference, nil without one.
func (vs *Vars) Lookup(name string) *Variable {
	name, _ = vs.Resolve(name)
	if v := vs.host.Special(name); v != nil {
		return v
	}
	v, _ := vs.Scope.Find(name)
	return v
}

// Get returns a variable's value as a string, "" if it is not set.
func (vs *Vars) Get(name string) string {
	if base, sub := vs.Resolve(name); sub != "" {
		v, _ := vs.Element(base, vs.host.Subscript(vs.Lookup(base), sub))
		return strings.Join(v.Elems, " ")
	}
	s, _ := vs.Value(vs.Lookup(name))
	return s
}

// Value returns what a name without a subscript stands for.
func (vs *Vars) Value(v *Variable) (string, bool) {
	switch {
	case v == nil:
		return "", false
	case v.Kind == Indexed && v.List != nil:
		return v.List.Get(0)
	case v.Kind == Associative && v.Table != nil:
		s, ok := v.Table.Entries["0"]
		return s, ok
	}
	return v.Str, v.IsSet
}

// Errors of the shell itself, whatever command meets them.
var (
	ErrReadOnly  = errors.New("readonly variable")
	ErrSubscript = errors.New("bad array subscript")
)

// Writable returns the variable of a name to write to, which it makes if there is
// none in sight, nil for a read-only one.
func (vs *Vars) Writable(name string) (*Variable, error) {
	v, _ := vs.Scope.Find(name)
	if v == nil {
		v = &Variable{}
		vs.Global().Vars[name] = v
		if vs.host.AllExport() {
			v.Attrs |= Exported
		}
	}
	if v.Attrs&ReadOnly != 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrReadOnly)
	}
	return v, nil
}

// Global returns the outermost scope.
func (vs *Vars) Global() *Scope {
	s := vs.Scope
	for s.Parent != nil {
		s = s.Parent
	}
	return s
}

// Unset removes a variable. A local one that is unset stays local to its function.
func (vs *Vars) Unset(name string) error {
	v, s := vs.Scope.Find(name)
	if v == nil {
		return nil
	}
	if v.Attrs&ReadOnly != 0 {
		return fmt.Errorf("%s: cannot unset: %v", name, ErrReadOnly)
	}
	vs.Charge(v, 0)
	if s.Parent != nil {
		*v = Variable{}
		return nil
	}
	delete(s.Vars, name)
	return nil
}

// Environ returns the exported variables as an environment.
func (vs *Vars) Environ() []string {
	seen := map[string]bool{}
	var env []string
	for s := vs.Scope; s != nil; s = s.Parent {
		for name, v := range s.Vars {
			if seen[name] {
				continue
			}
			seen[name] = true
			if v.Attrs&Exported != 0 && v.IsSet && v.Kind == Scalar {
				env = append(env, name+"="+v.Str)
			}
		}
	}
	return env
}

// Names returns the names of all variables, sorted.
func (vs *Vars) Names() []string {
	return vs.namesOf(func(v *Variable) bool { return v.IsSet })
}

// Attributed is names with those that have attributes and no value yet.
func (vs *Vars) Attributed() []string {
	return vs.namesOf(func(v *Variable) bool { return v.IsSet || v.Kind != Scalar || v.Attrs != 0 })
}

func (vs *Vars) namesOf(which func(*Variable) bool) []string {
	seen := map[string]bool{}
	for s := vs.Scope; s != nil; s = s.Parent {
		for name, v := range s.Vars {
			if _, ok := seen[name]; !ok {
				seen[name] = which(v)
			}
		}
	}
	maps.DeleteFunc(seen, func(_ string, shown bool) bool { return !shown })
	return slices.Sorted(maps.Keys(seen))
}
