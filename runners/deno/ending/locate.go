package ending

import (
	"slices"
	"strings"

	"coderunner/runners/deno/jsparse"
	"coderunner/runners/hint"
)

// thrownAs begins the stack of what is not an Error.
const thrownAs = "Uncaught "

// placeOf returns the place in the program of what has no frames: the await of a promise that
// is never settled or that a package rejects, the throw of what is not an Error or has no
// stack, the start of a Worker that is a text, and the import of what is not there. All but
// the last are known where there is only one.
func (e *Ending) placeOf(t *thrown) (at jsparse.Use) {
	x := jsparse.Scan(e.Program.Source)
	module, name, unnamed := unexported(t.message)
	switch {
	case unnamed:
		for _, r := range x.References() {
			i := slices.IndexFunc(r.Names, func(n jsparse.Name) bool { return n.Of == name })
			if r.Specifier == module && i >= 0 {
				return jsparse.Use{Line: r.Names[i].Line, Column: r.Names[i].Column}
			}
		}
	case t.message == unresolved:
		return only(awaits(x))
	case t.stack == thrownAs+t.message:
		return e.placeOfValue(x, t)
	case t.stack == t.kind+": "+t.message:
		at = only(x.Find("throw", "new", t.kind))
	case e.Workers:
		return e.workerPlace(x, t)
	}
	if at.Line == 0 && t.escaped && !t.load {
		return only(awaits(x)) // of a package's promise
	}
	return at
}

// only returns the only one of some places, no place if there are more.
func only(all []jsparse.Use) (at jsparse.Use) {
	if len(all) == 1 {
		return all[0]
	}
	return at
}

// unexported returns of V8's message about a name that a module does not export both.
func unexported(message string) (module, name string, ok bool) {
	if m := hint.Captures(message, "^The requested module '*' does not provide an export named '*'"); m != nil {
		return m[0], m[1], true
	}
	return "", "", false
}

// awaits returns where the program awaits at its top level, nothing if that is not known.
func awaits(x *jsparse.Text) []jsparse.Use {
	nested := func(u jsparse.Use) bool { return u.Nested }
	all := x.Find("await")
	if len(all) > 1 && slices.ContainsFunc(x.Find("if|for|while|do|try|switch"), func(u jsparse.Use) bool { return !u.Nested }) {
		return nil
	}
	return slices.DeleteFunc(all, nested)
}

// placeOfValue returns the place of the throw, or of the reject, of what is not an Error.
func (e *Ending) placeOfValue(x *jsparse.Text, t *thrown) jsparse.Use {
	throws, rejects, static := x.Find("throw"), x.Find("reject", "("), x.Find("Promise", ".", "reject", "(")
	if t.escaped && len(throws) == 0 && len(awaits(x)) == 1 {
		return only(awaits(x)) // of a package's promise
	}
	passed := len(x.Find("reject")) > 2*len(rejects) // as the function
	if all := slices.Concat(throws, rejects, static); len(all) == 1 && !passed && len(e.Program.Imports) == 0 {
		return all[0]
	}
	value, _, _ := strings.Cut(t.message, "; a promise was rejected with it")
	if !t.escaped && (passed || len(rejects)+len(static) > 0) {
		return jsparse.Use{}
	}
	return only(slices.DeleteFunc(throws, func(u jsparse.Use) bool {
		return u.Next != value && !(u.Next == "{" && t.kind == "Object") && strings.Trim(u.Next, "'\"`") != strings.Trim(value, "'\"`")
	}))
}
