package python

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/userland/shell"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/hint"
	"coderunner/runners/python/imports"
	"coderunner/runners/python/install"
	"coderunner/runners/python/pypi"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// explain appends what to do about an error to its message and the traceback, as Python
// does with notes. If a package is missing, the outcome is NotInstalled.
func (j *job) explain(ctx context.Context, o ending, res *pyodide.Result) {
	e := o.Error
	if missing := j.unmet(e); missing != nil {
		o.Status, o.Error = runners.NotInstalled, missing.Outcome().Error
		o.Error.Traceback, o.Error.Line = e.Traceback, e.Line
		j.advise(ctx, o.Error)
		p := o.Error.Packages[0]
		slip := strings.HasPrefix(p.Reason, resolver.NoSuchPackage) || strings.Contains(p.Reason, j.suggestion) || strings.HasPrefix(p.Name, j.suggestion) || strings.HasPrefix(j.suggestion, p.Name)
		if j.suggestion != "" && o.Error.Hint == "" && slip {
			o.Error.Hint = "Did you mean: '" + j.suggestion + "'?"
		}
		return
	}
	text := j.hint(e, res)
	if text == "" {
		return
	}
	e.Message = strings.TrimRight(e.Message, "\n") + "\n" + text
	if e.Traceback != "" {
		e.Traceback = strings.TrimRight(e.Traceback, "\n") + "\n" + text + "\n"
	}
}

// hint returns what to do about an error, or "".
func (j *job) hint(e *runners.Error, res *pyodide.Result) string {
	needs := j.hintNeeds(e)
	needs["importing"] = func(_ string, v hint.Values) bool {
		v["seconds"] = fmt.Sprintf("%.1f", res.CPUTime.Seconds())
		return j.ahead && importedBy(e.Traceback) != ""
	}
	return hint.For("python").Advice(hint.Failure{Type: e.Type, Message: e.Message, Traceback: e.Traceback, Source: j.req.Code, Needs: needs})
}

// hintNeeds are the conditions of hint's rows for Python.
func (j *job) hintNeeds(e *runners.Error) map[string]hint.Need {
	refused := func(project string, v hint.Values) bool {
		v["why"] = j.pk.WhyNot(project)
		v["refusal"] = refusal(project, v["why"])
		return v["why"] != ""
	}
	return map[string]hint.Need{
		"asked":     func(_ string, v hint.Values) bool { return j.asked(e, refused, v) },
		"capitals":  func(text string, v hint.Values) bool { v["capitals"] = strings.ToUpper(text); return true },
		"command":   func(name string, v hint.Values) bool { v["instead"] = shell.Instead(name); return v["instead"] != "" },
		"file":      func(module string, v hint.Values) bool { v["file"] = j.fileOf(module); return v["file"] != "" },
		"gone":      func(module string, v hint.Values) bool { v["why"] = imports.Gone(module); return v["why"] != "" },
		"guessed":   j.guessed,
		"importer":  func(_ string, v hint.Values) bool { return j.importer(e, v) },
		"installed": func(project string, _ hint.Values) bool { _, have := j.pk.Has(project); return have },
		"instead": func(name string, v hint.Values) bool {
			v["instead"] = pypi.Known().Instead[name]
			return v["instead"] != ""
		},
		"meant": func(_ string, v hint.Values) bool { v["meant"] = j.suggestion; return j.suggestion != "" },
		"memory": func(_ string, v hint.Values) bool {
			v["mib"] = strconv.FormatInt(j.req.Limits.Memory>>20, 10)
			return true
		},
		"module":  func(_ string, v hint.Values) bool { return j.module(e, v) },
		"modules": j.modulesOf,
		"present": func(module string, _ hint.Values) bool { return j.pk.Present(module) },
		"project": func(project string, _ hint.Values) bool { return project != "" },
		"refused": refused,
		"server": func(name string, _ hint.Values) bool { // it is for one, and needs a library in C
			return strings.Contains(pypi.Known().Instead[name], " for a server ")
		},
		"serving":    func(string, hint.Values) bool { return serving(e.Traceback) },
		"session":    func(string, hint.Values) bool { return j.req.Session != nil },
		"threadless": func(string, hint.Values) bool { return j.threadless },
		"uncalled": func(string, hint.Values) bool {
			return j.uncalled || e.Traceback == "" && serves.MatchString(j.req.Code) || serving(e.Traceback)
		},
		"visible": func(name string, _ hint.Values) bool { return j.r.cfg.Policy.HostEnv(name) },
		"wants": func(name string, _ hint.Values) bool { // a line of the program, and not one of a package
			lines := strings.LastIndex(e.Traceback, e.Message)
			return lines >= 0 && strings.Contains(e.Traceback[:lines], name)
		},
	}
}

var (
	noModule = lazyregexp.New(`^No module named '([A-Za-z0-9_.]+)'$`)
	serves   = lazyregexp.New(`\bserve_forever\(|\brun_simple\(|\buvicorn\.run\(|\.run\([^)\n]*\b(?:debug|host|port)=|\b(?:app|server|socketio)\.run\(`)
	lacking  = lazyregexp.New(`(?:\b[Ii]nstall\s+(?:(?:-\S+|the)\s+)*["']?|No module named '|\bDo you have )([A-Za-z][\w.-]*)`)
	imported = lazyregexp.New(`^ +(?:import|from) (\w+)`)
)

// module sets the module that is missing and the project that would have it.
func (j *job) module(e *runners.Error, v hint.Values) bool {
	m := noModule.FindStringSubmatch(e.Message)
	if e.Type != "ModuleNotFoundError" || m == nil {
		return false // not Python's plain message
	}
	v["module"] = m[1]
	v["top"], _, _ = strings.Cut(m[1], ".")
	v["project"] = imports.Project(m[1], j.engine.lock.ByImport).Name
	return true
}

// guessed reports whether a module is in a package only because the program imports its
// name: it may have meant a file that was not sent.
func (j *job) guessed(module string, v hint.Values) bool {
	p, ok := j.pk.Guess(module)
	v["package"], v["version"] = p.Name, p.Version
	return ok
}

// asked sets why a package cannot be installed that a message asks for.
func (j *job) asked(e *runners.Error, refused hint.Need, v hint.Values) bool {
	for _, m := range lacking.FindAllStringSubmatch(e.Message+"\n"+e.Traceback, -1) {
		if r, err := requirement.Parse(strings.TrimRight(m[1], ".")); err == nil && refused(r.Name, v) {
			return true
		}
	}
	return false
}

// importer sets the package, other than audioop itself, whose import failed.
func (j *job) importer(e *runners.Error, v hint.Values) bool {
	v["importer"] = importedBy(e.Traceback)
	v["project"] = imports.Project(v["importer"], j.engine.lock.ByImport).Name
	return v["importer"] != "" && v["importer"] != "audioop" && v["importer"] != "pyaudioop"
}

// modulesOf sets the modules that an installed package has.
func (j *job) modulesOf(project string, v hint.Values) bool {
	p, _ := j.pk.Has(project)
	v["modules"] = strings.Join(install.TopModules(p.Tree), ", ")
	return v["modules"] != ""
}

// serving reports whether a traceback ends where the program has a library serve: a
// method run of its own would have lines, too.
func serving(traceback string) bool { return serves.MatchString(hint.Last(traceback)) }

// fileOf returns the path of a request's file that could be the module or its
// package, or "".
func (j *job) fileOf(module string) string {
	files := j.sources
	for _, f := range j.req.Files {
		files = append(files, pyodide.File{Path: f.Path})
	}
	for _, f := range files {
		path := "/" + f.Path
		if strings.HasSuffix(path, "/"+module+".py") || strings.Contains(path, "/"+module+"/") && strings.HasSuffix(path, ".py") {
			return f.Path
		}
	}
	return ""
}

// unmet returns the uninstalled package whose import ended the program. It trusts
// the installer's record, not the message.
func (j *job) unmet(e *runners.Error) *runners.NotInstalledError {
	m := noModule.FindStringSubmatch(e.Message)
	if e.Type != "ModuleNotFoundError" || m == nil {
		return nil
	}
	r := imports.Project(m[1], j.engine.lock.ByImport)
	why := j.pk.WhyNot(r.Name)
	if why == "" {
		return nil
	}
	missing := &runners.NotInstalledError{}
	missing.Add(r.String(), why)
	return missing
}

// neededBy finds the package that wants one that cannot be installed in the
// resolver's reason.
var neededBy = lazyregexp.New(`\(needed by ([a-z0-9-]+) `)

// wanting returns the package that needs one that cannot be installed, or that
// itself where the program asks for it: what replaces lxml is of no use to a program
// that imports python-docx.
func wanting(project, why string) string {
	if by := neededBy.FindStringSubmatch(why); by != nil {
		return by[1]
	}
	return project
}

// refusal returns why a package cannot be installed and what to use instead.
func refusal(project, why string) string {
	text := "The package " + project + " cannot be installed: " + why
	name := wanting(project, why)
	if other := pypi.Known().Instead[name]; other != "" {
		text += "\nInstead of " + name + ", use " + other + "."
	}
	return text
}

// importedBy returns the module that the last line of a traceback imports, or "".
func importedBy(traceback string) string {
	_, line, _ := strings.Cut(strings.TrimPrefix(hint.Last(traceback), "\n"), "\n")
	if m := imported.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

// advise adds to the error of packages that cannot be installed what the program
// could use instead, and, for whoever runs the server, what to set.
func (j *job) advise(ctx context.Context, e *runners.Error) {
	var use, ours []string
	instead := pypi.Known().Instead
	lock := j.engine.lock
	unreachable := j.engine.resolver.BaseUnreachable() != ""
	for _, p := range e.Packages {
		if r, err := requirement.Parse(p.Name); err == nil && strings.Contains(p.Reason, resolver.NotFetched) {
			ours, unreachable = append(ours, r.Name), true
		}
	}
	for _, p := range e.Packages {
		r, err := requirement.Parse(p.Name)
		if err != nil {
			continue
		}
		name := wanting(r.Name, p.Reason)
		if module := importedBy(e.Traceback); module != "" {
			named := imports.Project(module, lock.ByImport).Name
			if instead[named] != "" && (name == r.Name || named != r.Name && instead[name] == "") {
				name = named // not what that wants
			}
		}
		other := instead[name]
		for unreachable && instead[other] != "" {
			if _, built := lock.ByName[other]; !built || j.engine.resolver.Indexed(ctx, other) {
				break
			}
			other = instead[other] // it cannot be installed either
		}
		if one := fmt.Sprintf("instead of %s, use %s", name, other); other != "" && !slices.Contains(use, one) {
			use = append(use, one)
		}
	}
	if len(use) > 0 {
		hint := strings.Join(use, "; ") + "."
		e.Hint = strings.ToUpper(hint[:1]) + hint[1:]
	}
	if len(ours) > 0 {
		e.Hint = strings.TrimSpace(fmt.Sprintf("%s\nFor whoever runs the server: PYODIDE_PACKAGE_BASE_URL can name another place with Pyodide's builds of %s.",
			e.Hint, strings.Join(ours, ", ")))
	}
}
