package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/parse"
)

// value is what a parameter stands for.
type value struct {
	name  string // with its subscript, for errors
	elems []string
	keys  []string // of an array's elements
	many  bool     // $@, $* or all elements of an array
	star  bool     // joined in double quotes
	set   bool
}

// maxNested bounds parameter expansions within one another.
const maxNested = 200

// param adds a parameter expansion.
func (b *builder) param(p *syntax.ParamExp, quoted bool) {
	if b.nested++; b.nested > maxNested {
		b.fail(errorf("more than %d nested expansions", maxNested))
	}
	defer func() { b.nested-- }()
	if b.err != nil {
		return
	}
	if is, err := b.sh.misspelt(p); is {
		if err != nil {
			b.fail(err)
		}
		return
	}
	if p.Param == nil || p.Width || p.IsSet || p.Flags != nil || p.NestedParam != nil {
		b.fail(errorf("${…}: %w", errSubstitution))
		return
	}
	sh := b.sh
	v, err := sh.parameter(p)
	if err != nil {
		b.fail(err)
		return
	}
	if p.Exp != nil && p.Exp.Op <= syntax.AssignUnsetOrNull {
		b.otherwise(p, v, quoted)
		return
	}
	if !v.set && !v.many && sh.opts.Nounset && p.Names == 0 {
		b.fail(&expandError{v.name + ": unbound variable", true})
		return
	}
	switch {
	case p.Length:
		v = sh.length(v)
	case p.Slice != nil:
		v, err = sh.slice(p, v)
	case p.Repl != nil:
		v.elems, err = sh.replace(p.Repl, v.elems)
	case p.Exp != nil:
		v, err = sh.operate(p, v)
	}
	if err != nil {
		b.fail(err)
		return
	}
	b.emit(v, quoted)
}

// emit adds a value's elements.
func (b *builder) emit(v value, quoted bool) {
	switch {
	case !v.many:
		if len(v.elems) == 0 {
			v.elems = []string{""}
		}
		if quoted {
			b.add(v.elems[0], true)
		} else {
			b.splitAdd(v.elems[0])
		}
	case quoted && v.star:
		b.add(b.join(v.elems, b.sh.joiner()), true)
	case !b.split:
		sep := " "
		if v.star {
			sep = b.sh.joiner()
		}
		b.add(b.join(v.elems, sep), quoted)
	default:
		for i, s := range v.elems {
			if i > 0 && (quoted || b.started) {
				b.next()
			}
			if quoted {
				b.add(s, true)
			} else {
				b.splitAdd(s)
			}
		}
	}
}

func (b *builder) join(elems []string, sep string) string {
	size := 0
	for _, s := range elems {
		size += len(s) + len(sep)
	}
	if !b.sh.room(int64(size)) {
		b.fail(errMemory)
		return ""
	}
	return strings.Join(elems, sep)
}

// parameter returns what the name of an expansion stands for, behind a ! as well.
func (sh *shell) parameter(p *syntax.ParamExp) (value, error) {
	name := p.Param.Value
	if !p.Excl {
		return sh.fetch(name, p.Index, p)
	}
	if p.Names != 0 {
		v := value{name: name, many: true, set: true, star: p.Names == syntax.NamesPrefix}
		for _, n := range sh.names() {
			if strings.HasPrefix(n, name) {
				v.elems = append(v.elems, n)
			}
		}
		return v, nil
	}
	if all, star := allElements(p.Index); all {
		v, err := sh.fetch(name, p.Index, p)
		v.elems, v.star = v.keys, star
		return v, err
	}
	if ref, _ := sh.scope.find(name); ref != nil && ref.attrs&nameRef != 0 {
		return value{name: name, elems: []string{ref.str}, set: true}, nil
	}
	v, err := sh.fetch(name, p.Index, p)
	if err != nil {
		return v, err
	}
	target := strings.Join(v.elems, " ")
	if !v.set || target == "" {
		if p.Exp != nil {
			return value{name: name}, nil
		}
		return v, errorf("%s: %w", name, errIndirect)
	}
	return sh.fetchText(target)
}

// fetchText returns what the text of a name stands for: x, x[3], x[@], 1, @.
func (sh *shell) fetchText(target string) (value, error) {
	base, sub, has := parse.CutSubscript(target)
	switch {
	case !has && (parse.ValidName(base) || isSpecial(base)):
		return sh.fetch(base, nil, nil)
	case !has:
		return value{}, &expandError{target + ": invalid variable name", true}
	case sub == "@" || sub == "*":
		return sh.elements(base, sub == "*"), nil
	}
	return sh.element(base, sh.subscript(sh.lookup(base), sub))
}

func isSpecial(name string) bool {
	if _, err := strconv.ParseUint(name, 10, 31); err == nil {
		return true
	}
	return len(name) == 1 && strings.Contains("@*#?-$!", name)
}

// allElements reports whether a subscript is @ or *.
func allElements(index syntax.ArithmExpr) (all, star bool) {
	w, ok := index.(*syntax.Word)
	if !ok || len(w.Parts) != 1 {
		return false, false
	}
	lit, ok := w.Parts[0].(*syntax.Lit)
	if !ok {
		return false, false
	}
	return lit.Value == "@" || lit.Value == "*", lit.Value == "*"
}

// fetch returns what name[index] stands for; index may be nil.
func (sh *shell) fetch(name string, index syntax.ArithmExpr, p *syntax.ParamExp) (value, error) {
	one := func(s string, set bool) (value, error) {
		return value{name: name, elems: []string{s}, set: set}, nil
	}
	switch name {
	case "@", "*":
		return value{name: name, elems: sh.params, many: true, star: name == "*", set: len(sh.params) > 0}, nil
	case "#":
		return one(strconv.Itoa(len(sh.params)), true)
	case "?":
		return one(strconv.Itoa(sh.status), true)
	case "-":
		return one(sh.opts.Letters(), true)
	case "$":
		return one(strconv.Itoa(sh.pid), true)
	case "!":
		if sh.lastJob == 0 {
			return one("", false)
		}
		return one(strconv.Itoa(sh.lastJob), true)
	case "LINENO":
		if p != nil && !sh.plain[name] {
			return one(strconv.Itoa(sh.lineOf(p.Pos())), true)
		}
	}
	if n, err := strconv.Atoi(name); err == nil {
		switch {
		case n == 0:
			return one(sh.arg0, true)
		case n <= len(sh.params):
			return one(sh.params[n-1], true)
		}
		return value{name: "$" + name}, nil
	}
	if all, star := allElements(index); all {
		return sh.elements(name, star), nil
	}
	name, sub := sh.resolve(name)
	if index != nil {
		v := sh.lookup(name)
		if v != nil && v.kind == associative {
			key, err := sh.key(index)
			if err != nil {
				return value{}, err
			}
			if key == "" {
				sh.report(errorf("%s: %w", name, errSubscript)) // and it is unset, as in bash
				return value{name: name + "[]"}, nil
			}
			return sh.element(name, key)
		}
		n, err := sh.arithm(index)
		if err != nil {
			return value{}, err
		}
		return sh.element(name, itoa(n))
	}
	switch sub {
	case "":
		s, set := sh.value(sh.lookup(name))
		return one(s, set)
	case "@", "*":
		return sh.elements(name, sub == "*"), nil
	}
	return sh.element(name, sh.subscript(sh.lookup(name), sub))
}

// elements returns all elements of an array; those of a scalar are its value.
func (sh *shell) elements(name string, star bool) value {
	v := value{name: name, many: true, star: star}
	switch a := sh.lookup(name); {
	case a == nil || !a.set:
	case a.kind == indexed:
		v.elems = a.list.list
		for _, i := range a.list.indexes() {
			v.keys = append(v.keys, strconv.Itoa(i))
		}
	case a.kind == associative:
		v.keys = a.table.keys()
		for _, k := range v.keys {
			v.elems = append(v.elems, a.table.entries[k])
		}
	default:
		v.elems, v.keys = []string{a.str}, []string{"0"}
	}
	v.set = len(v.elems) > 0
	return v
}

// element returns name[sub].
func (sh *shell) element(name, sub string) (value, error) {
	v := value{name: name + "[" + sub + "]"}
	a := sh.lookup(name)
	if a != nil && a.kind == associative {
		var s string
		if a.table != nil {
			s, v.set = a.table.entries[sub]
		}
		v.elems = []string{s}
		return v, nil
	}
	i, err := sh.evaluate(sub)
	if err != nil || a == nil {
		return v, err
	}
	var s string
	switch {
	case a.kind == indexed && a.list != nil:
		if i < 0 {
			i += int64(a.list.next())
		}
		if i < 0 {
			sh.report(errorf("%s: %w", name, errSubscript)) // and it is empty, as in bash
			return v, nil
		}
		s, v.set = a.list.get(int(i))
	case i == 0 || i == -1:
		s, v.set = a.str, a.set
	}
	v.elems = []string{s}
	return v, nil
}

// key expands the subscript of an associative array, which was parsed as
// arithmetic.
func (sh *shell) key(index syntax.ArithmExpr) (string, error) { return sh.keyAt(index, 0) }

func (sh *shell) keyAt(index syntax.ArithmExpr, depth int) (string, error) {
	if depth++; depth > maxArithDepth {
		return "", parse.ErrNesting
	}
	switch x := index.(type) {
	case *syntax.Word:
		return sh.literal(x)
	case *syntax.BinaryArithm:
		left, err := sh.keyAt(x.X, depth)
		if err != nil {
			return "", err
		}
		right, err := sh.keyAt(x.Y, depth)
		return left + x.Op.String() + right, err
	case *syntax.UnaryArithm:
		s, err := sh.keyAt(x.X, depth)
		if x.Post {
			return s + x.Op.String(), err
		}
		return x.Op.String() + s, err
	case *syntax.ParenArithm:
		s, err := sh.keyAt(x.X, depth)
		return "(" + s + ")", err
	}
	return "", errorf("bad array subscript")
}

// characters returns how many characters a text has: bytes in the locale C.
func (sh *shell) characters(s string) int {
	if n := utf8.RuneCountInString(s); n == len(s) || !sh.bytes() {
		return n
	}
	return len(s)
}

// bytes reports whether the locale is C, whose characters are bytes.
func (sh *shell) bytes() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if s, _ := sh.value(sh.lookup(name)); s != "" {
			return s == "C" || s == "POSIX"
		}
	}
	return false
}

func (sh *shell) length(v value) value {
	n := len(v.elems)
	if !v.many {
		n = 0
		if len(v.elems) > 0 {
			n = sh.characters(v.elems[0])
		}
	}
	return value{elems: []string{strconv.Itoa(n)}, set: true}
}
