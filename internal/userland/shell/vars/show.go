package vars

import (
	"cmp"
	"coderunner/internal/userland/shell/quote"
	"strconv"
	"strings"
)

// Letters returns the attributes as declare's flags.
func (v *Variable) Letters() string {
	s := ""
	switch v.Kind {
	case Indexed:
		s = "a"
	case Associative:
		s = "A"
	}
	for _, x := range []struct {
		Attrs
		letter string
	}{{Integer, "i"}, {Lower, "l"}, {NameRef, "n"}, {ReadOnly, "r"}, {Upper, "u"}, {Exported, "x"}} {
		if v.Attrs&x.Attrs != 0 {
			s += x.letter
		}
	}
	return s
}

// Declaration returns the command that makes a variable. whole is for ${x[@]@A}.
func (v *Variable) Declaration(name string, whole bool) string {
	flags := cmp.Or(v.Letters(), "-")
	head := "declare -" + flags + " " + name
	switch {
	case !v.IsSet:
		return head
	case v.Kind == Scalar && whole && flags == "-":
		return name + "=" + quote.Word(v.Str)
	case v.Kind == Scalar && whole:
		return head + "=" + quote.Word(v.Str)
	}
	return head + "=" + v.Shown()
}

// Shown returns a value as declare -p prints it.
func (v *Variable) Shown() string {
	var b strings.Builder
	switch v.Kind {
	case Indexed:
		b.WriteByte('(')
		for i, at := range v.List.Indexes() {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString("[" + strconv.Itoa(at) + "]=" + quote.Double(v.List.List[i]))
		}
		b.WriteByte(')')
	case Associative:
		b.WriteByte('(')
		for _, k := range v.Table.Keys() {
			key := k
			if strings.ContainsAny(k, " \t\n\"'\\$`*@[]()&;|<>#!~?{}") {
				key = quote.Double(k)
			}
			b.WriteString("[" + key + "]=" + quote.Double(v.Table.Entries[k]) + " ")
		}
		b.WriteByte(')')
	default:
		return quote.Double(v.Str)
	}
	return b.String()
}

// TypeName returns the type of a variable for people.
func (v *Variable) TypeName() string {
	switch {
	case v.Kind == Indexed:
		return "array"
	case v.Kind == Associative:
		return "associative array"
	case v.Attrs&Integer != 0:
		return "integer"
	}
	return "string"
}
