package deps

import "strings"

// Local returns the file of the program that an import in one of its files means, if it
// means one.
func (p *Project) Local(specifier, file string) (name string, ok bool) {
	r := resolution{project: p, d: Dependencies{Map: p.imports.clone()}}
	address, _, _ := r.meaning(specifier, file)
	at, ok := strings.CutPrefix(address, Work)
	if !ok {
		return "", false
	}
	if name, ok = p.find(at); ok {
		return name, true
	}
	return at, p.files[at]
}
