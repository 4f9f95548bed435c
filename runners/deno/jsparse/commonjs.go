package jsparse

import (
	"encoding/json"
	"slices"
	"strings"

	"coderunner/runners/deno/npm"
)

// commonJS finds the CommonJS names that a program uses.
type commonJS struct {
	used, declared []string // names
	unsure         string   // used or declared: the next token decides
	main           bool     // require.main is used
	exports        bool     // "export =" is
	returned       int      // how often return is used outside of functions
	awaited        bool     // await is
	heads          map[int]string
	blocks         []block // around the token
	assigned       []edit  // of "import x = require(" and "export =", for a module
}

var commonJSNames = []string{"require", "__dirname", "__filename", "module", "exports"}

// block is an open brace: of a block outside of functions, or of anything else.
type block struct {
	depth    int
	plain    bool
	function bool // or it is in one of a function
}

// returns counts the uses of return outside of functions, which are none in a module, and
// notes await, which is only there.
func (c *commonJS) returns(a *analysis, t token) {
	for n := len(c.blocks); n > 0 && c.blocks[n-1].depth >= t.depth; n-- {
		c.blocks = c.blocks[:n-1]
	}
	outside := len(c.blocks) == 0 || c.blocks[len(c.blocks)-1].plain
	before := a.s.word(a.prev)
	switch {
	case a.s.is(t, '('):
		if c.heads == nil {
			c.heads = map[int]string{}
		}
		c.heads[t.depth] = before
	case a.s.is(t, '{'):
		if a.s.is(a.prev, ')') {
			before = c.heads[t.depth]
		}
		plain := slices.Contains([]string{"if", "for", "await", "while", "with", "switch", "catch", "else", "try", "finally", "do"}, before) ||
			a.prev.kind == none || a.s.is(a.prev, ';') || a.s.is(a.prev, '{') || a.s.is(a.prev, '}')
		n := len(c.blocks)
		function := n > 0 && c.blocks[n-1].function || a.s.is(a.prev, ')') && !plain || a.s.is(a.prev, '>') && a.s.is(a.prev2, '=')
		c.blocks = append(c.blocks, block{t.depth, plain && outside && n == t.depth, function})
	case a.s.word(t) == "await" && !a.s.is(a.prev, '.'):
		c.awaited = c.awaited || len(c.blocks) == 0 || !c.blocks[len(c.blocks)-1].function
	case outside && len(c.blocks) == t.depth && a.s.word(t) == "return" && !a.s.is(a.prev, '.'):
		c.returned++
	}
}

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
	c.shapes(a, t)
	c.returns(a, t)
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
	case "declare", "namespace":
	default:
		if w != "module" && w != "exports" { // ordinary names, too: see shapes
			c.note(&c.used, w)
		}
	}
}

// shapes finds module.exports, exports.x, require.main, "export =" and
// "import x = require", with t as their last token.
func (c *commonJS) shapes(a *analysis, t token) {
	before, further := a.s.word(a.prev), a.s.word(a.prev2)
	switch {
	case a.s.is(a.prev, '.') && !a.s.is(a.prev3, '.'):
		if further == "module" && a.s.word(t) == "exports" {
			c.note(&c.used, "module")
		}
		if further == "module" && a.s.word(t) == "parent" { // the older require.main === module
			c.note(&c.used, "module")
			c.main = true
		}
		if further == "require" && a.s.word(t) == "main" {
			c.main = true
			c.note(&c.used, "module")
		}
	case before == "exports" && !a.s.is(a.prev2, '.') && (a.s.is(t, '.') || a.s.is(t, '[')):
		c.note(&c.used, "exports")
	case before == "export" && a.s.is(t, '='):
		c.exports = true
		c.assigned = append(c.assigned, edit{offset: a.prev.start, cut: len(before), text: "module.exports", form: true})
	case further == "import" && a.prev2.depth == 0 && a.s.is(t, '=') && a.prev.kind == word:
		c.assigned = append(c.assigned, edit{offset: a.prev2.start, cut: len("import"), text: "const ", form: true})
	}
}

func (c *commonJS) note(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// uses reports whether a name is used that the program does not declare.
func (c *commonJS) uses(name string) bool {
	return slices.Contains(c.used, name) && !slices.Contains(c.declared, name)
}

// marked reports whether the program uses what only CommonJS has.
func (c *commonJS) marked() bool {
	return c.returned > 0 || c.needsModule()
}

// needsModule reports whether the program uses the object that stands for its module.
func (c *commonJS) needsModule() bool {
	return c.exports || c.uses("module") || c.uses("exports")
}

// hooks returns statements for a program that is CommonJS. It is the main module,
// and what it requires may be named as in import: TypeScript without its ending,
// a package with its scheme.
func (c *commonJS) hooks(imports []Import) string {
	text := ""
	if c.main {
		text = "require.main=module;module.parent=null;"
	}
	if slices.ContainsFunc(imports, func(i Import) bool { return i.Required }) {
		text = resolver(imports) + `(require("module"));` + text
	}
	return text
}

// importModule imports what makes require. To await it would end the program's first turn.
const importModule = `import __coderunner_module__ from"node:module";`

// prelude returns declarations, without a newline, of the names that a module uses
// and does not declare.
func (c *commonJS) prelude(imports []Import) string {
	var b strings.Builder
	for _, name := range []string{"__dirname", "__filename"} {
		if c.uses(name) {
			b.WriteString("const " + name + "=import.meta." + strings.Trim(name, "_") + ";")
		}
	}
	if c.uses("require") {
		b.WriteString(importModule + "const require=" + resolver(imports) + "(__coderunner_module__,import.meta).createRequire(import.meta.url);")
	}
	if c.exports || c.uses("module") || c.uses("exports") {
		b.WriteString("const module={exports:{}},exports=module.exports;")
	}
	if c.main {
		b.WriteString("require.main=module;")
	}
	return b.String()
}

// resolver returns a function that teaches node:module what else require() may
// name: files of TypeScript without their endings, packages with a scheme and a
// version, those that were not installed because a substitute was, and, by
// import.meta, the program's own files by bare names.
func resolver(imports []Import) string {
	names, own, instead := map[string]string{}, []string{}, map[string]string{}
	for _, i := range imports {
		name, isPackage := strings.CutPrefix(i.Specifier, "npm:")
		if plain := withoutVersion(name); i.Required && npm.Known().Substitutes[plain] != "" {
			instead[plain] = npm.Known().Substitutes[plain]
		}
		switch {
		case !i.Required || len(names)+len(own) >= 100:
		case isPackage:
			names[i.Specifier] = withoutVersion(strings.TrimPrefix(name, "/"))
		case !strings.HasPrefix(i.Specifier, "."):
			own = append(own, i.Specifier)
		}
	}
	aliases, _ := json.Marshal(names)
	bare, _ := json.Marshal(own)
	find := `f.call(this,Object.hasOwn(n,s)?n[s]:s,...a)`
	if len(instead) > 0 {
		others, _ := json.Marshal(instead)
		find = `try{return ` + find + `}catch(e){const o=` + string(others) + `[n[s]??s];if(!o)throw e;return f.call(this,o,...a)}`
	} else {
		find = "return " + find
	}
	return `((M,i)=>{const n=` + string(aliases) + `,f=M._resolveFilename;` +
		`for(const e of[".ts",".tsx",".mts",".cts",".jsx"])M._extensions[e]??=M._extensions[".js"];` +
		`for(const s of i?` + string(bare) + `:[])try{const u=i.resolve(s);if(u.startsWith(i.url.slice(0,i.url.lastIndexOf("/")+1)))n[s]=decodeURIComponent(new URL(u).pathname)}catch{}` +
		`M._resolveFilename=function(s,...a){` + find + `};return M})`
}

// withoutVersion removes the version from a package's name and path.
func withoutVersion(name string) string {
	scope, rest := "", name
	if strings.HasPrefix(name, "@") {
		scope, rest, _ = strings.Cut(name, "/")
		scope += "/"
	}
	rest, path, deep := strings.Cut(rest, "/")
	rest, _, _ = strings.Cut(rest, "@")
	if deep {
		path = "/" + path
	}
	return scope + rest + path
}
