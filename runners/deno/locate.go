package deno

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
)

// The line of the program that an error without a frame of it comes from, as far as only one
// can be meant.

// placeOf returns the place in the program of what has no frames: the await of a promise that
// is never settled or that a package rejects, the throw of what is not an Error or has no
// stack, the start of a Worker that is a text, and the import of what is not there. All but
// the last are known where there is only one.
func (e *ending) placeOf(t *thrown) (at jsparse.Use) {
	m := unnamed.FindStringSubmatch(t.message)
	switch {
	case m != nil:
		if line, column := e.program.ImportPlace(m[1], m[2]); line > 0 {
			return jsparse.Use{Line: line, Column: column}
		}
	case t.message == unresolved:
		if top := e.awaits(); len(top) == 1 {
			return top[0]
		}
	case t.stack == thrownAs+t.message:
		return e.placeOfValue(t)
	case t.stack == t.kind+": "+t.message:
		at = e.placeOfClass(t.kind)
	case e.workers:
		return e.workerPlace(t)
	}
	if top := e.awaits(); at.Line == 0 && t.escaped && !t.load && len(top) == 1 {
		return top[0] // of a package's promise
	}
	return at
}

// placeOfClass returns the place of the throw of a new object of a class.
func (e *ending) placeOfClass(name string) (at jsparse.Use) {
	lines := strings.Split(e.program.Source, "\n")
	throws, _ := jsparse.Uses(e.program.Source, "throw")
	throws = slices.DeleteFunc(throws, func(u jsparse.Use) bool {
		words := strings.Fields(strings.ReplaceAll(lines[u.Line-1], "(", " ( "))
		i := slices.Index(words, name)
		return u.Next != "new" || i < 2 || words[i-1] != "new" || words[i-2] != "throw"
	})
	if len(throws) == 1 {
		return throws[0]
	}
	return at
}

// placeOfValue returns the place of the throw, or of the reject, of what is not an Error.
func (e *ending) placeOfValue(t *thrown) (at jsparse.Use) {
	source := e.program.Source
	throws, _ := jsparse.Uses(source, "throw")
	if top := e.awaits(); t.escaped && len(throws) == 0 && len(top) == 1 {
		return top[0] // of a package's promise
	}
	rejects, _ := jsparse.Uses(source, "reject")
	rejects = slices.DeleteFunc(rejects, func(u jsparse.Use) bool { return u.Next != "(" })
	others := strings.Count(source, "reject(") > len(rejects) || strings.Contains(source, ", reject)") && strings.Count(source, "reject") > 2*len(rejects)
	if all := append(slices.Clip(throws), rejects...); len(all) == 1 && !others && len(e.program.Imports) == 0 {
		return all[0]
	}
	if all := staticReject.FindAllStringIndex(source, 2); len(all) == 1 && len(throws) == 0 && len(rejects) == 0 && len(e.program.Imports) == 0 {
		return useAt(source, all[0][0])
	}
	value, _, _ := strings.Cut(t.message, "; a promise was rejected with it")
	throws = slices.DeleteFunc(throws, func(u jsparse.Use) bool {
		return u.Next != value && !(u.Next == "{" && t.kind == "Object") && strings.Trim(u.Next, "'\"`") != strings.Trim(value, "'\"`")
	})
	if len(throws) == 1 && (t.escaped || len(rejects) == 0 && !others) {
		return throws[0]
	}
	return at
}

// useAt returns the place of an offset.
func useAt(source string, offset int) jsparse.Use {
	before := source[:offset]
	return jsparse.Use{Line: 1 + strings.Count(before, "\n"), Column: offset - strings.LastIndexByte(before, '\n')}
}

// staticReject matches a call that makes a rejected promise.
var staticReject = regexp.MustCompile(`\bPromise\.reject\(`)

// awaits returns where the program awaits at its top level, nil if that is not known.
func (e *ending) awaits() (top []jsparse.Use) {
	all, blocks := jsparse.Uses(e.program.Source, "await")
	top = slices.DeleteFunc(slices.Clone(all), func(u jsparse.Use) bool { return u.Nested })
	if blocks && len(all) > 1 {
		return nil
	}
	return top
}

// thrownAs begins the stack of what is not an Error.
const thrownAs = "Uncaught "

var (
	// importing matches what is imported, in one line.
	importing = regexp.MustCompile("(?:\\bfrom|\\bimport|\\b(?:import|require)\\()\\s*[\"'`]([^\"'`\n]+)[\"'`]")

	// framed matches a frame of a traceback.
	framed = regexp.MustCompile(`(?m)^    at (?:.*[ (])?(\S+?):(\d+):(\d+)\)?$`)
)

// importsIn returns the specifiers that a text imports, and their places.
func importsIn(text string) (specifiers []string, places []jsparse.Use) {
	for _, at := range importing.FindAllStringSubmatchIndex(text, -1) {
		specifiers, places = append(specifiers, text[at[2]:at[3]]), append(places, useAt(text, at[2]-1))
	}
	return specifiers, places
}

// locateMissing has the error about an imported file that does not exist name the file, and
// the line if the error has no frame, as in a session. It reports whether the file is above
// the program's directory: there Deno looks for it to check the permission, and does not
// say what it looked for.
func (j *job) locateMissing(e *runners.Error) (above bool) {
	above = strings.HasPrefix(e.Message, "No such file or directory (os error 2)")
	m := framed.FindStringSubmatch(e.Traceback)
	if !above && (m != nil || !strings.HasPrefix(e.Message, "Module not found ")) {
		return false
	}
	name := j.shown
	if m != nil {
		name = m[1]
	}
	specifiers, places := importsIn(j.source(name))
	found := -1
	for n, specifier := range specifiers {
		path := strings.HasPrefix(specifier, ".") || strings.HasPrefix(specifier, "/") || strings.HasPrefix(specifier, "file:")
		isImport := func(i jsparse.Import) bool { return i.Specifier == specifier }
		switch {
		case !path, m != nil && strconv.Itoa(places[n].Line) != m[2], !above && !strings.Contains(e.Message, strconv.Quote(specifier)):
		case m == nil && !slices.ContainsFunc(j.program.Imports, isImport): // in a string, as of a Worker's
		case found >= 0:
			return false // it may be this one or that one
		default:
			found = n
		}
	}
	if found < 0 {
		return false
	}
	frames := strings.Join(framed.FindAllString(e.Traceback, -1), "\n")
	if m == nil {
		e.Line = places[found].Line
		frames = fmt.Sprintf("    at %s:%d:%d", name, e.Line, places[found].Column)
	}
	if specifier := specifiers[found]; !above {
	} else if e.Message = fmt.Sprintf("Module not found %q", specifier); e.Type == "NotFound" {
		e.Type, e.Message = "Error", fmt.Sprintf("Cannot find module '%s'", specifier)
	}
	e.Traceback = e.Type + ": " + e.Message + "\n" + frames
	return above
}

// locateImport has an error without a frame about a package's machine code, or a file that it
// does not find, have the line of its import, or of the only import of a package.
func (j *job) locateImport(e *runners.Error) {
	if e.Line > 0 || !strings.Contains(e.Message, " has machine code, which") && !strings.Contains(e.Message, " needs ") && !strings.Contains(e.Message, "Cannot find module '") {
		return
	}
	var packages []string // that the program imports
	for _, i := range j.program.Imports {
		of, ok := deps.Split(i.Specifier)
		if ok && (strings.HasPrefix(e.Message, of.Name+" needs ") || strings.HasPrefix(e.Message, of.Name+" has machine code")) {
			packages = []string{i.Specifier}
			break
		}
		if ok {
			packages = append(packages, i.Specifier)
		}
	}
	specifiers, places := importsIn(j.req.Code)
	if at := slices.IndexFunc(specifiers, func(s string) bool { return len(packages) == 1 && s == packages[0] }); at >= 0 {
		e.Line = places[at].Line
		e.Traceback += fmt.Sprintf("\n    at %s:%d:%d", j.shown, e.Line, places[at].Column)
	}
}

// locatePackage has the error about packages that cannot be installed name the line that
// imports the first of them.
func (j *job) locatePackage(o *runners.Outcome) {
	e := o.Error
	if o.Status != runners.NotInstalled || e == nil || e.Line > 0 || len(e.Packages) == 0 {
		return
	}
	name := e.Packages[0].Name
	specifiers, places := importsIn(j.req.Code)
	if at := slices.IndexFunc(specifiers, func(s string) bool { return s == name || strings.HasPrefix(s, name+"/") }); at >= 0 {
		e.Line = places[at].Line
	}
}

// source returns the text of the program, or of a file of its, as a traceback names it.
func (j *job) source(name string) string {
	if name == j.shown {
		return j.req.Code
	}
	for _, f := range j.req.Files {
		if f.Path == name {
			return string(f.Data)
		}
	}
	return ""
}
