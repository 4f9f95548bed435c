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

var (
	// outside matches the error about a file that is imported from above the program's
	// directory: Deno looks for it to check the permission, and does not say what it
	// looked for.
	outside = regexp.MustCompile(`^No such file or directory \(os error 2\)`)

	// framed matches a frame of a traceback.
	framed = regexp.MustCompile(`(?m)^    at (?:.*[ (])?(\S+?):(\d+):(\d+)\)?$`)

	// imported matches what is imported by its path, in one line.
	imported = regexp.MustCompile("(?:\\bfrom|\\bimport|\\b(?:import|require)\\()\\s*[\"'`]((?:\\.\\.?/|/|file:)[^\"'`]*)[\"'`]")
)

// missing has the error about an imported file that does not exist name the file, and the
// line if the error has no frame, as in a session.
func (j *job) missing(o *runners.Outcome) {
	e := o.Error
	if e == nil || o.Status != runners.Failed {
		return
	}
	unnamed, m := outside.MatchString(e.Message), framed.FindStringSubmatch(e.Traceback)
	if !unnamed && (m != nil || !strings.HasPrefix(e.Message, "Module not found ")) {
		return
	}
	name, at := j.shown, []int(nil)
	if m != nil {
		name = m[1]
	}
	text := j.source(name)
	for _, found := range imported.FindAllStringSubmatchIndex(text, -1) {
		line := 1 + strings.Count(text[:found[2]], "\n")
		if m != nil && strconv.Itoa(line) != m[2] || !unnamed && !strings.Contains(e.Message, strconv.Quote(text[found[2]:found[3]])) {
			continue
		}
		isImport := func(i jsparse.Import) bool { return i.Specifier == text[found[2]:found[3]] }
		if m == nil && !slices.ContainsFunc(j.program.Imports, isImport) {
			continue // in a string, as of a Worker's
		}
		if at != nil {
			return // it may be this one or that one
		}
		at = found
	}
	if at == nil {
		return
	}
	frames := strings.Join(framed.FindAllString(e.Traceback, -1), "\n")
	if m == nil {
		before := text[:at[2]-1]
		e.Line = 1 + strings.Count(before, "\n")
		frames = fmt.Sprintf("    at %s:%d:%d", name, e.Line, len(before)-strings.LastIndexByte(before, '\n'))
	}
	if specifier := text[at[2]:at[3]]; !unnamed {
	} else if e.Message = fmt.Sprintf("Module not found %q; %s", specifier, topFile); e.Type == "NotFound" {
		e.Type, e.Message = "Error", fmt.Sprintf("Cannot find module '%s'; %s", specifier, topFile)
	}
	e.Traceback = e.Type + ": " + e.Message + "\n" + frames
}

// importing has an error without a frame about a package's machine code, or a file that it
// does not find, have the line of its import, or of the only import of a package.
func (j *job) importing(o *runners.Outcome) {
	e := o.Error
	if e == nil || o.Status != runners.Failed || e.Line > 0 {
		return
	}
	var packages []string // that the program imports
	for _, i := range j.program.Imports {
		of, ok := deps.Split(i.Specifier)
		if !ok {
			continue
		}
		if strings.HasPrefix(e.Message, of.Name+" needs ") || strings.HasPrefix(e.Message, of.Name+" has machine code") {
			packages = []string{i.Specifier}
			break
		}
		packages = append(packages, i.Specifier)
	}
	atImport := slices.ContainsFunc([]string{" has machine code, which", " needs ", "Cannot find module '"}, func(s string) bool { return strings.Contains(e.Message, s) })
	if len(packages) != 1 || !atImport {
		return
	}
	at := regexp.MustCompile("[\"'`]" + regexp.QuoteMeta(packages[0]) + "[\"'`]").FindStringIndex(j.req.Code)
	if at == nil {
		return
	}
	e.Line = 1 + strings.Count(j.req.Code[:at[0]], "\n")
	e.Traceback += fmt.Sprintf("\n    at %s:%d:%d", j.shown, e.Line, at[0]-strings.LastIndexByte(j.req.Code[:at[0]], '\n'))
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

// needing has the error about packages that cannot be installed name the line that imports
// the first of them.
func (j *job) needing(o *runners.Outcome) {
	e := o.Error
	if o.Status != runners.NotInstalled || e == nil || e.Line > 0 || len(e.Packages) == 0 {
		return
	}
	name := regexp.QuoteMeta(e.Packages[0].Name)
	at := regexp.MustCompile("(?:\\bfrom|\\bimport|\\b(?:import|require)\\()\\s*[\"'`]" + name + "[\"'`/]").FindStringIndex(j.req.Code)
	if at != nil {
		e.Line = 1 + strings.Count(j.req.Code[:at[1]], "\n")
	}
}
