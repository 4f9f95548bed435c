package builtins

import (
	"maps"
	"slices"
	"strings"

	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
)

// printVariables is declare -p, and export, readonly and local without names.
func printVariables(sh Shell, d *declaration, list []operand) int {
	var b strings.Builder
	status := 0
	if len(list) > 0 {
		for _, o := range list {
			v, _ := sh.Vars().Scope.Find(o.name)
			if v == nil {
				v = sh.Vars().Special(o.name)
			}
			if v == nil {
				status = fail(sh, "%s: %s: not found", d.command, o.name)
				continue
			}
			b.WriteString(v.Declaration(o.name, false) + "\n")
		}
		return max(status, sh.Print(d.command, b.String()))
	}
	for _, name := range sh.Vars().Attributed() {
		v, s := sh.Vars().Scope.Find(name)
		switch {
		case v.Attrs&d.on != d.on, d.kind != vars.Scalar && v.Kind != d.kind, d.command == "local" && s != sh.Vars().FunctionScope():
		case d.anyFlag || d.on != 0 || d.command == "local":
			b.WriteString(v.Declaration(name, false) + "\n")
		case v.IsSet && v.Kind == vars.Scalar:
			b.WriteString(name + "=" + quote.Value(v.Str) + "\n")
		case v.IsSet:
			b.WriteString(name + "=" + v.Shown() + "\n")
		}
	}
	return sh.Print(d.command, b.String())
}

func declareFunctions(sh Shell, d *declaration, list []operand) int {
	if len(list) == 0 {
		for _, name := range slices.Sorted(maps.Keys(sh.State().Functions)) {
			list = append(list, operand{name: name})
		}
		if d.names {
			var b strings.Builder
			for _, o := range list {
				b.WriteString("declare -f " + o.name + "\n")
			}
			return sh.Print(d.command, b.String())
		}
	}
	status := 0
	var b strings.Builder
	for _, o := range list {
		f := sh.State().Functions[o.name]
		switch {
		case f == nil:
			if status = 1; d.command == "export" || d.command == "readonly" {
				sh.Errorf("%s: %s: not a function", d.command, o.name)
			}
		case d.command == "export":
			shared := *f
			shared.Exported = !d.withoutRest
			sh.State().Functions[o.name] = &shared
		case d.command == "readonly" || d.on&vars.ReadOnly != 0:
			fixed := *f
			fixed.ReadOnly = true
			sh.State().Functions[o.name] = &fixed
		case d.names:
			b.WriteString(o.name + "\n")
		default:
			b.WriteString(f.Definition(o.name))
		}
	}
	if sh.Print(d.command, b.String()) != 0 {
		return 1
	}
	return status
}
