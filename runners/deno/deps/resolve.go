package deps

import (
	"encoding/json"
	"net/url"
	"slices"
	"sort"
	"strings"
)

// Dependencies are what a run needs: the import map that gives names their
// meaning, and what must be fetched.
type Dependencies struct {
	Imports map[string]string // specifier → what it stands for
	Targets []Target          // sorted, each once
	Lock    []byte            // Deno's lock file, which has them all; nil: it is to be made
}

// Target is something to fetch.
type Target struct {
	Specifier string // for Deno: "npm:lodash"
	Asked     string // as the user wrote it: "lodash"
}

// Resolve gives the specifiers that programs import their meaning. A bare
// name is npm's; one without a version has the version that the packages
// argument gives it.
func Resolve(specifiers []string, pinned []Package) Dependencies {
	d := Dependencies{Imports: map[string]string{}}
	pins := map[string]Package{}
	for _, p := range pinned {
		d.add(Target{p.String(), p.String()})
		p.Path = ""
		pins[p.Registry+":"+p.Name] = p
		if _, taken := d.Imports[p.Name]; taken && p.Registry != "npm" {
			continue // npm has the bare name
		}
		d.Imports[p.Name] = p.String()
		d.Imports[p.Name+"/"] = p.Registry + ":/" + strings.TrimPrefix(p.String(), p.Registry+":") + "/"
		d.Imports[p.Registry+":"+p.Name] = p.String()
	}
	for _, spec := range specifiers {
		if !Fetched(spec) || len(spec) > 1000 {
			continue
		}
		if u, err := url.Parse(spec); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
			d.add(Target{spec, spec})
			continue
		}
		p, ok := Split(spec)
		if !ok {
			continue // Deno says what is wrong with it when it is imported
		}
		bare := !scheme.MatchString(spec)
		pin, have := pins[p.Registry+":"+p.Name]
		if !have && bare {
			pin, have = pins["jsr:"+p.Name]
		}
		if have && p.Version == "" {
			p.Registry, p.Version = pin.Registry, pin.Version
		}
		if s := p.String(); s != spec {
			d.Imports[spec] = s
		}
		d.add(Target{p.String(), spec})
	}
	sort.Slice(d.Targets, func(i, j int) bool { return d.Targets[i].Specifier < d.Targets[j].Specifier })
	return d
}

func (d *Dependencies) add(t Target) {
	if !slices.ContainsFunc(d.Targets, func(have Target) bool { return have.Specifier == t.Specifier }) {
		d.Targets = append(d.Targets, t)
	}
}

// Module returns a module that imports all targets and does nothing else.
func (d *Dependencies) Module() string {
	var b strings.Builder
	for _, t := range d.Targets {
		specifier, isJSON := t.Quoted()
		b.WriteString("import " + specifier)
		if isJSON {
			b.WriteString(` with { type: "json" }`)
		}
		b.WriteString(";\n")
	}
	return b.String()
}

// Quoted returns the specifier as a literal, and whether it is a module of JSON,
// which must be said when it is imported.
func (t Target) Quoted() (literal string, isJSON bool) {
	b, err := json.Marshal(t.Specifier)
	if err != nil {
		panic(err) // strings always marshal
	}
	u, err := url.Parse(t.Specifier)
	return string(b), err == nil && strings.HasPrefix(u.Scheme, "http") && strings.HasSuffix(u.Path, ".json")
}

// ImportMap returns the import map file.
func (d *Dependencies) ImportMap() []byte {
	b, err := json.Marshal(map[string]any{"imports": d.Imports})
	if err != nil {
		panic(err) // maps of strings always marshal
	}
	return b
}

// Loader is a program that loads all targets, one after the other, and does
// nothing else. What one of them throws or waits for is not the others' matter.
func (d *Dependencies) Loader() string {
	var b strings.Builder
	for _, t := range d.Targets {
		specifier, isJSON := t.Quoted()
		if isJSON {
			specifier += `, { with: { type: "json" } }`
		}
		b.WriteString("await import(" + specifier + ").catch(() => {});\n")
	}
	b.WriteString("Deno.exit(0);\n")
	return b.String()
}

// Summary names the targets for a line of progress.
func (d *Dependencies) Summary() string {
	names := make([]string, 0, 4)
	for i, t := range d.Targets {
		if i == 3 {
			names = append(names, "…")
			break
		}
		names = append(names, t.Asked)
	}
	return strings.Join(names, ", ")
}
