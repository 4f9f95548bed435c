package deno

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"
	"coderunner/runners/hint"
)

// explain completes the error of a program: which package is missing, where a file is
// imported that is not there, and what to do.
func (j *job) explain(o *runners.Outcome) {
	j.ready.NotInstalled(o)
	e := o.Error
	if o.Status != runners.Failed || e == nil {
		return
	}
	machineCode(j.ready, e, j.program)
	j.badJSON(e)
	above := j.locateMissing(e)
	j.locateImport(e)

	rows := hint.For("javascript")
	f := hint.Failure{Type: e.Type, Message: e.Message, Traceback: e.Traceback, Source: j.program.Source, Needs: j.hintNeeds(above)}
	plain := rows.Cut(e.Message)
	f.Message = rows.Restate(f)
	if text := rows.Advice(f); text != "" {
		first, rest, more := strings.Cut(f.Message, "\n")
		if f.Message = first + "; " + text; more {
			f.Message += "\n" + rest
		}
	}
	if rest, ok := strings.CutPrefix(e.Traceback, e.Type+": "+plain); ok {
		e.Traceback = e.Type + ": " + f.Message + rest
	}
	e.Message = f.Message
}

// hintNeeds are the conditions of hint's rows for JavaScript.
func (j *job) hintNeeds(above bool) map[string]hint.Need {
	p, ready := j.program, j.ready
	return map[string]hint.Need{
		"above":     func(string, hint.Values) bool { return above },
		"compiled":  func(name string, _ hint.Values) bool { return ready.Compiled(importOf(p, name)) },
		"head":      func(string, hint.Values) bool { return true },
		"decorated": func(string, hint.Values) bool { return p.Decorated },
		"default": func(_ string, v hint.Values) bool {
			return !install.Defaultless(ready.OnlyModule(v["specifier"]))
		},
		"imported": func(name string, v hint.Values) bool {
			v["specifier"] = bindingOf(p, name)
			return v["specifier"] != ""
		},
		"imports": func(names string, _ hint.Values) bool { return imports(p, strings.Fields(names)...) },
		"newest":  func(specifier string, v hint.Values) bool { return newest(ready, specifier, v) },
		"unisolated": func(_ string, v hint.Values) bool {
			err := sandbox.OwnNetwork()
			v["why"] = fmt.Sprint(err)
			return err != nil
		},
		"required": func(name string, v hint.Values) bool { return required(ready, p, name, v) },
		"unclosed": func(file string, v hint.Values) bool {
			source := p.Source
			if file != "" {
				source = j.source(file)
			}
			mark, line := jsparse.Unclosed(source)
			v["mark"], v["line"] = mark, strconv.Itoa(line)
			return line > 0
		},
	}
}

// imports reports whether a program imports one of some modules, in any version.
func imports(p *jsparse.Program, names ...string) bool {
	return slices.ContainsFunc(p.Imports, func(i jsparse.Import) bool {
		name := i.Specifier
		if of, ok := deps.Split(name); ok {
			name = of.Name + of.Path
		}
		return slices.Contains(names, name)
	})
}

// named returns the first specifier of what a program binds to a name in a form, where NAME
// stands for it, or "".
func named(p *jsparse.Program, form, name string) string {
	m := regexp.MustCompile(strings.Replace(form, "NAME", regexp.QuoteMeta(name), 1)).FindStringSubmatch(p.Source)
	if m == nil {
		return ""
	}
	return m[1]
}

// importOf returns the module of which a program imports the default export under a name.
func importOf(p *jsparse.Program, name string) string {
	return named(p, `\bimport\s+NAME\b[^;"']*\bfrom\s*["']([^"']+)["']`, name)
}

// bindingOf returns the module of which a program imports or requires a name.
func bindingOf(p *jsparse.Program, name string) string {
	return named(p, `\b(?:import|const|let|var)\b[^;"'=()]*?[^\w$.]NAME(?:[^;"'=()\w$][^;"'=()]*)?(?:\bfrom\s*|=\s*require\(\s*)["']([^"']+)["']`, name)
}

// required sets the ES module that a name is what require returned of.
func required(p *install.Prepared, program *jsparse.Program, name string, v hint.Values) bool {
	form := `(?:^|[\s,;(])` + regexp.QuoteMeta(name) + `\s*=\s*require\(\s*["']([^"']+)["']\s*\)`
	if name == "require(...)" {
		form = `\brequire\(\s*["']([^"']+)["']\s*\)\s*[(.]`
	}
	for _, found := range regexp.MustCompile(form).FindAllStringSubmatch(program.Source, -1) {
		if dir := p.OnlyModule(found[1]); dir != "" {
			v["specifier"], v["package"], v["version"] = found[1], packageIn(dir), filepath.Base(dir)
			return true
		}
	}
	return false
}

// newest sets the version of a package of which the program names none, and the major
// version before it: programs are often written for that.
func newest(p *install.Prepared, specifier string, v hint.Values) bool {
	of, ok := deps.Split(specifier)
	if !ok || of.Version != "" {
		return false
	}
	for _, dir := range p.Dirs {
		if major := install.MajorBefore(dir); process.Unpacks(dir, of.Name) && major > 0 {
			v["package"], v["version"], v["major"] = of.Name, filepath.Base(dir), strconv.Itoa(major)
			return true
		}
	}
	return false
}

// notJSON is a part of V8's message about a text that is not JSON.
const notJSON = "is not valid JSON"

// badJSON adds to the message about a JSON module that cannot be read, which is V8's, the
// file and the place in it.
func (j *job) badJSON(e *runners.Error) {
	if e.Type != "SyntaxError" || e.Line != 0 || !strings.Contains(e.Message, notJSON) && !strings.Contains(e.Message, "JSON input") {
		return
	}
	for _, f := range j.req.Files {
		var v any
		bad, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(f.Data, &v))
		if !ok || filepath.Ext(f.Path) != ".json" {
			continue
		}
		message := f.Path + ": " + e.Message
		if !strings.Contains(message, "(line ") {
			before := f.Data[:max(bad.Offset-1, 0)]
			message += fmt.Sprintf(" (line %d column %d)", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
		}
		e.Traceback, e.Message = strings.Replace(e.Traceback, e.Message, message, 1), message
		return
	}
}
