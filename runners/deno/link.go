package deno

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/internal/recent"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"
)

// Which names a package exports is known from its files before the program is loaded. Where
// an import asks for others, bundlers and compilers to CommonJS find what Deno, as Node, does
// not: all names of a CommonJS module, and the whole module where there is no default.

// linker remembers what modules of packages export.
type linker struct {
	modules recent.Map[string, module] // by its package's directory and its path
}

// link has the program and its files import from packages what these export.
func (l *linker) link(j *job) {
	j.program = l.linked(j.ready, j.program, typed(j.main))
	for n, p := range j.parsed {
		if changed := l.linked(j.ready, p, typed(j.files[n].Path)); changed != p {
			j.files[n].Data = []byte(changed.Edited())
		}
	}
}

func (l *linker) linked(ready *install.Prepared, program *jsparse.Program, typed bool) *jsparse.Program {
	for _, imported := range program.Imports {
		of, ok := deps.Split(imported.Specifier)
		at := slices.IndexFunc(ready.Dirs, func(dir string) bool { return process.Unpacks(dir, of.Name) })
		if !imported.Static || !ok || at < 0 {
			continue
		}
		m, known := l.modules.Get(ready.Dirs[at] + " " + of.Path)
		if !known {
			m = readModule(ready.Dirs[at], of.Path)
			l.modules.Put(ready.Dirs[at]+" "+of.Path, m)
		}
		program = cmp.Or(m.linked(program, imported.Specifier, typed), program)
	}
	return program
}

// module is what a module of a package exports. The zero module is not known.
type module struct {
	text []byte // nil if it need not be read
	esm  bool
}

// linked returns the program with its imports from the module changed, nil if they are right.
func (m module) linked(program *jsparse.Program, specifier string, typed bool) *jsparse.Program {
	switch {
	case m.text == nil:
		return nil
	case !m.esm:
		if slices.ContainsFunc(program.Names(specifier), func(name string) bool { return name == "*" || !m.shows(name) }) {
			return program.Destructured(specifier, typed)
		}
	case !m.hasDefault():
		return cmp.Or(program.Braced(specifier, m.declares), program.Namespaced(specifier))
	}
	return nil
}

// shows reports whether the text of a CommonJS module shows Deno that it exports a name.
func (m module) shows(name string) bool {
	for _, form := range []string{"exports.NAME=", "exports.NAME =", `exports, "NAME"`, `exports,"NAME"`, `exports, 'NAME'`} {
		if bytes.Contains(m.text, []byte(strings.Replace(form, "NAME", name, 1))) {
			return true
		}
	}
	return false
}

// hasDefault reports whether an ES module may have a default export.
func (m module) hasDefault() bool {
	for rest := m.text; ; {
		at := bytes.Index(rest, []byte("default"))
		if at < 0 {
			return false
		}
		before := bytes.TrimRight(rest[:at], " \t\r\n")
		list := before[max(bytes.LastIndex(before, []byte("export")), 0):] // export { a, default } from "b"
		inList := bytes.HasPrefix(list, []byte("export")) && !bytes.ContainsAny(list, "};(") && bytes.ContainsAny(list, "{")
		if inList || bytes.HasSuffix(before, []byte("export")) || bytes.HasSuffix(before, []byte(" as")) {
			return true
		}
		rest = rest[at+len("default"):]
	}
}

// declares reports whether an ES module exports a name where it declares it, or in a list.
func (m module) declares(name string) bool {
	for _, before := range []string{"class ", "function ", "const ", "let ", "var ", "{", "{ ", ",", ", ", "as "} {
		for rest := m.text; ; {
			at := bytes.Index(rest, []byte(before+name))
			if at < 0 {
				break
			}
			line := rest[bytes.LastIndexByte(rest[:at], '\n')+1 : at]
			rest = rest[at+len(before)+len(name):]
			if bytes.Contains(line, []byte("export")) && (len(rest) == 0 || strings.IndexByte(" (,};={\n", rest[0]) >= 0) {
				return true
			}
		}
	}
	return false
}

// readModule reads the module that an import of a path in a package loads.
func readModule(dir, path string) module {
	name, ok := entry(dir, path)
	if !ok {
		return module{}
	}
	text, err := install.ReadScript(name)
	if err != nil || len(text) == 0 {
		return module{}
	}
	return module{text: text, esm: isESM(dir, name)}
}

// isESM reports whether a file of a package is an ES module.
func isESM(dir, name string) bool {
	switch filepath.Ext(name) {
	case ".mjs":
		return true
	case ".cjs":
		return false
	}
	for at := filepath.Dir(name); strings.HasPrefix(at, dir); at = filepath.Dir(at) {
		var about struct{ Type string }
		if process.ReadJSON(filepath.Join(at, install.ManifestName), &about) == nil {
			return about.Type == "module"
		}
	}
	return false
}

// entry returns the file that an import of a path in a package loads.
//
// Source: PACKAGE_EXPORTS_RESOLVE in Node's documentation of ES modules, with Deno's
// conditions. It takes them in that order instead of the manifest's.
func entry(dir, path string) (name string, ok bool) {
	var about struct {
		Main    string
		Exports any
	}
	if process.ReadJSON(filepath.Join(dir, install.ManifestName), &about) != nil {
		return "", false
	}
	if about.Exports == nil {
		if path == "" {
			path = "/" + cmp.Or(about.Main, "index.js")
		}
		name = filepath.Join(dir, filepath.FromSlash(path))
		return name + install.EndingOf(dir, path), strings.HasPrefix(name, dir)
	}
	target := about.Exports
	if all, is := target.(map[string]any); is && all["."] != nil || path != "" {
		target = all["."+path]
	}
	for {
		switch of := target.(type) {
		case string:
			return filepath.Join(dir, of), filepath.IsLocal(of)
		case map[string]any:
			target = cmp.Or(of["deno"], of["node"], of["import"], of["default"])
		default:
			return "", false
		}
	}
}
