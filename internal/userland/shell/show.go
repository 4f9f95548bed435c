package shell

import (
	"maps"
	"slices"
	"strings"

	"coderunner/internal/userland/shell/quote"
)

// printVariables is declare -p, and export, readonly and local without names.
func (sh *shell) printVariables(d *declaration, list []operand) int {
	var b strings.Builder
	status := 0
	if len(list) > 0 {
		for _, o := range list {
			v, _ := sh.scope.find(o.name)
			if v == nil {
				v = sh.special(o.name)
			}
			if v == nil {
				sh.errorf("%s: %s: not found", d.command, o.name)
				status = 1
				continue
			}
			b.WriteString(sh.declaration(o.name, v, false) + "\n")
		}
		return max(status, sh.print(d.command, b.String()))
	}
	for _, name := range sh.attributed() {
		v, s := sh.scope.find(name)
		switch {
		case v.attrs&d.on != d.on, d.kind != scalar && v.kind != d.kind, d.command == "local" && s != sh.functionScope():
		case d.anyFlag || d.on != 0 || d.command == "local":
			b.WriteString(sh.declaration(name, v, false) + "\n")
		case v.set && v.kind == scalar:
			b.WriteString(name + "=" + quote.Value(v.str) + "\n")
		case v.set:
			b.WriteString(name + "=" + sh.shown(v) + "\n")
		}
	}
	return sh.print(d.command, b.String())
}

// letters returns the attributes as declare's flags.
func (v *variable) letters() string {
	s := ""
	switch v.kind {
	case indexed:
		s = "a"
	case associative:
		s = "A"
	}
	for _, x := range []struct {
		attrs
		letter string
	}{{integer, "i"}, {lower, "l"}, {nameRef, "n"}, {readOnly, "r"}, {upper, "u"}, {exported, "x"}} {
		if v.attrs&x.attrs != 0 {
			s += x.letter
		}
	}
	return s
}

// declaration returns the command that makes a variable. whole is for ${x[@]@A}.
func (sh *shell) declaration(name string, v *variable, whole bool) string {
	flags := v.letters()
	if flags == "" {
		flags = "-"
	}
	head := "declare -" + flags + " " + name
	switch {
	case !v.set:
		return head
	case v.kind == scalar && whole && flags == "-":
		return name + "=" + quote.Word(v.str)
	case v.kind == scalar && whole:
		return head + "=" + quote.Word(v.str)
	}
	return head + "=" + sh.shown(v)
}

// shown returns a value as declare -p prints it.
func (sh *shell) shown(v *variable) string {
	var b strings.Builder
	switch v.kind {
	case indexed:
		b.WriteByte('(')
		for i, at := range v.list.indexes() {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString("[" + itoa(int64(at)) + "]=" + quote.Double(v.list.list[i]))
		}
		b.WriteByte(')')
	case associative:
		b.WriteByte('(')
		for _, k := range v.table.keys() {
			key := k
			if strings.ContainsAny(k, " \t\n\"'\\$`*@[]()&;|<>#!~?{}") {
				key = quote.Double(k)
			}
			b.WriteString("[" + key + "]=" + quote.Double(v.table.entries[k]) + " ")
		}
		b.WriteByte(')')
	default:
		return quote.Double(v.str)
	}
	return b.String()
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
			f = &function{f.body, f.src, f.text, !d.withoutRest}
			sh.funcs[o.name] = f
		case d.command == "readonly" || d.on&readOnly != 0:
			sh.plain["readonly -f "+o.name] = true
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
