package deps

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/runners/deno/jsparse"
)

// Project is what maps names in a program: its files, deno.json, package.json and
// tsconfig.json.
// Nothing else in these has an effect: no permission, unstable feature, lock file,
// task or lifecycle script. Paths outside the working directory are not followed.
type Project struct {
	Tools  []string // servers whose tools the program may call; nil: there are none
	Native bool     // machine code of packages may run
	Starts bool     // programs may be started

	main      string
	files     map[string]bool
	manifests map[string]*manifest // by directory
	names     map[string]string    // package among the files → directory
	patterns  []pattern
	imports   importMap
	options   map[string]any    // for Deno's compiler
	bases     []string          // directories of bare names, by tsconfig.json
	refused   map[string]string // address of a module that throws → the reason
	overrides map[string]string // npm package → a range that no specifier can express
	entries   int
}

// manifest is the used part of a directory's configuration.
type manifest struct {
	dir      string
	name     string
	exports  any
	main     string
	internal map[string]any // "imports" of package.json
	needs    map[string]string
}

// pattern maps names by prefix and suffix, which import maps cannot express, in the
// files below a directory. A * in the address stands for the text between.
type pattern struct{ dir, prefix, suffix, address string }

// Module is a file of the program.
type Module struct {
	*jsparse.Program
	Path string
	Was  string // its path in the request, if that is another one
}

// add adds an entry of an import map.
func (p *Project) add(below, dir, key, value string) {
	p.entries++
	address := ""
	pkg, isPackage := Split(value)
	switch at, ok := local(dir, value); {
	case ok:
		address = Work + at
	case !scheme.MatchString(value) && isBuiltin(value):
		address = "node:" + value
	case isPackage && scheme.MatchString(value) && !strings.HasSuffix(value, "/"):
		p.imports.putPackage(scopeOf(below), key, pkg)
		return
	case slices.ContainsFunc([]string{"npm:", "jsr:", "http:", "https:", "node:", "data:"}, func(s string) bool { return strings.HasPrefix(value, s) }):
		address = value
	default:
		address = p.refuse(key, fmt.Sprintf("the program's configuration maps it to %q, which is neither a package nor one of its files", Shorten(value, 200)))
	}
	switch at, ok := local(dir, key); {
	case ok:
		p.imports.put(scopeOf(below), Work+at, address)
	case strings.HasSuffix(key, "/") && (strings.HasPrefix(key, "/") || !strings.HasSuffix(address, "/")):
		// "/"-prefix key, or an address without trailing slash: becomes a pattern
		if strings.HasSuffix(address, "/") {
			address += "*"
		}
		p.patterns = append(p.patterns, pattern{below, key, "", address})
	case !strings.HasPrefix(key, "/") && !strings.HasPrefix(key, "file:"):
		p.imports.put(scopeOf(below), key, address)
	}
}

// refuse returns the address of a module that throws the reason why a name cannot
// be imported.
func (p *Project) refuse(name, reason string) string {
	address := thrower(name + ": " + reason)
	p.refused[address] = reason
	return address
}

// local returns the path of a relative address in the configuration of a
// directory, if it is inside the working directory.
func local(dir, address string) (name string, ok bool) {
	if address != "." && !strings.HasPrefix(address, "./") && !strings.HasPrefix(address, "../") {
		return "", false
	}
	name = path.Join(dir, address)
	if !filepath.IsLocal(name) {
		return "", false
	}
	if name == "." {
		return "", true
	}
	if strings.HasSuffix(address, "/") {
		name += "/"
	}
	return name, true
}

func members(v any) map[string]any { m, _ := v.(map[string]any); return m }

func text(v any) string { s, _ := v.(string); return s }
