package deno

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
)

// notCalled matches messages about a call of a name, or of a member of one, that is
// not a function; calledName is the name in the program, which require returned.
var (
	notCalled  = regexp.MustCompile(`^(require\(\.\.\.\)|[\w$]{1,100})(?:\.[\w$]+)* is not a (?:function|constructor)$`)
	calledName = `(?:^|[\s,;(])NAME\s*=\s*require\(\s*["']([^"']+)["']\s*\)`
	calledHere = regexp.MustCompile(`\brequire\(\s*["']([^"']+)["']\s*\)\s*[(.]`)
)

// advise adds to the message of a program's error what only its packages tell.
func (p *prepared) advise(o *runners.Outcome, program *jsparse.Program) {
	p.notInstalled(o)
	if o.Status != runners.Failed || o.Error == nil {
		return
	}
	p.machineCode(o.Error, program)
	p.esModule(o.Error, program)
	p.defaultOf(o.Error, program)
	p.earlier(o.Error, program)
	amend(o.Error, requireStack.ReplaceAllString(o.Error.Message, ""))
}

// requireStack matches Node's list of files of packages that required one another.
var requireStack = regexp.MustCompile(`\nRequire stack:(\n- [^\n]*)*`)

// esModule adds to the message about a call of what require returned that it is an ES
// module, if that is so: older versions of many packages were functions.
func (p *prepared) esModule(e *runners.Error, program *jsparse.Program) {
	m := notCalled.FindStringSubmatch(e.Message)
	if m == nil {
		return
	}
	call := calledHere
	if m[1] != "require(...)" {
		call = regexp.MustCompile(strings.Replace(calledName, "NAME", regexp.QuoteMeta(m[1]), 1))
	}
	for _, found := range call.FindAllStringSubmatch(program.Source, -1) {
		of, _ := deps.Split(found[1])
		switch dir := p.onlyModule(found[1]); {
		case dir == "":
			continue
		case defaultless(dir):
			amend(e, e.Message+fmt.Sprintf(`; %s %s is an ES module that exports only names: use those, or name an older version ("npm:%[1]s@MAJOR")`, of.Name, filepath.Base(dir)))
		default:
			amend(e, e.Message+fmt.Sprintf(`; %s is an ES module, which require returns as an object: write require(%q).default, or name an older version ("npm:%[1]s@MAJOR")`, of.Name, found[1]))
		}
		return
	}
}

// defaultOf adds to the message about a call of a default import that it is the object of
// all exports of a CommonJS module, as in Node: bundlers take its default one.
func (p *prepared) defaultOf(e *runners.Error, program *jsparse.Program) {
	m := notCalled.FindStringSubmatch(e.Message)
	if m == nil || m[1] == "require(...)" {
		return
	}
	from := regexp.MustCompile(`\bimport\s+` + regexp.QuoteMeta(m[1]) + `\b[^;"']*\bfrom\s*["']([^"']+)["']`).FindStringSubmatch(program.Source)
	if from == nil {
		return
	}
	of, _ := deps.Split(from[1])
	for _, dir := range p.dirs {
		var about struct{ Type, Main string }
		if !unpacks(dir, of.Name) || readJSON(filepath.Join(dir, manifestName), &about) != nil || about.Type == "module" || !filepath.IsLocal(about.Main) {
			continue
		}
		text, err := readScript(filepath.Join(dir, about.Main))
		if err == nil && bytes.Contains(text, []byte("__esModule")) {
			amend(e, e.Message+fmt.Sprintf("; as in Node, %s is the object of all exports of a CommonJS module here: its default export is %[1]s.default", m[1]))
			return
		}
	}
}

// notExported matches V8's message about a name that a module does not export;
// importedFrom is how a program gets NAME of a module.
var (
	notExported  = regexp.MustCompile(`^The requested module '([^']+)' does not provide an export named '[\w$]+'$`)
	importedFrom = `\b(?:import|const|let|var)\b[^;"'=()]*?[^\w$.]NAME(?:[^;"'=()\w$][^;"'=()]*)?(?:\bfrom\s*|=\s*require\(\s*)["']([^"']+)["']`
)

// earlier adds to the message about what a package of npm does not have its version, if
// the program names none and there were majors before it: programs are often written
// for one of those.
func (p *prepared) earlier(e *runners.Error, program *jsparse.Program) {
	from := notExported.FindStringSubmatch(e.Message)
	if m := notCalled.FindStringSubmatch(e.Message); m != nil {
		from = regexp.MustCompile(strings.Replace(importedFrom, "NAME", regexp.QuoteMeta(m[1]), 1)).FindStringSubmatch(program.Source)
	}
	if from == nil {
		return
	}
	of, ok := deps.Split(from[1])
	if !ok || of.Version != "" {
		return
	}
	for _, dir := range p.dirs {
		if major := majorBefore(dir); unpacks(dir, of.Name) && major > 0 {
			amend(e, e.Message+fmt.Sprintf(`; this is %s %s: if the program is for an older version, name it, as "npm:%[1]s@%[3]d"`, of.Name, filepath.Base(dir), major))
			return
		}
	}
}

// majorBefore returns the major version of a package of npm before the one in a directory,
// 0 if there is none.
func majorBefore(dir string) (before int) {
	first := func(version string) int {
		major, _, _ := strings.Cut(version, ".")
		n, _ := strconv.Atoi(major)
		return n
	}
	var about struct{ Versions map[string]struct{} }
	if readJSON(filepath.Join(filepath.Dir(dir), "registry.json"), &about) != nil {
		return max(first(filepath.Base(dir))-1, 0)
	}
	for version := range about.Versions {
		if n := first(version); n < first(filepath.Base(dir)) && !strings.Contains(version, "-") {
			before = max(before, n)
		}
	}
	return before
}

// onlyModule returns the directory of an ES module of npm that has no part of its own for
// require, "" if a specifier names none.
func (p *prepared) onlyModule(specifier string) string {
	of, ok := deps.Split(specifier)
	if !ok {
		return ""
	}
	for _, dir := range p.dirs {
		var about struct {
			Type    string
			Exports json.RawMessage
		}
		if !unpacks(dir, of.Name) || readJSON(filepath.Join(dir, manifestName), &about) != nil || about.Type != "module" {
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

// Exports of a module, of which the second may have a default one.
var (
	exporting  = regexp.MustCompile(`\bexport\b`)
	hasDefault = regexp.MustCompile(`\bexport\s+default\b|\bas\s+default\b|\bexport\s*\{[^}]*\bdefault\b`)
)

// defaultless reports whether the main module of a package is seen to have no default
// export.
func defaultless(dir string) bool {
	_, text := mainModule(dir)
	return exporting.Match(text) && !hasDefault.Match(text)
}

// exports reports whether the main module of a package that a specifier names is seen to
// export a name.
func (p *prepared) exports(specifier, name string) bool {
	of, ok := deps.Split(specifier)
	name = regexp.QuoteMeta(name)
	exported := regexp.MustCompile(`\bexport\s+(?:async\s+)?(?:class|function|const|let|var)\s*\*?\s*` + name + `\b|\bexport\s*\{(?:[^}]*[\s,])?` + name + `\s*[,}]`)
	return ok && of.Path == "" && slices.ContainsFunc(p.dirs, func(dir string) bool {
		_, text := mainModule(dir)
		return unpacks(dir, of.Name) && exported.Match(text)
	})
}

// mainModule returns the text of the module that an import of a package loads, nil if
// that is not known, and whether it is an ES module.
func mainModule(dir string) (esm bool, text []byte) {
	var about struct {
		Main, Type string
		Exports    any
	}
	if readJSON(filepath.Join(dir, manifestName), &about) != nil {
		return false, nil
	}
	main := cmp.Or(about.Main, "index.js")
	for exports := about.Exports; exports != nil; {
		switch of := exports.(type) {
		case string:
			main, exports = of, nil
		case map[string]any:
			exports = cmp.Or(of["."], of["node"], of["import"], of["default"])
		default:
			return false, nil
		}
	}
	if !filepath.IsLocal(main) {
		return false, nil
	}
	text, _ = readScript(filepath.Join(dir, main))
	ext := filepath.Ext(main)
	return ext == ".mjs" || ext != ".cjs" && about.Type == "module", text
}

// innerDefault matches the default export of a module that was compiled to CommonJS.
var innerDefault = regexp.MustCompile(`\bexports\.default\s*=|\bexports\["default"\]|\bdefault:\s*\(\)\s*=>`)

// hasInnerDefault reports whether an import of a package loads such a module.
func hasInnerDefault(dir string) bool {
	esm, text := mainModule(dir)
	return !esm && compiledDefault(text)
}

// compiledDefault reports whether a text is of such a module. It may have megabytes: a
// regular expression without a fixed beginning takes tens of milliseconds for each.
func compiledDefault(text []byte) bool {
	if !bytes.Contains(text, []byte("__esModule")) {
		return false
	}
	for _, literal := range []string{"exports.default", `exports["default"]`, "default:"} {
		for rest := text; ; {
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

// has reports whether a package of npm is installed in any version.
func (p *prepared) has(name string) bool {
	return slices.ContainsFunc(p.dirs, func(dir string) bool { return unpacks(dir, name) })
}

// unpacks reports whether a directory has a version of a package of npm.
func unpacks(dir, name string) bool {
	return strings.HasSuffix(filepath.Dir(dir), string(os.PathSeparator)+filepath.FromSlash(name))
}
