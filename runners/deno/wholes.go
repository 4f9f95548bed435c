package deno

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"

	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
)

// wholes has the program and its files take import * as x of a CommonJS package for what
// the package exports, as TypeScript's compiler and bundlers do. In Node x has only the
// names that the package's text shows: none of lodash's, and of jsonwebtoken's one.
func (i *installer) wholes(j *job) {
	j.program = i.exporting(j.ready, j.program)
	for n, p := range j.parsed {
		if changed := i.exporting(j.ready, p); changed != p {
			j.files[n].Data = []byte(changed.Edited())
		}
	}
}

// exporting returns a program whose imports of all of a CommonJS package are of its default.
func (i *installer) exporting(p *prepared, program *jsparse.Program) *jsparse.Program {
	for _, specifier := range program.Whole() {
		of, ok := deps.Split(specifier)
		at := slices.IndexFunc(p.dirs, func(dir string) bool { return unpacks(dir, of.Name) })
		if !ok || at < 0 {
			continue
		}
		key := p.dirs[at] + " " + of.Path
		is, known := i.common.Get(key)
		if !known {
			is = commonJS(p.dirs[at], of.Path)
			i.common.Put(key, is)
		}
		if is {
			program = program.Exporting(specifier)
		}
	}
	return program
}

// commonJS reports whether a module of a package is seen to be CommonJS, and not one that
// a compiler made of another: of those Deno sees the names.
func commonJS(dir, path string) bool {
	if path == "" {
		esm, text := mainModule(dir)
		return len(text) > 0 && !esm && !twofold(dir) && !linked(text) && !compiledDefault(text)
	}
	text, err := readScript(filepath.Join(dir, filepath.FromSlash(path+endingOf(dir, path))))
	return err == nil && len(text) > 0 && !linked(text) && !compiledDefault(text)
}

// moduleOnly matches the condition by which a package has modules of both kinds even where
// require could load either.
var moduleOnly = []byte(`"module-sync"`)

// twofold reports whether a package has another module for import than for require, where
// the manifest alone does not tell which of the two Deno takes.
func twofold(dir string) bool {
	var about struct{ Exports json.RawMessage }
	return readJSON(filepath.Join(dir, manifestName), &about) != nil || bytes.Contains(about.Exports, moduleOnly)
}

// linked reports whether a text may be an ES module's, whatever its name: a line of it
// imports or exports, or it is minified and ends with what it exports.
func linked(text []byte) bool {
	for _, begin := range []string{"import", "export"} {
		for _, after := range []string{" ", "{", "*", "\"", "'"} {
			if bytes.HasPrefix(text, []byte(begin+after)) || bytes.Contains(text, []byte("\n"+begin+after)) || bytes.Contains(text, []byte(";"+begin+after)) {
				return true
			}
		}
	}
	return bytes.Contains(text, []byte("}export"))
}
