package deps

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/runners/deno/npm"
)

// own returns the address and scope of a name that may be the program's own package
// or file.
func (p *Project) own(specifier, file string) (address, scope string, ok bool) {
	here := path.Dir(file)
	for _, x := range p.patterns {
		if len(specifier) < len(x.prefix)+len(x.suffix) || !strings.HasPrefix(specifier, x.prefix) || !strings.HasSuffix(specifier, x.suffix) ||
			x.dir != "." && here != x.dir && !strings.HasPrefix(here, x.dir+"/") {
			continue
		}
		between := specifier[len(x.prefix) : len(specifier)-len(x.suffix)]
		return strings.ReplaceAll(x.address, "*", between), scopeOf(x.dir), true
	}
	if scheme.MatchString(specifier) || strings.HasPrefix(specifier, "/") || !filepath.IsLocal(specifier) {
		return "", "", false
	}
	name, sub := splitName(specifier)
	if at, named := p.names[name]; named {
		if name, ok := p.entry(at, sub); ok {
			return Work + name, "", true
		}
		return p.refuse(specifier, fmt.Sprintf("the package is the program's own, in %s, and does not export it", at)), "", true
	}
	for d := here; ; d = path.Dir(d) {
		if name, ok := p.entry(path.Join(d, "node_modules", name), sub); ok {
			return Work + name, scopeOf(here), true
		}
		if d == "." {
			break
		}
	}
	for _, d := range append([]string{".", here}, p.bases...) {
		// A file that imports its own name, such as zod.ts, gets the package.
		if name, ok := p.find(path.Join(d, specifier)); ok && name != file && name != p.main {
			if d != "." {
				d = here
			}
			return Work + name, scopeOf(d), true
		}
	}
	return "", "", false
}

// itself reports whether a file imports something by its own name.
func (p *Project) itself(specifier, file string) bool {
	name, ok := p.find(path.Join(path.Dir(file), specifier))
	return ok && name == file
}

// splitName splits a bare specifier into a package's name and the path in it.
func splitName(specifier string) (name, sub string) {
	parts := strings.SplitN(specifier, "/", 3)
	n := 1
	if strings.HasPrefix(specifier, "@") {
		n = min(2, len(parts))
	}
	return strings.Join(parts[:n], "/"), strings.Join(parts[n:], "/")
}

// endings are added to a module's name to find its file.
var endings = []string{"", ".ts", ".tsx", ".mts", ".js", ".mjs", ".jsx", ".cjs", ".cts", ".json"}

// find returns the file of a path that may lack its ending or /index.
func (p *Project) find(name string) (file string, ok bool) {
	for _, base := range []string{name, path.Join(name, "index")} {
		for _, ending := range endings {
			if p.files[base+ending] && (ending != "" || path.Ext(base) != "") {
				return base + ending, true
			}
		}
	}
	if base, ok := strings.CutSuffix(name, ".js"); ok { // as TypeScript names its files
		for _, ending := range []string{".ts", ".tsx"} {
			if p.files[base+ending] {
				return base + ending, true
			}
		}
	}
	return "", false
}

// entry returns the file of the package in dir for a path in it; "" is the main one.
//
// Source: PACKAGE_EXPORTS_RESOLVE and LOAD_AS_DIRECTORY in Node's documentation.
func (p *Project) entry(dir, sub string) (file string, ok bool) {
	m := p.manifests[dir]
	if m != nil && m.exports != nil {
		target, ok := npm.Exported(m.exports, strings.TrimSuffix("./"+sub, "/"))
		if !ok {
			return "", false
		}
		file, ok = local(dir, target)
		return file, ok && file != ""
	}
	if sub != "" {
		return p.find(path.Join(dir, sub))
	}
	if m != nil && m.main != "" {
		if file, ok = p.find(path.Join(dir, m.main)); ok {
			return file, filepath.IsLocal(file)
		}
	}
	for _, name := range []string{"index", "mod", "src/index"} {
		if file, ok = p.find(path.Join(dir, name)); ok && (m != nil || name == "index") {
			return file, true
		}
	}
	return "", false
}

var (
	oneRange    = lazyregexp.New(`^([~^=]|>=?)?\s*v?(\d[\w.+*-]*|[*xX])$`)
	distTag     = lazyregexp.New(`^[A-Za-z][\w.-]*$`)
	comparator  = lazyregexp.New(`^>=?\s*v?(\d[\w.+-]*)\s+<`)
	comparators = lazyregexp.New(`^(\s*(\|\|)?\s*[<>=~^]*\s*v?\d[\w.+*-]*)+\s*$`)
	hyphen      = lazyregexp.New(`^v?(\d[\w.+-]*)\s+-\s+`)
)

// simpleRange returns the nearest range that a specifier can express for one of
// package.json: Deno allows neither ">=" nor "||" there. Of alternatives it takes
// the last, of an interval what is compatible with the lower bound.
func simpleRange(asked string) (version string, ok bool) {
	alternatives := strings.Split(asked, "||")
	asked = strings.TrimSpace(alternatives[len(alternatives)-1])
	if asked == "" || asked == "latest" && len(alternatives) == 1 {
		return asked, true
	}
	if m := oneRange.FindStringSubmatch(asked); m != nil {
		switch operator, v := m[1], m[2]; {
		case strings.HasPrefix(operator, ">") || v == "x" || v == "X":
			return "*", true
		case operator == "=":
			return v, true
		default:
			return operator + v, true
		}
	}
	for _, r := range []*lazyregexp.Regexp{comparator, hyphen} {
		if m := r.FindStringSubmatch(asked); m != nil {
			return "^" + m[1], true
		}
	}
	return asked, distTag.MatchString(asked)
}
