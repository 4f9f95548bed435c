package jsparse

import (
	"encoding/json"
	"slices"
	"strings"
)

// commonJS finds the CommonJS names that a program uses. Programs are modules, as
// everywhere in Deno, but they get require, __dirname and __filename if they use
// them and do not declare them.
type commonJS struct {
	used, declared []string // names
	unsure         string   // used or declared: the next token decides
}

var commonJSNames = []string{"require", "__dirname", "__filename"}

// take handles a token before the analysis does.
func (c *commonJS) take(a *analysis, t token) {
	if c.unsure != "" {
		list := &c.declared
		if a.s.is(t, '(') || a.s.is(t, '.') || a.s.is(t, '[') {
			list = &c.used
		}
		c.note(list, c.unsure)
		c.unsure = ""
	}
	w := a.s.word(t)
	if !slices.Contains(commonJSNames, w) || a.s.is(a.prev, '.') {
		return
	}
	if a.s.is(a.prev, '{') || a.s.is(a.prev, ',') && t.depth == 0 {
		c.unsure = w // import { require } …, let a, require; but { require("x") }
		return
	}
	switch a.s.word(a.prev) {
	case "const", "let", "var", "function", "class", "import", "as":
		c.note(&c.declared, w)
	default:
		c.note(&c.used, w)
	}
}

func (c *commonJS) note(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// prelude returns declarations, without a newline, of the names that are used and
// not declared. Packages come from import(), since a program has no directory of
// packages to search. Everything else comes from Node's own require, and so do
// files of packages that import() does not find: require adds an extension. A
// module that is not found throws when it is required.
func (c *commonJS) prelude(imports []Import, fetched func(string) bool) string {
	var b strings.Builder
	for _, name := range c.used {
		if slices.Contains(c.declared, name) {
			continue
		}
		if name != "require" {
			b.WriteString("const " + name + "=import.meta." + strings.Trim(name, "_") + ";")
			continue
		}
		b.WriteString(`const require=await(async(r)=>{const m={`)
		for _, i := range imports {
			if !i.Required || !fetched(i.Specifier) {
				continue
			}
			quoted, _ := json.Marshal(i.Specifier)
			b.WriteString(string(quoted) + `:await import(` + string(quoted) + `)` + withExtension(string(quoted)) +
				`.then((n)=>()=>n["module.exports"]??n,(e)=>()=>{throw e}),`)
		}
		b.WriteString(`};return Object.assign((s)=>Object.hasOwn(m,s)?m[s]():r(s),r)})((await import("node:module")).createRequire(import.meta.url));`)
	}
	return b.String()
}

// withExtension returns a handler that calls require for a file of a package that
// import() does not find.
func withExtension(quoted string) string {
	return `.catch(async(e)=>{const u=await import("node:url");try{return{"module.exports":r(u.fileURLToPath(import.meta.resolve(` + quoted + `)))}}catch{throw e}})`
}
