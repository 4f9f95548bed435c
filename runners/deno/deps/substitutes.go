package deps

import (
	"strconv"
	"strings"

	"coderunner/runners/deno/npm"
)

// substitute returns what to install instead of a package that needs what a program may not
// use.
func (r *resolution) substitute(p Package) Package {
	s, allowed := npm.Known().Substitutes[p.Name], r.project.Native
	if p.Name == "esbuild" {
		allowed = r.project.Starts
	}
	if s == "" || allowed || p.Registry != "npm" {
		return p
	}
	if first, twin := npm.Known().Twins[s]; p.Version+p.Path != "" && (!twin || majorOf(p.Version) < first) {
		return p
	}
	p.Name = s
	return p
}

// majorOf returns the major version that a range allows, a high one for a tag.
func majorOf(version string) int {
	numbers := strings.FieldsFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.Atoi(strings.Join(numbers[:min(len(numbers), 1)], ""))
	if err != nil {
		return 1 << 30
	}
	return n
}

// Substitutions returns npm's overrides by which other packages get substitutes, too, where
// machine code may not run or programs not be started. An override of npm has no regard for
// the version that is asked for, so rollup's are those of packages that ask for one with
// machine code.
func Substitutions(native, starts bool) map[string]any {
	all := map[string]any{}
	if !starts {
		all["esbuild"] = "npm:esbuild-wasm@*"
	}
	if !native {
		for _, name := range []string{"tsup@>=8", "vite@>=5"} {
			all[name] = map[string]string{"rollup": "npm:@rollup/wasm-node@4"}
		}
	}
	return all
}
