// Package explain explains the error of a program: which package is missing or unusable,
// which import is to blame, and what to do ([hint]'s rows for JavaScript).
//
// It changes only the words and the place of an error, never the status of an outcome.
package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/ending"
	"coderunner/runners/deno/exports"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"
	"coderunner/runners/hint"
)

// Program is one that has failed.
type Program struct {
	*jsparse.Program
	Shown string         // its name in tracebacks
	Files []runners.File // of the request
	Ready *install.Prepared
}

// Explain completes the error of the program: which package cannot be used, where a file is
// imported that is not there, and what to do.
func (p Program) Explain(o *runners.Outcome) {
	e := o.Error
	if o.Status != runners.Failed || e == nil {
		return
	}
	p.machineCode(e)
	p.badJSON(e)
	above := p.locateMissing(e)
	p.locateImport(e)

	rows := hint.For("javascript")
	f := hint.Failure{Type: e.Type, Message: e.Message, Traceback: e.Traceback, Source: p.Source, Needs: p.needs(above)}
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

// needs are the conditions of hint's rows for JavaScript.
func (p Program) needs(above bool) map[string]hint.Need {
	return map[string]hint.Need{
		"above": func(string, hint.Values) bool { return above },
		"compiled": func(name string, _ hint.Values) bool {
			module := p.binding(name, func(n jsparse.Name) bool { return n.Of == "default" })
			of, ok := deps.Split(module)
			return ok && slices.ContainsFunc(p.Ready.Dirs, func(dir string) bool { return process.Unpacks(dir, of.Name) && exports.Read(dir, "").Compiled() })
		},
		"head":      func(string, hint.Values) bool { return true },
		"decorated": func(string, hint.Values) bool { return p.Decorated },
		"default": func(_ string, v hint.Values) bool {
			return !exports.Read(exports.OnlyModule(p.Ready.Dirs, v["specifier"]), "").Defaultless()
		},
		"imported": func(name string, v hint.Values) bool {
			v["specifier"] = p.binding(name, func(jsparse.Name) bool { return true })
			return v["specifier"] != ""
		},
		"imports": func(names string, _ hint.Values) bool { return p.imports(strings.Fields(names)) },
		"newest":  func(specifier string, v hint.Values) bool { return newest(p.Ready, specifier, v) },
		"unisolated": func(_ string, v hint.Values) bool {
			err := sandbox.OwnNetwork()
			v["why"] = fmt.Sprint(err)
			return err != nil
		},
		"required": p.required,
		"unclosed": func(file string, v hint.Values) bool {
			source := p.Source
			if file != "" {
				source = p.source(file)
			}
			mark, line := jsparse.Unclosed(source)
			v["mark"], v["line"] = mark, strconv.Itoa(line)
			return line > 0
		},
	}
}

// imports reports whether the program imports one of some modules, in any version.
func (p Program) imports(names []string) bool {
	return slices.ContainsFunc(p.Imports, func(i jsparse.Import) bool {
		name := i.Specifier
		if of, ok := deps.Split(name); ok {
			name = of.Name + of.Path
		}
		return slices.Contains(names, name)
	})
}

// binding returns the first module of which the program imports something under a name, "" if
// there is none.
func (p Program) binding(name string, is func(jsparse.Name) bool) string {
	for _, r := range jsparse.Scan(p.Source).References() {
		if slices.ContainsFunc(r.Names, func(n jsparse.Name) bool { return n.As == name && is(n) }) {
			return r.Specifier
		}
	}
	return ""
}

// required sets the ES module that a name is what require returned of.
func (p Program) required(name string, v hint.Values) bool {
	for _, r := range jsparse.Scan(p.Source).References() {
		is := r.Used
		if name != "require(...)" {
			is = slices.ContainsFunc(r.Names, func(n jsparse.Name) bool { return n.As == name && n.Of == "" })
		}
		if dir := exports.OnlyModule(p.Ready.Dirs, r.Specifier); r.Required && is && dir != "" {
			v["specifier"], v["package"], v["version"] = r.Specifier, packageIn(dir), filepath.Base(dir)
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

// badJSON adds to the message about a JSON module that cannot be read, which is V8's, the
// file and the place in it.
func (p Program) badJSON(e *runners.Error) {
	if e.Type != "SyntaxError" || e.Line != 0 || !strings.Contains(e.Message, ending.NotJSON) && !strings.Contains(e.Message, "JSON input") {
		return
	}
	for _, f := range p.Files {
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
