package shell

import (
	"maps"
	"slices"
	"strings"

	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
)

// printVariables is declare -p, and export, readonly and local without names.
func (sh *shell) printVariables(d *declaration, list []operand) int {
	var b strings.Builder
	status := 0
	if len(list) > 0 {
		for _, o := range list {
			v, _ := sh.vars.Scope.Find(o.name)
			if v == nil {
				v = sh.special(o.name)
			}
			if v == nil {
				sh.errorf("%s: %s: not found", d.command, o.name)
				status = 1
				continue
			}
			b.WriteString(v.Declaration(o.name, false) + "\n")
		}
		return max(status, sh.print(d.command, b.String()))
	}
	for _, name := range sh.vars.Attributed() {
		v, s := sh.vars.Scope.Find(name)
		switch {
		case v.Attrs&d.on != d.on, d.kind != vars.Scalar && v.Kind != d.kind, d.command == "local" && s != sh.vars.FunctionScope():
		case d.anyFlag || d.on != 0 || d.command == "local":
			b.WriteString(v.Declaration(name, false) + "\n")
		case v.IsSet && v.Kind == vars.Scalar:
			b.WriteString(name + "=" + quote.Value(v.Str) + "\n")
		case v.IsSet:
			b.WriteString(name + "=" + v.Shown() + "\n")
		}
	}
	return sh.print(d.command, b.String())
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (sh *shell) declareFunctions(d *declaration, list []operand) int {
	if len(list) == 0 {
		for _, name := range sortedKeys(sh.funcs) {
			list = append(list, operand{name: name})
		}
		if d.names {
			var b strings.Builder
			for _, o := range list {
				b.WriteString("declare -f " + o.name + "\n")
			}
			return sh.print(d.command, b.String())
		}
	}
	status := 0
	var b strings.Builder
	for _, o := range list {
		f := sh.funcs[o.name]
		switch {
		case f == nil:
			if status = 1; d.command == "export" || d.command == "readonly" {
				sh.errorf("%s: %s: not a function", d.command, o.name)
			}
		case d.command == "export":
			shared := *f
			shared.exported = !d.withoutRest
			sh.funcs[o.name] = &shared
		case d.command == "readonly" || d.on&vars.ReadOnly != 0:
			fixed := *f
			fixed.readOnly = true
			sh.funcs[o.name] = &fixed
		case d.names:
			b.WriteString(o.name + "\n")
		default:
			b.WriteString(sh.definition(o.name, f))
		}
	}
	if sh.print(d.command, b.String()) != 0 {
		return 1
	}
	return status
}
