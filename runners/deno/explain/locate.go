package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/stacktrace"
)

// locateMissing has the error about an imported file that does not exist name the file, and
// the line if the error has no frame, as in a session. It reports whether the file is above
// the program's directory: there Deno looks for it to check the permission, and does not
// say what it looked for.
func (p Program) locateMissing(e *runners.Error) (above bool) {
	above = strings.HasPrefix(e.Message, "No such file or directory (os error 2)")
	frames := stacktrace.Frames(e.Traceback)
	if !above && (frames != nil || !strings.HasPrefix(e.Message, "Module not found ")) {
		return false
	}
	name, line := p.Shown, 0
	if frames != nil {
		name, line = stacktrace.Place(frames[0])
	}
	var found []jsparse.Reference
	for _, r := range jsparse.Scan(p.source(name)).References() {
		path := strings.HasPrefix(r.Specifier, ".") || strings.HasPrefix(r.Specifier, "/") || strings.HasPrefix(r.Specifier, "file:")
		if path && (line == 0 || r.Line == line) && (above || strings.Contains(e.Message, strconv.Quote(r.Specifier))) {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		return false // it may be this one or that one
	}
	if frames == nil {
		e.Line = found[0].Line
		frames = []string{fmt.Sprintf("    at %s:%d:%d", name, e.Line, found[0].Column)}
	}
	if specifier := found[0].Specifier; !above {
	} else if e.Message = fmt.Sprintf("Module not found %q", specifier); e.Type == "NotFound" {
		e.Type, e.Message = "Error", fmt.Sprintf("Cannot find module '%s'", specifier)
	}
	e.Traceback = e.Type + ": " + e.Message + "\n" + strings.Join(frames, "\n")
	return above
}

// locateImport adds the line of an import to an error without a frame, if the error is about a
// package's machine code or about a file that was not found: the line that imports the package
// in the message, or else the only one that imports a package.
func (p Program) locateImport(e *runners.Error) {
	if e.Line > 0 || !strings.Contains(e.Message, " has machine code, which") && !strings.Contains(e.Message, " needs ") && !strings.Contains(e.Message, "Cannot find module '") {
		return
	}
	var packages []jsparse.Reference // that the program imports
	for _, r := range jsparse.Scan(p.Source).References() {
		of, ok := deps.Split(r.Specifier)
		if ok && (strings.HasPrefix(e.Message, of.Name+" needs ") || strings.HasPrefix(e.Message, of.Name+" has machine code")) {
			packages = []jsparse.Reference{r}
			break
		}
		if ok && !slices.ContainsFunc(packages, func(have jsparse.Reference) bool { return have.Specifier == r.Specifier }) {
			packages = append(packages, r)
		}
	}
	if len(packages) == 1 {
		e.Line = packages[0].Line
		e.Traceback += fmt.Sprintf("\n    at %s:%d:%d", p.Shown, e.Line, packages[0].Column)
	}
}

// NotInstalled has the error about packages that cannot be installed name the line that
// imports the first of them.
func (p Program) NotInstalled(o *runners.Outcome) {
	e := o.Error
	if o.Status != runners.NotInstalled || e == nil || e.Line > 0 || len(e.Packages) == 0 {
		return
	}
	name := e.Packages[0].Name
	for _, r := range jsparse.Scan(p.Source).References() {
		if e.Line == 0 && (r.Specifier == name || strings.HasPrefix(r.Specifier, name+"/")) {
			e.Line = r.Line
		}
	}
}

// source returns the text of the program, or of a file of its, as a traceback names it.
func (p Program) source(name string) string {
	if name == p.Shown {
		return p.Source
	}
	for _, f := range p.Files {
		if f.Path == name {
			return string(f.Data)
		}
	}
	return ""
}
