package builtins

import (
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
	"fmt"
	"strings"
)

func unset(sh Shell, args []string) int {
	status, functions, variables, ref := 0, true, true, false
	args = args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		if bad := strings.Trim(args[0][1:], "fvn-"); bad != "" {
			return Usage(sh, "unset", "-"+bad[:1]+": invalid option", "unset [-f] [-v] [-n] [name ...]")
		}
		functions = functions && args[0] != "-v" && args[0] != "-n"
		variables = variables && args[0] != "-f"
		ref = ref || args[0] == "-n"
		args = args[1:]
	}
	for _, a := range args {
		name, sub, element := parse.CutSubscript(a)
		if !ref {
			name, _ = sh.Vars().Resolve(name)
		}
		v, _ := sh.Vars().Scope.Find(name)
		switch {
		case element && variables && v != nil:
			if err := unsetElement(sh, name, v, sub); err != nil {
				sh.Errorf("unset: %v", err)
				status = 1
			}
		case v != nil && variables:
			if err := sh.Vars().Unset(name); err != nil {
				sh.Errorf("unset: %v", err)
				status = 1
			}
		case variables && sh.Vars().Special(name) != nil:
			sh.Vars().Plain[name] = true
		case functions && sh.State().Functions[name] != nil && sh.State().Functions[name].ReadOnly:
			sh.Errorf("unset: %s: cannot unset: readonly function", name)
			status = 1
		case functions:
			delete(sh.State().Functions, name)
		case !parse.ValidName(name):
			sh.Errorf("unset: `%s': not a valid identifier", a)
			status = 1
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
