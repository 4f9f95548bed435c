package expand

import (
	"strings"

	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// Subscript expands the text of a subscript, as in unset 'm[$key]', unless it is a key.
func (ex *Expander) Subscript(v *vars.Variable, sub string) string {
	if !strings.ContainsAny(sub, "$`'\"\\") {
		return sub
	}
	if v == nil || v.Kind != vars.Associative {
		w, err := parse.Document(sub)
		if err != nil {
			return sub
		}
		if s, err := ex.Document(w); err == nil {
			return strings.ReplaceAll(s, `"`, "")
		}
		return sub
	}
	if v.Table != nil {
		if _, ok := v.Table.Entries[sub]; ok {
			return sub
		}
	}
	w, err := parse.Word(sub)
	if err != nil || w == nil {
		return sub
	}
	if s, err := ex.Literal(w); err == nil {
		return s
	}
	return sub
}
