package shell

import (
	"strings"

	"coderunner/internal/userland/shell/parse"
)

// setText is setElement for a subscript that is the text of a name: printf -v 'm[$key]'.
func (sh *shell) setText(name, sub, s string, add bool) error {
	name, _ = sh.resolve(name)
	return sh.setElement(name, sh.subscript(sh.lookup(name), sub), s, add)
}

// subscript expands the text of a subscript, as in unset 'm[$key]', unless it is a key.
func (sh *shell) subscript(v *variable, sub string) string {
	if !strings.ContainsAny(sub, "$`'\"\\") {
		return sub
	}
	if v == nil || v.kind != associative {
		w, err := parse.Document(sub)
		if err != nil {
			return sub
		}
		if s, err := sh.document(w); err == nil {
			return strings.ReplaceAll(s, `"`, "")
		}
		return sub
	}
	if v.table != nil {
		if _, ok := v.table.entries[sub]; ok {
			return sub
		}
	}
	w, err := parse.Word(sub)
	if err != nil || w == nil {
		return sub
	}
	if s, err := sh.literal(w); err == nil {
		return s
	}
	return sub
}
