package builtins

import (
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
	"fmt"
)

func unset(sh Shell, flags Flags, args []string) int {
	status, ref := 0, flags.On('n')
	functions, variables := !flags.On('v') && !ref, !flags.On('f')
	for _, a := range args {
		name, sub, element := parse.CutSubscript(a)
		if !ref {
			name, _ = sh.Vars().Resolve(name)
		}
		v, _ := sh.Vars().Scope.Find(name)
		switch {
		case element && variables && v != nil:
			if err := unsetElement(sh, name, v, sub); err != nil {
				status = fail(sh, "unset: %v", err)
			}
		case v != nil && variables:
			if err := sh.Vars().Unset(name); err != nil {
				status = fail(sh, "unset: %v", err)
			}
		case variables && sh.Vars().Special(name) != nil:
			sh.Vars().Plain[name] = true
		case functions && sh.State().Functions[name] != nil && sh.State().Functions[name].ReadOnly:
			status = fail(sh, "unset: %s: cannot unset: readonly function", name)
		case functions:
			delete(sh.State().Functions, name)
		case !parse.ValidName(name):
			status = fail(sh, "unset: `%s': not a valid identifier", a)
		}
	}
	return status
}

func unsetElement(sh Shell, name string, v *vars.Variable, sub string) error {
	sub = sh.Expander().Subscript(v, sub)
	switch {
	case v.Attrs&vars.ReadOnly != 0:
		return fmt.Errorf("%s: cannot unset: %v", name, vars.ErrReadOnly)
	case v.Kind == vars.Associative:
		v.Table = sh.Vars().OwnTable(v.Table)
		v.Table.Remove(sub)
		return nil
	case sub == "@" || sub == "*":
		return sh.Vars().Unset(name)
	}
	n, err := sh.Expander().Evaluate(sub)
	if err != nil {
		return err
	}
	if v.Kind == vars.Indexed {
		if n < 0 {
			n += int64(v.List.Next())
		}
		if n < 0 {
			return fmt.Errorf("[%s]: bad array subscript", sub)
		}
		v.List = sh.Vars().Own(v.List)
		v.List.Remove(int(n))
	} else if n == 0 {
		return sh.Vars().Unset(name)
	} else {
		return fmt.Errorf("%s: not an array variable", name)
	}
	return nil
}
