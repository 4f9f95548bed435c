package deps

import (
	"cmp"
	"net/url"
	"path"
	"sort"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/npm"
	"coderunner/runners/deno/testing"
	"coderunner/runners/lookalike"
)

// maxTargets bounds the targets of one program.
const maxTargets = 500

// Resolve returns what the modules of a program import. The first module is the
// main one. A name resolves by the program's own configuration, else to a
// matching file of the program, else to an npm package of the version in the
// packages argument. The error is a *runners.RequestError.
func Resolve(modules []Module, project *Project, pinned []Package) (Dependencies, error) {
	r := resolution{
		project: project, d: Dependencies{Map: project.imports, Overrides: project.overrides}, pins: map[string]Package{},
		index: map[string]int{}, static: map[string][]string{}, wants: map[string][]int{}, slips: map[string]string{},
	}
	for _, p := range pinned {
		r.pin(p)
	}
	for _, m := range modules {
		if m.Was != "" && m.Was != m.Path {
			r.d.Map.put("", Work+m.Was, Work+m.Path)
		}
	}
	project.compile(modules)
	r.d.Config = project.config()
	for n, m := range modules {
		for _, i := range m.Imports {
			r.imported(m, i)
		}
		r.accompany(m)
		if len(r.d.Targets) > maxTargets {
			argument := "code"
			if n > 0 {
				argument = "files"
			}
			return Dependencies{}, runners.BadArgument(argument, "imports more than %d packages, all files together: import fewer.", maxTargets)
		}
	}
	if len(modules) > 0 {
		r.need(modules[0].Path)
	}
	r.refuse()
	sort.Slice(r.d.Targets, func(i, j int) bool { return r.d.Targets[i].Specifier < r.d.Targets[j].Specifier })
	return r.d, nil
}

// resolution is the state of Resolve.
type resolution struct {
	project *Project
	d       Dependencies
	pins    map[string]Package  // by registry and name
	index   map[string]int      // specifier → its target
	static  map[string][]string // file → its static imports of files
	wants   map[string][]int    // file → its static imports of targets
	slips   map[string]string   // target → why its name is most likely a slip
}

// pin maps a package's names to its version in the packages argument.
func (r *resolution) pin(p Package) {
	if testing.For(p.Name) != nil || p.Name == "jest" {
		return // nothing of it is used
	}
	asked, name := p.String(), p.Name
	p = r.usual(p)
	n := r.target(p.String(), asked, scopedName{"", p.String()})
	r.d.Targets[n].Needed = true
	p.Path = ""
	r.pins[p.Registry+":"+name] = p
	if jsr, both := r.pins["jsr:"+p.Name]; both && p.Registry == "npm" && r.d.Map.Imports[p.Name] == jsr.String() {
		delete(r.d.Map.Imports, p.Name) // npm has the bare name
		delete(r.d.Map.Imports, p.Name+"/")
	}
	r.d.Map.putPackage("", name, p)
	r.d.Map.put("", p.Registry+":"+name, p.String())
}

// imported adds one import of a file.
func (r *resolution) imported(m Module, i jsparse.Import) {
	file, spec := m.Path, i.Specifier
	if len(spec) > 1000 {
		return
	}
	address, scope, mapped := r.meaning(spec, file)
	if at, ok := strings.CutPrefix(address, Work); ok {
		if name, found := r.project.find(at); found {
			at = name
		}
		if i.Static {
			r.static[file] = append(r.static[file], at)
		}
		return
	}
	name := strings.TrimPrefix(spec, "node:")
	if module := standIns[name]; module != "" && !mapped && !i.Required {
		r.d.Map.put("", spec, module)
		r.d.Map.put(module, "node:"+name, "node:"+name)
		return
	}
	if spec == toolsName && !mapped {
		r.d.Map.put("", spec, toolsModule(r.project.Tools))
		r.d.Tools, r.d.RequiresTools = true, r.d.RequiresTools || i.Required
		return
	}
	if r.framework(m, i) {
		return
	}
	specifier, ok := address, strings.HasPrefix(address, throwing)
	if !ok {
		specifier, ok = r.fetched(address, mapped)
	}
	if !ok {
		return
	}
	switch {
	case mapped:
		if p, ok := Split(address); ok && p.String() != specifier {
			r.d.Map.set(scope, spec, specifier) // a substitute
		}
	case specifier != spec:
		r.d.Map.put(scope, spec, specifier)
	}
	n := r.target(specifier, spec, scopedName{scope, spec})
	if i.Static {
		r.wants[file] = append(r.wants[file], n)
	}
}

// meaning resolves a specifier in file to its address and scope, and reports
// whether the import map has it.
func (r *resolution) meaning(spec, file string) (address, scope string, mapped bool) {
	here := path.Dir(file)
	if at, ok := local(here, spec); ok {
		if address, mapped = r.d.Map.lookup(Work+at, file); !mapped {
			address = Work + at
		}
		return address, scopeOf(here), true
	}
	if address, mapped = r.d.Map.lookup(spec, file); mapped && address != Work+file {
		return address, scopeOf(here), true
	}
	if Fetched(spec) || strings.HasPrefix(spec, "/") || strings.HasPrefix(spec, "#") {
		if address, scope, mapped = r.project.own(spec, file); mapped {
			r.d.Map.put(scope, spec, address)
			return address, scope, true
		}
	}
	if r.project.itself(spec, file) {
		return spec, Work + file, false // in other files it may resolve to this file
	}
	return spec, "", false
}

// fetched returns what to fetch for a specifier that is not one of the program's
// files. Mapped specifiers are not pinned again.
func (r *resolution) fetched(spec string, mapped bool) (specifier string, ok bool) {
	if !Fetched(spec) {
		return "", false
	}
	if u, err := url.Parse(spec); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		return spec, true
	}
	p, ok := Split(spec)
	if !ok {
		return "", false // the import throws Deno's own error
	}
	pin, have := r.pins[p.Registry+":"+p.Name]
	if !have && !scheme.MatchString(spec) {
		pin, have = r.pins["jsr:"+p.Name]
	}
	if have && !mapped && p.Version == "" {
		p.Registry, p.Name, p.Version = pin.Registry, pin.Name, pin.Version
	}
	if mapped {
		p = r.substitute(p)
	} else if !have {
		name := p.Name
		p = r.usual(p)
		if means := lookalike.NPM().Means(name); means != "" && p.Registry == "npm" && p.Name == name {
			r.slips[p.String()] = lookalike.Why(means)
		}
	}
	return p.String(), true
}

// target adds a target and returns its index.
func (r *resolution) target(specifier, asked string, n scopedName) int {
	i, ok := r.index[specifier]
	if !ok {
		i = len(r.d.Targets)
		r.index[specifier] = i
		r.d.Targets = append(r.d.Targets, Target{Specifier: specifier, Asked: asked})
	}
	t := &r.d.Targets[i]
	if len(t.names) == 0 || t.names[len(t.names)-1] != n {
		t.names = append(t.names, n)
	}
	return i
}

// need marks the targets that the main module cannot be loaded without.
func (r *resolution) need(main string) {
	seen := map[string]bool{main: true}
	for queue := []string{main}; len(queue) > 0; queue = queue[1:] {
		for _, n := range r.wants[queue[0]] {
			r.d.Targets[n].Needed = true
		}
		for _, file := range r.static[queue[0]] {
			if !seen[file] {
				seen[file] = true
				queue = append(queue, file)
			}
		}
	}
}

// refuse moves the targets that the program's configuration refuses, and those whose names
// are slips, to Broken or Missing.
func (r *resolution) refuse() {
	targets := r.d.Targets
	r.d.Targets = nil
	for _, t := range targets {
		message := cmp.Or(r.project.refused[t.Specifier], r.slips[t.Specifier])
		switch {
		case message == "":
			r.d.Targets = append(r.d.Targets, t)
		case t.Needed:
			r.d.Broken = append(r.d.Broken, Failure{t, message})
		default:
			r.d.Missing = append(r.d.Missing, Failure{t, message})
		}
	}
}

// usual returns what to install for a package of npm: for one without a version the edition
// that programs mean, and where machine code may not run or a program not be started, one
// with the same functions.
func (r *resolution) usual(p Package) Package {
	p = r.substitute(p)
	if p.Version == "" && p.Registry == "npm" {
		p.Version = npm.Known().Majors[p.Name]
		if p.Version == "" && !r.project.Native {
			p.Version = npm.Known().PureMajors[p.Name]
		}
	}
	return p
}
