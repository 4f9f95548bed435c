// Package exports finds out which names installed npm packages export, from their manifests
// and sources.
//
// So it is known before a program is loaded which of its imports ask for other names.
// Bundlers and compilers to CommonJS resolve what Deno, like Node, does not: all names of a
// CommonJS module, and the whole module where there is no default. [Linker] changes such
// imports.
//
// # Sources
//
// PACKAGE_EXPORTS_RESOLVE in Node's documentation of ES modules, LOAD_AS_FILE and
// LOAD_AS_DIRECTORY in that of require().
package exports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/recent"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/npm"
	"coderunner/runners/deno/process"
)

// Linker remembers what modules of packages export.
type Linker struct {
	modules recent.Map[string, Module] // by its package's directory and its path
}

// Link returns a program, or a file of its, that imports from packages, unpacked in dirs, what
// these export.
func (l *Linker) Link(dirs []string, program *jsparse.Program, typed bool) *jsparse.Program {
	for _, imported := range program.Imports {
		of, ok := deps.Split(imported.Specifier)
		at := slices.IndexFunc(dirs, func(dir string) bool { return process.Unpacks(dir, of.Name) })
		if !imported.Static || !ok || at < 0 {
			continue
		}
		m, known := l.modules.Get(dirs[at] + " " + of.Path)
		if !known {
			m = Read(dirs[at], of.Path)
			l.modules.Put(dirs[at]+" "+of.Path, m)
		}
		program = cmp.Or(m.linked(program, imported.Specifier, typed), program)
	}
	return program
}

// Module is a module of a package. The zero Module is not known.
type Module struct {
	text []byte
	esm  bool
}

// Read returns the module that an import of a path in a package loads.
func Read(dir, path string) Module {
	name, ok := entry(dir, path)
	if !ok {
		return Module{}
	}
	text, err := readScript(name)
	if err != nil || len(text) == 0 {
		return Module{}
	}
	return Module{text: text, esm: isESM(dir, name)}
}

// linked returns the program with its imports from the module changed, nil if they are right.
func (m Module) linked(program *jsparse.Program, specifier string, typed bool) *jsparse.Program {
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
func (m Module) shows(name string) bool {
	forms := []string{"exports.NAME=", "exports.NAME =", `exports, "NAME"`, `exports,"NAME"`, `exports, 'NAME'`}
	return slices.ContainsFunc(forms, func(form string) bool {
		return bytes.Contains(m.text, []byte(strings.Replace(form, "NAME", name, 1)))
	})
}

// hasDefault reports whether an ES module may have a default export.
func (m Module) hasDefault() bool {
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
func (m Module) declares(name string) bool {
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

// Defaultless reports whether the module is seen to have no default export.
func (m Module) Defaultless() bool { return m.esm && !m.hasDefault() }

// Compiled reports whether the module is CommonJS that was compiled from an ES module: as in
// Node, a default import of it is the object of all its exports.
func (m Module) Compiled() bool { return !m.esm && bytes.Contains(m.text, []byte("__esModule")) }

// innerDefault matches the default export of a module that was compiled to CommonJS.
var innerDefault = lazyregexp.New(`\bexports\.default\s*=|\bexports\["default"\]|\bdefault:\s*\(\)\s*=>`)

// HasInnerDefault reports whether the module was compiled to CommonJS from one with a default
// export. Its text may have megabytes: a regular expression without a fixed beginning takes tens
// of milliseconds for each.
func (m Module) HasInnerDefault() bool {
	for _, literal := range []string{"exports.default", `exports["default"]`, "default:"} {
		for rest := m.text; m.Compiled(); {
			at := bytes.Index(rest, []byte(literal))
			if at < 0 {
				break
			}
			if innerDefault.Match(rest[max(at-1, 0):min(at+len(literal)+20, len(rest))]) {
				return true
			}
			rest = rest[at+len(literal):]
		}
	}
	return false
}

// OnlyModule returns the directory of an ES module of npm that has no part of its own for
// require, "" if a specifier names none of those in dirs.
func OnlyModule(dirs []string, specifier string) string {
	of, ok := deps.Split(specifier)
	if !ok {
		return ""
	}
	for _, dir := range dirs {
		var about struct {
			Type    string
			Exports json.RawMessage
		}
		if !process.Unpacks(dir, of.Name) || process.ReadJSON(filepath.Join(dir, Manifest), &about) != nil || about.Type != "module" {
			continue
		}
		var exports map[string]struct{ Import, Require json.RawMessage }
		_ = json.Unmarshal(about.Exports, &exports) // it may also be a path, or an object of another form
		main := exports["."]
		if !bytes.Contains(about.Exports, []byte(`"require"`)) || main.Require != nil && bytes.Equal(main.Import, main.Require) {
			return dir
		}
	}
	return ""
}

// Manifest is the name of a package's description of itself.
const Manifest = "package.json"

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
		if process.ReadJSON(filepath.Join(at, Manifest), &about) == nil {
			return about.Type == "module"
		}
	}
	return false
}

// manifest is what a package's description says of its modules.
type manifest struct {
	Main    string
	Exports any
}

// entry returns the file that an import of a path in a package loads.
func entry(dir, path string) (name string, ok bool) {
	var about manifest
	if process.ReadJSON(filepath.Join(dir, Manifest), &about) != nil {
		return "", false
	}
	if about.Exports != nil {
		name, ok = npm.Exported(about.Exports, "."+path)
		return filepath.Join(dir, name), ok && filepath.IsLocal(name)
	}
	path = cmp.Or(path, "/"+cmp.Or(about.Main, "index.js"))
	name = filepath.Join(dir, filepath.FromSlash(path))
	return name + ending(name, path), strings.HasPrefix(name, dir)
}

// EndingOf returns what is missing at the end of the path of a module in a package,
// "" if nothing is.
func EndingOf(dir, path string) string {
	var about manifest
	if process.ReadJSON(filepath.Join(dir, Manifest), &about) != nil || about.Exports != nil {
		return ""
	}
	return ending(filepath.Join(dir, filepath.FromSlash(path)), path)
}

// ending is EndingOf for the file or directory name of a package without exports.
func ending(name, path string) string {
	endings := []string{"", ".js", ".mjs", ".cjs", ".json"}
	var about manifest
	if process.ReadJSON(filepath.Join(name, Manifest), &about) == nil && filepath.IsLocal(filepath.Join(".", filepath.FromSlash(path), about.Main)) {
		main := "/" + filepath.ToSlash(filepath.Clean(about.Main)) // perhaps of a directory beside it
		endings = append(endings, main, main+".js")
	}
	endings = append(endings, "/index.js", "/index.mjs", "/index.cjs")
	n := slices.IndexFunc(endings, func(ending string) bool {
		info, err := os.Stat(name + ending)
		return err == nil && info.Mode().IsRegular()
	})
	if n < 0 {
		return ""
	}
	return endings[n]
}

// maxScript bounds what is read of a file of a package, in bytes.
const maxScript = 16 << 20

// readScript reads a file of a package, up to a bound.
func readScript(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil {
		b.Grow(int(min(info.Size(), maxScript)) + bytes.MinRead) // else it is copied as it grows
	}
	_, err = b.ReadFrom(io.LimitReader(f, maxScript))
	return b.Bytes(), err
}
