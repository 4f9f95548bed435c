package install

import (
	"context"
	"slices"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/order"
	"coderunner/internal/recent"
	"coderunner/pyodide"
	"coderunner/runners/python/pypi"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// Some packages import others only when a function needs them: df.to_excel wants
// openpyxl. Their metadata list those as extras. Which extras a program may need is
// told by its text: "to_excel" has the name of the extra "excel". Their packages
// are prepared before it begins, so that what it then does decides only whether it
// sees them, not what is fetched.

// extra is a requirement of an extra.
type extra struct {
	name string // of the extra
	req  requirement.Requirement
}

// extrasOf remembers the extras of installed packages, by tree.
var extrasOf recent.Map[string, []extra]

// maxExtras bounds the requirements that are prepared.
const maxExtras = 20

var extraMarker = lazyregexp.New(`extra\s*==\s*['"]([A-Za-z0-9._-]+)['"]`)

// readExtras returns the extras of an installed package.
func readExtras(p resolver.Package) []extra {
	if list, ok := extrasOf.Get(p.Tree); ok || p.Shared {
		return list
	}
	var list []extra
	requires, err := p.Requires()
	if err != nil {
		return nil // a package without metadata has none
	}
	for _, text := range requires {
		r, err := requirement.Parse(text)
		if err != nil {
			continue
		}
		for _, found := range extraMarker.FindAllStringSubmatch(r.Marker, -1) {
			r := r
			r.Marker = extraMarker.ReplaceAllString(r.Marker, `python_version >= "3"`)
			if name, err := requirement.Parse(found[1]); err == nil {
				list = append(list, extra{name.Name, r})
			}
		}
	}
	extrasOf.Put(p.Tree, list)
	return list
}

// extras returns the requirements of installed packages' extras that the program's
// text means: projects that are one of its texts, those of extras named like a
// submodule that it imports (plotly.express), and those of extras whose name is a
// word of the names that it uses.
func (in *Installer) extras(found *pyodide.Analysis) (named, used []requirement.Requirement) {
	words := map[string]bool{}
	for _, name := range found.Names {
		words[name] = true
		for word := range strings.SplitSeq(name, "_") {
			words[word] = true
		}
	}
	submodules := map[string]bool{}
	for _, i := range found.Imports {
		submodules[i.Name] = true
	}
	for _, member := range found.Members {
		submodules[strings.Replace(member, ":", ".", 1)] = true
	}
	in.mu.Lock()
	packages := order.Values(in.installed)
	in.mu.Unlock()
	if len(packages) == 0 {
		return nil, nil
	}
	known := pypi.Known()
	for _, p := range packages {
		meant := map[string]bool{}
		for word, name := range known.Words[p.Name] {
			meant[name] = meant[name] || words[word]
		}
		list := readExtras(p)
		modules := []string(nil)
		if len(list) > 0 {
			modules = TopModules(p.Tree)
		}
		for name, any := range known.Names[p.Name] {
			if words[name] {
				named = append(named, in.firstOf(any, list)...)
			}
		}
		for text, project := range known.Texts[p.Name] {
			if slices.Contains(found.Texts, text) {
				named = append(named, in.firstOf([]string{project}, list)...)
			}
		}
		for _, e := range list {
			imported := slices.ContainsFunc(modules, func(m string) bool { return submodules[m+"."+e.name] })
			_, have := in.Has(e.req.Name)
			switch {
			case have:
			case meant[e.req.Name]:
				used = append(used, e.req)
			case slices.Contains(known.GeneralExtras, e.name):
			case imported || slices.Contains(found.Texts, e.req.Name):
				named = append(named, e.req)
			case words[e.name] || meant[e.name]:
				used = append(used, e.req)
			}
		}
	}
	for module, project := range known.Submodules {
		if _, have := in.Has(project); !have && submodules[module] && in.Present(module) {
			used = append(used, requirement.Requirement{Name: project})
		}
	}
	return compact(named), compact(used)
}

// firstOf returns the first of projects that extras have, the first if they have
// none, nothing if one is installed.
func (in *Installer) firstOf(projects []string, list []extra) []requirement.Requirement {
	if slices.ContainsFunc(projects, func(name string) bool { _, have := in.Has(name); return have }) {
		return nil
	}
	for _, name := range projects {
		if i := slices.IndexFunc(list, func(e extra) bool { return e.req.Name == name }); i >= 0 {
			return []requirement.Requirement{list[i].req}
		}
	}
	return []requirement.Requirement{{Name: projects[0]}}
}

// compact removes duplicates, and what exceeds maxExtras.
func compact(reqs []requirement.Requirement) []requirement.Requirement {
	order.Stably(reqs, func(a, b requirement.Requirement) int { return strings.Compare(a.String(), b.String()) })
	reqs = slices.CompactFunc(reqs, func(a, b requirement.Requirement) bool { return a.String() == b.String() })
	return reqs[:min(len(reqs), maxExtras)]
}

// Extras installs the extras that the program's text names, and prepares those that
// it may use. A lock has them all.
func (m *Micropip) Extras(ctx context.Context, found *pyodide.Analysis) error {
	named, used := m.extras(found)
	if m.Only {
		named, used = append(named, used...), nil
	}
	if err := m.installOptional(ctx, named); err != nil || len(used) == 0 {
		return err
	}
	before := len(m.sets)
	if _, err := m.prepareSet(ctx, resolver.Request{Optional: used}); err != nil {
		return err
	}
	for _, set := range m.sets[before:] {
		for _, r := range used {
			p, ok := set.packages[r.Name]
			if _, have := m.Has(r.Name); !ok || have {
				continue
			}
			for _, module := range TopModules(p.Tree) {
				m.Offers[module] = requirement.Requirement{Name: r.Name}
			}
		}
	}
	return nil
}
