package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// declaredValues expands what the operands assign: before any is declared, so that in
// local x=1 y=$x the second has the caller's x.
func (sh *shell) declaredValues(d *declaration, list []operand) error {
	for i := range list {
		o := &list[i]
		switch {
		case o.as == nil:
		case o.as.Array == nil:
			s, err := sh.assignedValue(o.as.Value)
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
			name, _ := sh.vars.Resolve(o.name)
			v, _ := sh.vars.Scope.Find(name)
			var err error
			o.pairs, err = sh.arrayElements(o.as.Array, d.kind == vars.Associative || d.kind == vars.Scalar && !d.local && v != nil && v.Kind == vars.Associative)
			if err != nil {
				return err
			}
			sh.tracePairs(o.name, o.pairs)
		}
		d.words = append(d.words, o.text())
	}
	return nil
}

func (sh *shell) assignOperand(d *declaration, o operand, name, sub string, hasSub, add bool, v *vars.Variable) error {
	switch {
	case o.value != nil && o.as == nil:
		s := *o.value
		if v.Kind != vars.Scalar && strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") && !hasSub {
			return sh.assignArrayText(name, s, add, v.Kind == vars.Associative)
		}
		if hasSub {
			return sh.vars.SetText(name, sub, s, add)
		}
		return sh.assignDeclared(d, name, v, s, add)
	case o.as == nil:
		return nil
	case o.as.Array != nil:
		if v.Kind == vars.Scalar {
			_ = sh.vars.Convert(name, v, vars.Indexed)
		}
		if !o.as.Append {
			sh.Charge(v, 0)
			if v.List != nil {
				v.List = sh.vars.NewArray(nil)
			} else {
				v.Table = sh.vars.NewTable()
			}
		}
		v.IsSet = true
		if v.List != nil {
			v.List = sh.vars.Own(v.List)
		}
		return sh.vars.Fill(name, v, o.pairs)
	}
	return sh.assignIndex(name, o.as.Index, *o.value, o.as.Append)
}

func (sh *shell) assignDeclared(d *declaration, name string, v *vars.Variable, s string, add bool) error {
	if d.on&vars.NameRef != 0 {
		if base, _, _ := parse.CutSubscript(s); !parse.ValidName(base) {
			return fmt.Errorf("`%s': invalid variable name for name reference", s)
		}
		if s == name && d.local { // it is the caller's
			sh.errorf("%s: warning: %s: circular name reference", d.command, name)
			delete(sh.vars.FunctionScope().Vars, name)
			return nil
		}
		if s == name {
			return fmt.Errorf("%s: nameref variable self references not allowed", name)
		}
		v.Str, v.IsSet = s, true
		return nil
	}
	return sh.vars.Assign(name, v, s, add)
}

// assignArrayText assigns the text of a list.
func (sh *shell) assignArrayText(name, s string, add, assoc bool) (err error) {
	old := sh.src
	defer func() { sh.src = old }()
	sh.src = &parse.Source{Text: name + "=" + s, Name: old.Name, First: sh.line}
	if e := sh.src.Statements(dialect{sh}, func(st *syntax.Stmt) bool {
		if c, ok := st.Cmd.(*syntax.CallExpr); ok && len(c.Assigns) == 1 && c.Assigns[0].Array != nil {
			err = sh.assignArray(name, c.Assigns[0].Array, add, assoc)
		}
		return false
	}); e != nil {
		return fmt.Errorf("%s: bad array value", name)
	}
	return err
}
