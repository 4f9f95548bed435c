package builtins

import (
	"fmt"
	"strings"

	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
)

// declaredValues expands what the operands assign: before any is declared, so that in
// local x=1 y=$x the second has the caller's x.
func declaredValues(sh Shell, d *declaration, list []operand) error {
	for i := range list {
		o := &list[i]
		switch {
		case o.as == nil:
		case o.as.Array == nil:
			s, err := sh.Expander().AssignedValue(o.as.Value)
			if err != nil {
				return err
			}
			if o.value = &s; o.as.Append {
				o.name += "+"
			}
			if o.as.Index == nil {
				o.as = nil
			}
		default:
			name, _ := sh.Vars().Resolve(o.name)
			v, _ := sh.Vars().Scope.Find(name)
			var err error
			o.pairs, err = sh.Expander().Elements(o.as.Array, d.kind == vars.Associative || d.kind == vars.Scalar && !d.local && v != nil && v.Kind == vars.Associative)
			if err != nil {
				return err
			}
			tracePairs(sh, o.name, o.pairs)
		}
		d.words = append(d.words, o.text())
	}
	return nil
}

func assignOperand(sh Shell, d *declaration, o operand, name, sub string, hasSub, add bool, v *vars.Variable) error {
	switch {
	case o.value != nil && o.as == nil:
		s := *o.value
		if v.Kind != vars.Scalar && strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") && !hasSub {
			return sh.AssignList(name, s, add, v.Kind == vars.Associative)
		}
		if hasSub {
			return sh.Vars().SetText(name, sub, s, add)
		}
		return assignDeclared(sh, d, name, v, s, add)
	case o.as == nil:
		return nil
	case o.as.Array != nil:
		if v.Kind == vars.Scalar {
			_ = sh.Vars().Convert(name, v, vars.Indexed)
		}
		if !o.as.Append {
			sh.Vars().Charge(v, 0)
			if v.List != nil {
				v.List = sh.Vars().NewArray(nil)
			} else {
				v.Table = sh.Vars().NewTable()
			}
		}
		v.IsSet = true
		if v.List != nil {
			v.List = sh.Vars().Own(v.List)
		}
		return sh.Vars().Fill(name, v, o.pairs)
	}
	return sh.Expander().AssignIndex(name, o.as.Index, *o.value, o.as.Append)
}

func assignDeclared(sh Shell, d *declaration, name string, v *vars.Variable, s string, add bool) error {
	if d.on&vars.NameRef != 0 {
		if base, _, _ := parse.CutSubscript(s); !parse.ValidName(base) {
			return fmt.Errorf("`%s': invalid variable name for name reference", s)
		}
		if s == name && d.local { // it is the caller's
			sh.Errorf("%s: warning: %s: circular name reference", d.command, name)
			delete(sh.Vars().FunctionScope().Vars, name)
			return nil
		}
		if s == name {
			return fmt.Errorf("%s: nameref variable self references not allowed", name)
		}
		v.Str, v.IsSet = s, true
		return nil
	}
	return sh.Vars().Assign(name, v, s, add)
}

// tracePairs shows the elements of an array that is declared.
func tracePairs(sh Shell, name string, pairs []vars.Pair) {
	if !sh.Options().Xtrace {
		return
	}
	words := make([]string, len(pairs))
	for i, p := range pairs {
		if words[i] = quote.Single(p.Value); p.Keyed {
			words[i] = "[" + quote.Single(p.Key) + "]=" + words[i]
		}
	}
	sh.Trace(name + "=(" + strings.Join(words, " ") + ")")
}
