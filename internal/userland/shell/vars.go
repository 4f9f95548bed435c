package shell

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"coderunner/internal/userland/shell/parse"
)

type attrs uint8

const (
	exported attrs = 1 << iota
	readOnly
	integer
	lower
	upper
	nameRef
)

type kind uint8

const (
	scalar kind = iota
	indexed
	associative
)

// variable is a shell variable. Its arrays are shared with subshells, see array.
type variable struct {
	kind    kind
	attrs   attrs
	set     bool
	str     string
	list    *array
	table   *table
	charged int64 // bytes, by this shell
}

// scope holds the variables of a function call, or the global ones.
type scope struct {
	vars         map[string]*variable
	parent       *scope
	temporary    bool // the assignments before a command: no function's
	localOptions bool // local -
}

// find returns the variable of a name and its scope, nil without one.
func (s *scope) find(name string) (*variable, *scope) {
	for ; s != nil; s = s.parent {
		if v := s.vars[name]; v != nil {
			return v, s
		}
	}
	return nil, nil
}

// clone copies the variables of all scopes, but not what they hold.
func (s *scope) clone() *scope {
	if s == nil {
		return nil
	}
	c := &scope{vars: make(map[string]*variable, len(s.vars)), parent: s.parent.clone(), temporary: s.temporary, localOptions: s.localOptions}
	all := make([]variable, 0, len(s.vars))
	for name, v := range s.vars {
		all = append(all, *v)
		all[len(all)-1].charged = 0
		c.vars[name] = &all[len(all)-1]
	}
	return c
}

// maxRefs bounds the length of a chain of name references.
const maxRefs = 20

// resolve follows name references. A reference to an element returns its
// subscript, too.
func (sh *shell) resolve(name string) (target, subscript string) {
	for range maxRefs {
		v, _ := sh.scope.find(name)
		if v == nil || v.attrs&nameRef == 0 || v.str == "" {
			return name, ""
		}
		if base, sub, ok := parse.CutSubscript(v.str); ok {
			return base, sub
		}
		name = v.str
	}
	return name, ""
}

// lookup returns the variable of a name that is no reference, nil without one.
func (sh *shell) lookup(name string) *variable {
	name, _ = sh.resolve(name)
	if v := sh.special(name); v != nil {
		return v
	}
	v, _ := sh.scope.find(name)
	return v
}

// get returns a variable's value as a string, "" if it is not set.
func (sh *shell) get(name string) string {
	if base, sub := sh.resolve(name); sub != "" {
		v, _ := sh.element(base, sh.subscript(sh.lookup(base), sub))
		return strings.Join(v.elems, " ")
	}
	s, _ := sh.value(sh.lookup(name))
	return s
}

// value returns what a name without a subscript stands for.
func (sh *shell) value(v *variable) (string, bool) {
	switch {
	case v == nil:
		return "", false
	case v.kind == indexed && v.list != nil:
		return v.list.get(0)
	case v.kind == associative && v.table != nil:
		s, ok := v.table.entries["0"]
		return s, ok
	}
	return v.str, v.set
}

// Errors of the shell itself, whatever command meets them.
var (
	errReadOnly     = errors.New("readonly variable")
	errSubscript    = errors.New("bad array subscript")
	errSubstitution = errors.New("bad substitution")
	errIndirect     = errors.New("invalid indirect expansion")
)

// writable returns the variable of a name to write to, which it makes if there is
// none in sight, nil for a read-only one.
func (sh *shell) writable(name string) (*variable, error) {
	v, _ := sh.scope.find(name)
	if v == nil {
		v = &variable{}
		sh.global().vars[name] = v
		if sh.opts.Allexport {
			v.attrs |= exported
		}
	}
	if v.attrs&readOnly != 0 {
		return nil, errorf("%s: %w", name, errReadOnly)
	}
	return v, nil
}

func (sh *shell) global() *scope {
	s := sh.scope
	for s.parent != nil {
		s = s.parent
	}
	return s
}

// set assigns a string to a name, which may be a reference or have special
// meaning.
func (sh *shell) set(name, s string) error {
	name, sub := sh.resolve(name)
	if sub != "" {
		return sh.setText(name, sub, s, false)
	}
	v, err := sh.writable(name)
	if err != nil {
		return err
	}
	return sh.assign(name, v, s, false)
}

// assign gives a variable a value, or appends to it, as its attributes ask.
func (sh *shell) assign(name string, v *variable, s string, add bool) error {
	switch v.kind {
	case indexed:
		return sh.setIndex(name, v, 0, s, add)
	case associative:
		return sh.setKey(name, v, "0", s, add)
	}
	s, err := sh.converted(v, s, v.str, add)
	if err != nil {
		return err
	}
	if !sh.charge(v, int64(len(s)+len(name))) {
		return errMemory
	}
	v.str, v.set = s, true
	sh.assigned(name, s)
	return nil
}

// converted returns a value as the attributes of its variable ask.
func (sh *shell) converted(v *variable, s, old string, add bool) (string, error) {
	if v.attrs&integer != 0 {
		n, err := sh.evaluate(s)
		if err != nil {
			return "", err
		}
		if add {
			o, _ := sh.evaluate(old)
			n += o
		}
		return strconv.FormatInt(n, 10), nil
	}
	if add {
		if !sh.room(int64(len(old) + len(s))) {
			return "", errMemory
		}
		s = old + s
	}
	switch {
	case v.attrs&lower != 0:
		s = strings.Map(unicode.ToLower, s)
	case v.attrs&upper != 0:
		s = strings.Map(unicode.ToUpper, s)
	}
	return s, nil
}

// elementCost is what an element or a name takes beside its text.
const elementCost = 64

func (sh *shell) setIndex(name string, v *variable, i int, s string, add bool) error {
	if v.kind == scalar {
		list := sh.newArray(nil)
		if v.set {
			list.set(0, v.str)
		}
		v.kind, v.list, v.str = indexed, list, ""
	}
	if i < 0 {
		if i += v.list.next(); i < 0 {
			return errorf("%s[%d]: %w", name, i-v.list.next(), errSubscript)
		}
	}
	old, _ := v.list.get(i)
	s, err := sh.converted(v, s, old, add)
	if err != nil {
		return err
	}
	if !sh.charge(v, v.charged+int64(len(s)-len(old))+elementCost) {
		return errMemory
	}
	v.list = sh.own(v.list)
	v.list.set(i, s)
	v.set = true
	return nil
}

func (sh *shell) setKey(name string, v *variable, key, s string, add bool) error {
	if key == "" {
		return errorf("%s[]: %w", name, errSubscript)
	}
	v.table = sh.ownTable(v.table)
	old := v.table.entries[key]
	s, err := sh.converted(v, s, old, add)
	if err != nil {
		return err
	}
	if !sh.charge(v, v.charged+int64(len(s)-len(old)+len(key))+2*elementCost) {
		return errMemory
	}
	v.table.set(key, s)
	v.set = true
	return nil
}

// setElement assigns to name[sub], where name may be a reference to an array.
func (sh *shell) setElement(name, sub, s string, add bool) error {
	name, _ = sh.resolve(name)
	v, err := sh.writable(name)
	if err != nil {
		return err
	}
	if v.kind == associative {
		return sh.setKey(name, v, sub, s, add)
	}
	i, err := sh.evaluate(sub)
	if err != nil {
		return err
	}
	return sh.setIndex(name, v, int(i), s, add)
}

// setList makes an indexed array of a name.
func (sh *shell) setList(name string, list []string) error {
	name, _ = sh.resolve(name)
	v, err := sh.writable(name)
	if err != nil {
		return err
	}
	size := int64(0)
	for _, s := range list {
		size += int64(len(s)) + elementCost
	}
	if !sh.charge(v, size) {
		return errMemory
	}
	v.kind, v.list, v.table, v.str, v.set = indexed, sh.newArray(list), nil, "", true
	return nil
}

// unset removes a variable. A local one that is unset stays local to its function.
func (sh *shell) unset(name string) error {
	v, s := sh.scope.find(name)
	if v == nil {
		return nil
	}
	if v.attrs&readOnly != 0 {
		return errorf("%s: cannot unset: %v", name, errReadOnly)
	}
	sh.charge(v, 0)
	if s.parent != nil {
		*v = variable{}
		return nil
	}
	delete(s.vars, name)
	return nil
}

// environ returns the environment of a command: the exported variables.
func (sh *shell) environ() []string {
	seen := map[string]bool{}
	var env []string
	for s := sh.scope; s != nil; s = s.parent {
		for name, v := range s.vars {
			if seen[name] {
				continue
			}
			seen[name] = true
			if v.attrs&exported != 0 && v.set && v.kind == scalar {
				env = append(env, name+"="+v.str)
			}
		}
	}
	for name, f := range sh.funcs {
		if f.exported {
			env = append(env, "BASH_FUNC_"+name+"%%=() "+f.text)
		}
	}
	slices.Sort(env)
	return env
}

// names returns the names of all variables, sorted.
func (sh *shell) names() []string {
	return sh.namesOf(func(v *variable) bool { return v.set })
}

// attributed is names with those that have attributes and no value yet.
func (sh *shell) attributed() []string {
	return sh.namesOf(func(v *variable) bool { return v.set || v.kind != scalar || v.attrs != 0 })
}

func (sh *shell) namesOf(which func(*variable) bool) []string {
	seen := map[string]bool{}
	for s := sh.scope; s != nil; s = s.parent {
		for name, v := range s.vars {
			if _, ok := seen[name]; !ok {
				seen[name] = which(v)
			}
		}
	}
	maps.DeleteFunc(seen, func(_ string, shown bool) bool { return !shown })
	return slices.Sorted(maps.Keys(seen))
}
