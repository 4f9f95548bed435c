package install

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"
)

// What the packages of a program export, as their files show it.

// MajorBefore returns the major version of a package of npm before the one in a directory,
// 0 if there is none.
func MajorBefore(dir string) (before int) {
	first := func(version string) int {
		major, _, _ := strings.Cut(version, ".")
		n, _ := strconv.Atoi(major)
		return n
	}
	var about struct{ Versions map[string]struct{} }
	if process.ReadJSON(filepath.Join(filepath.Dir(dir), "registry.json"), &about) != nil {
		return max(first(filepath.Base(dir))-1, 0)
	}
	for version := range about.Versions {
		if n := first(version); n < first(filepath.Base(dir)) && !strings.Contains(version, "-") {
			before = max(before, n)
		}
	}
	return before
}

// Compiled reports whether a package's main module is CommonJS that was compiled from an ES
// module: as in Node, a default import of it is the object of all its exports.
func (p *Prepared) Compiled(specifier string) bool {
	of, _ := deps.Split(specifier)
	return slices.ContainsFunc(p.Dirs, func(dir string) bool {
		var about struct{ Type, Main string }
		if !process.Unpacks(dir, of.Name) || process.ReadJSON(filepath.Join(dir, ManifestName), &about) != nil || about.Type == "module" || !filepath.IsLocal(about.Main) {
			return false
		}
		text, err := ReadScript(filepath.Join(dir, about.Main))
		return err == nil && bytes.Contains(text, []byte("__esModule"))
	})
}

// OnlyModule returns the directory of an ES module of npm that has no part of its own for
// require, "" if a specifier names none.
func (p *Prepared) OnlyModule(specifier string) string {
	of, ok := deps.Split(specifier)
	if !ok {
		return ""
	}
	for _, dir := range p.Dirs {
		var about struct {
			Type    string
			Exports json.RawMessage
		}
		if !process.Unpacks(dir, of.Name) || process.ReadJSON(filepath.Join(dir, ManifestName), &about) != nil || about.Type != "module" {
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

// Defaultless reports whether the main module of a package is seen to have no default
// export.
func Defaultless(dir string) bool {
	_, text := mainModule(dir)
	return exporting.Match(text) && !hasDefault.Match(text)
}

// mainModule returns the text of the module that an import of a package loads, nil if
// that is not known, and whether it is an ES module.
func mainModule(dir string) (esm bool, text []byte) {
	var about struct {
		Main, Type string
		Exports    any
	}
	if process.ReadJSON(filepath.Join(dir, ManifestName), &about) != nil {
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
	text, _ = ReadScript(filepath.Join(dir, main))
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

// ReadScript reads a file of a package, up to a bound.
func ReadScript(name string) ([]byte, error) {
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
