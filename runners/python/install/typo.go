package install

import (
	"coderunner/runners/lookalike"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/wheel"
)

// slip returns why the project of an imported module is not installed, "" if it is: it has
// the module's name, and that is one letter from one that many use. What a table or the
// lock file says of a module is no guess.
func (in *Installer) slip(module string, r requirement.Requirement) string {
	if in.Lock.ByImport(module) != "" || r.Name != wheel.Normalize(module) {
		return ""
	}
	if means := lookalike.PyPI().Means(r.Name); means != "" {
		return lookalike.Why(means)
	}
	return ""
}
