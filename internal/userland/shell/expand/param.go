package expand

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// frame is what an expansion within another takes of the stack, in bytes.
const frame = 4 << 10

// param adds a parameter expansion.
func (b *builder) param(p *syntax.ParamExp, quoted bool) {
	if b.err != nil {
		return
	}
	if !b.ex.Stack().Enter(frame) {
		b.fail(parse.ErrNesting)
		return
	}
	defer b.ex.Stack().Leave(frame)
	if is, err := b.ex.misspelt(p); is {
		if err != nil {
			b.fail(err)
		}
		return
	}
	if p.Param == nil || p.Width || p.IsSet || p.Flags != nil || p.NestedParam != nil {
		b.fail(fmt.Errorf("${…}: %w", ErrSubstitution))
		return
	}
	v, err := b.ex.parameter(p)
	if err != nil {
		b.fail(err)
		return
	}
	if p.Exp != nil && p.Exp.Op <= syntax.AssignUnsetOrNull {
		b.otherwise(p, v, quoted)
		return
	}
	if !v.IsSet && !v.Many && b.ex.opts.Nounset && p.Names == 0 {
		b.fail(&vars.Error{Msg: v.Name + ": unbound variable", Fatal: true})
		return
	}
	switch {
	case p.Length:
		v = b.ex.length(v)
	case p.Slice != nil:
		v, err = b.ex.slice(p, v)
	case p.Repl != nil:
		v.Elems, err = b.ex.replace(p.Repl, v.Elems)
	case p.Exp != nil:
		v, err = b.ex.operate(p, v)
	}
	if err != nil {
		b.fail(err)
		return
	}
	b.emit(v, quoted)
}

// emit adds a value's elements.
func (b *builder) emit(v vars.Value, quoted bool) {
	switch {
	case !v.Many:
		if len(v.Elems) == 0 {
			v.Elems = []string{""}
		}
		if quoted {
			b.add(v.Elems[0], true)
		} else {
			b.splitAdd(v.Elems[0])
		}
	case quoted && v.Star:
		b.add(b.join(v.Elems, b.ex.joiner()), true)
	case !b.split:
		sep := " "
		if v.Star {
			sep = b.ex.joiner()
		}
		b.add(b.join(v.Elems, sep), quoted)
	default:
		for i, s := range v.Elems {
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
	if !b.ex.vars.Room(int64(size)) {
		b.fail(vars.ErrMemory)
		return ""
	}
	return strings.Join(elems, sep)
}

// parameter returns what the name of an expansion stands for, behind a ! as well.
func (ex *Expander) parameter(p *syntax.ParamExp) (vars.Value, error) {
	name := p.Param.Value
	if !p.Excl {
		return ex.Fetch(name, p.Index, p)
	}
	if p.Names != 0 {
		v := vars.Value{Name: name, Many: true, IsSet: true, Star: p.Names == syntax.NamesPrefix}
		for _, n := range ex.vars.Names() {
			if strings.HasPrefix(n, name) {
				v.Elems = append(v.Elems, n)
			}
		}
		return v, nil
	}
	if all, star := allElements(p.Index); all {
		v, err := ex.Fetch(name, p.Index, p)
		v.Elems, v.Star = v.Keys, star
		return v, err
	}
	if ref, _ := ex.vars.Scope.Find(name); ref != nil && ref.Attrs&vars.NameRef != 0 {
		return vars.Value{Name: name, Elems: []string{ref.Str}, IsSet: true}, nil
	}
	v, err := ex.Fetch(name, p.Index, p)
	if err != nil {
		return v, err
	}
	target := strings.Join(v.Elems, " ")
	if !v.IsSet || target == "" {
		if p.Exp != nil {
			return vars.Value{Name: name}, nil
		}
		return v, fmt.Errorf("%s: %w", name, ErrIndirect)
	}
	return ex.FetchText(target)
}

// FetchText returns what the text of a name stands for: x, x[3], x[@], 1, @.
func (ex *Expander) FetchText(target string) (vars.Value, error) {
	base, sub, has := parse.CutSubscript(target)
	switch {
	case !has && (parse.ValidName(base) || isSpecial(base)):
		return ex.Fetch(base, nil, nil)
	case !has:
		return vars.Value{}, &vars.Error{Msg: target + ": invalid variable name", Fatal: true}
	case sub == "@" || sub == "*":
		return ex.vars.Elements(base, sub == "*"), nil
	}
	return ex.vars.Element(base, ex.Subscript(ex.vars.Lookup(base), sub))
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

// Fetch returns what name[index] stands for; index may be nil.
func (ex *Expander) Fetch(name string, index syntax.ArithmExpr, p *syntax.ParamExp) (vars.Value, error) {
	one := func(s string, set bool) (vars.Value, error) {
		return vars.Value{Name: name, Elems: []string{s}, IsSet: set}, nil
	}
	switch name {
	case "@", "*":
		_, list := ex.host.Arguments()
		return vars.Value{Name: name, Elems: list, Many: true, Star: name == "*", IsSet: len(list) > 0}, nil
	case "#":
		_, list := ex.host.Arguments()
		return one(strconv.Itoa(len(list)), true)
	case "-":
		return one(ex.opts.Letters(), true)
	case "?", "$", "!":
		return one(ex.host.Parameter(name[0]))
	case "LINENO":
		if p != nil && !ex.vars.Plain[name] {
			return one(strconv.Itoa(ex.host.Line(p.Pos())), true)
		}
	}
	if n, err := strconv.Atoi(name); err == nil {
		zero, list := ex.host.Arguments()
		switch {
		case n == 0:
			return one(zero, true)
		case n <= len(list):
			return one(list[n-1], true)
		}
		return vars.Value{Name: "$" + name}, nil
	}
	if all, star := allElements(index); all {
		return ex.vars.Elements(name, star), nil
	}
	name, sub := ex.vars.Resolve(name)
	if index != nil {
		v := ex.vars.Lookup(name)
		if v != nil && v.Kind == vars.Associative {
			key, err := ex.Key(index)
			if err != nil {
				return vars.Value{}, err
			}
			if key == "" {
				ex.host.Report(fmt.Errorf("%s: %w", name, vars.ErrSubscript)) // and it is unset, as in bash
				return vars.Value{Name: name + "[]"}, nil
			}
			return ex.vars.Element(name, key)
		}
		n, err := ex.Number(index)
		if err != nil {
			return vars.Value{}, err
		}
		return ex.vars.Element(name, strconv.FormatInt(n, 10))
	}
	switch sub {
	case "":
		s, set := ex.vars.Value(ex.vars.Lookup(name))
		return one(s, set)
	case "@", "*":
		return ex.vars.Elements(name, sub == "*"), nil
	}
	return ex.vars.Element(name, ex.Subscript(ex.vars.Lookup(name), sub))
}

// Key expands the subscript of an associative array, which was parsed as
// arithmetic.
func (ex *Expander) Key(index syntax.ArithmExpr) (string, error) {
	if !ex.Stack().Enter(frame) {
		return "", parse.ErrNesting
	}
	defer ex.Stack().Leave(frame)
	switch x := index.(type) {
	case *syntax.Word:
		return ex.Literal(x)
	case *syntax.BinaryArithm:
		left, err := ex.Key(x.X)
		if err != nil {
			return "", err
		}
		right, err := ex.Key(x.Y)
		return left + x.Op.String() + right, err
	case *syntax.UnaryArithm:
		s, err := ex.Key(x.X)
		if x.Post {
			return s + x.Op.String(), err
		}
		return x.Op.String() + s, err
	case *syntax.ParenArithm:
		s, err := ex.Key(x.X)
		return "(" + s + ")", err
	}
	return "", fmt.Errorf("bad array subscript")
}

// characters returns how many characters a text has: bytes in the locale C.
func (ex *Expander) characters(s string) int {
	if n := utf8.RuneCountInString(s); n == len(s) || !ex.Bytes() {
		return n
	}
	return len(s)
}

// Bytes reports whether the locale is C, whose characters are bytes.
func (ex *Expander) Bytes() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if s, _ := ex.vars.Value(ex.vars.Lookup(name)); s != "" {
			return s == "C" || s == "POSIX"
		}
	}
	return false
}

func (ex *Expander) length(v vars.Value) vars.Value {
	n := len(v.Elems)
	if !v.Many {
		n = 0
		if len(v.Elems) > 0 {
			n = ex.characters(v.Elems[0])
		}
	}
	return vars.Value{Elems: []string{strconv.Itoa(n)}, IsSet: true}
}
