package deps

import (
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/testing"
)

// framework adds what stands for a test framework. It reports whether an import of a file
// is of one: of mocha, names alone, as its default export runs files.
func (r *resolution) framework(m Module, i jsparse.Import) bool {
	module := testing.For(i.Specifier)
	if i.Specifier == "mocha" && m.OnlyNames("mocha") {
		module = testing.For(testing.TestModule)
	}
	if module == nil || i.Required {
		return false
	}
	r.d.Map.cover(i.Specifier, m.Path, module.Address)
	for _, name := range module.Imports {
		other := testing.For(name)
		r.d.Map.put(module.Address, name, other.Address)
		if other.Uses != nil {
			r.framework(m, jsparse.Import{Specifier: name, Static: i.Static})
		}
	}
	for _, used := range module.Uses {
		p, _ := Split(used)
		r.d.Map.put(module.Address, p.Name, p.String())
		n := r.target(p.String(), p.Name, scopedName{module.Address, p.Name})
		if i.Static {
			r.wants[m.Path] = append(r.wants[m.Path], n)
		}
	}
	return true
}
