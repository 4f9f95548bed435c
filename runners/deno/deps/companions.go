package deps

import (
	"slices"

	"coderunner/runners/deno/npm"
)

// SharpWasm is sharp's machine code as WebAssembly. sharp itself looks for it only where
// it knows no machine code for the machine.
const SharpWasm = "@img/sharp-wasm32"

// maxCompanions bounds those that one file names.
const maxCompanions = 20

// accompany adds the packages that those of a file load and nothing imports.
func (r *resolution) accompany(m Module) {
	for _, i := range m.Imports {
		p, ok := Split(i.Specifier)
		if ok && p.Name == "sharp" && !r.project.Native {
			specifier := Package{Registry: "npm", Name: SharpWasm, Version: p.Version}.String()
			r.target(specifier, SharpWasm, scopedName{"", SharpWasm})
		}
		for _, c := range npm.Known().Companions {
			if !ok || c.Of != p.Name {
				continue
			}
			for _, name := range c.In(m.Source, maxCompanions) {
				if specifier, ok := r.fetched(name, false); ok {
					r.target(specifier, name, scopedName{"", name})
				}
			}
		}
	}
}

// With returns d with packages that others of it import and that nothing else names.
func (d Dependencies) With(names []string) Dependencies {
	d.Targets = slices.Clip(d.Targets)
	for _, name := range names {
		d.Targets = append(d.Targets, Target{Specifier: "npm:" + name, Asked: name, names: []scopedName{{"", name}}})
	}
	return d
}
