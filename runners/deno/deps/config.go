package deps

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"coderunner/runners"
	"coderunner/runners/deno/npm"
)

const (
	maxConfig  = 1 << 20 // bytes of one configuration file
	maxEntries = 5000    // in all configuration files together
)

// configNames are the files that map names, in order of precedence.
var configNames = []string{"deno.json", "deno.jsonc", "package.json", "tsconfig.json"}

// ReadProject reads the configuration among a program's files, named as in
// [runners.Request]. Main is the program. The error is a *runners.RequestError.
func ReadProject(files []runners.File, main string) (*Project, error) {
	p := &Project{
		main: main, files: map[string]bool{main: true}, manifests: map[string]*manifest{}, names: map[string]string{},
		imports: importMap{Imports: map[string]string{}}, refused: map[string]string{}, options: map[string]any{}, overrides: map[string]string{},
	}
	data := map[string][]byte{}
	for _, f := range files {
		p.files[f.Path] = true
		data[f.Path] = f.Data
	}
	for _, config := range configNames {
		for _, f := range files {
			if path.Base(f.Path) != config {
				continue
			}
			if err := p.read(f, data); err != nil {
				return nil, runners.BadArgument("files", "has %s, but %v.", f.Path, err)
			}
		}
	}
	p.link()
	if p.entries > maxEntries {
		return nil, runners.BadArgument("files", "has a deno.json and a package.json with more than %d entries for names: leave out those that the program does not need.", maxEntries)
	}
	return p, nil
}

// installed reports whether a directory is below an uploaded node_modules, whose
// configuration is not the program's.
func installed(dir string) bool { return slices.Contains(strings.Split(dir, "/"), "node_modules") }

// read reads one configuration file.
func (p *Project) read(f runners.File, data map[string][]byte) error {
	dir, config := path.Dir(f.Path), path.Base(f.Path)
	content, err := object(f.Data)
	if err != nil {
		return err
	}
	m := p.manifests[dir]
	if m == nil {
		m = &manifest{dir: dir, needs: map[string]string{}}
		p.manifests[dir] = m
	}
	if config == "package.json" {
		m.readPackage(content)
		return nil
	}
	if m.name == "" {
		m.name, m.exports = text(content["name"]), content["exports"]
	}
	if installed(dir) {
		return nil
	}
	p.readOptions(dir, members(content["compilerOptions"]), config == "tsconfig.json")
	from := content
	if name := text(content["importMap"]); name != "" && content["imports"] == nil {
		name = path.Join(dir, name)
		if !p.files[name] {
			return fmt.Errorf("its import map %s is not among the files: add it", Shorten(name, 100))
		}
		if from, err = object(data[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		dir = path.Dir(name)
	}
	p.readMap(m.dir, dir, from)
	return nil
}

// readMap reads an import map in dir that applies to the files below another
// directory.
func (p *Project) readMap(below, dir string, content map[string]any) {
	for key, value := range members(content["imports"]) {
		p.add(below, dir, key, text(value))
	}
	for scope, entries := range members(content["scopes"]) {
		at, ok := local(dir, scope)
		if !ok {
			continue // of modules elsewhere
		}
		for key, value := range members(entries) {
			p.add(path.Clean(at), dir, key, text(value))
		}
	}
}

func (m *manifest) readPackage(content map[string]any) {
	if m.name == "" {
		m.name, m.exports = text(content["name"]), content["exports"]
	}
	if m.main = text(content["module"]); m.main == "" {
		m.main = text(content["main"])
	}
	m.internal = members(content["imports"])
	for _, kind := range []string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"} {
		for name, version := range members(content[kind]) {
			if _, have := m.needs[name]; !have {
				m.needs[name] = text(version)
			}
		}
	}
}

// link turns the manifests into entries of the import map.
func (p *Project) link() {
	dirs := make([]string, 0, len(p.manifests))
	for dir, m := range p.manifests {
		dirs = append(dirs, dir)
		// A package with exports may import itself by name; others may import it
		// unless it is the whole program.
		if m.name != "" && !installed(dir) && (m.exports != nil || dir != ".") {
			if _, ok := p.entry(dir, ""); ok || m.exports != nil {
				p.names[m.name] = dir
			}
		}
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		m := p.manifests[dir]
		if installed(dir) {
			continue
		}
		for name, version := range m.needs {
			p.entries++
			p.need(m, name, version)
		}
		for key, value := range m.internal {
			p.entries++
			p.addInternal(m, key, npm.Condition(value))
		}
	}
	for name, dir := range p.names {
		if address, ok := p.entry(dir, ""); ok {
			p.imports.put("", name, Work+address)
		}
	}
}

// need adds a dependency of a package.json.
func (p *Project) need(m *manifest, name, version string) {
	if _, own := p.names[name]; own {
		return
	}
	kind, rest, _ := strings.Cut(version, ":")
	switch {
	case slices.Contains([]string{"file", "link", "portal", "workspace"}, kind):
		if dir := path.Join(m.dir, rest); filepath.IsLocal(dir) {
			if _, ok := p.entry(dir, ""); ok {
				p.names[name] = dir
				return
			}
		}
	case kind == "npm" || kind == "jsr":
		pkg, ok := Split(version)
		if !ok { // a version alone
			pkg, ok = Split(kind + ":" + name + "@" + rest)
		}
		if ok {
			p.imports.putPackage(scopeOf(m.dir), name, pkg)
			return
		}
	default:
		if v, ok := simpleRange(version); ok {
			if pkg, ok := Split(strings.TrimSuffix("npm:"+name+"@"+v, "@")); ok && pkg.Path == "" {
				p.imports.putPackage(scopeOf(m.dir), name, pkg)
				return
			}
		} else if pkg, ok := Split("npm:" + name); ok && pkg.Path == "" && comparators.MatchString(version) {
			p.overrides[name] = version
			p.imports.putPackage(scopeOf(m.dir), name, pkg)
			return
		}
	}
	address := p.refuse(name, fmt.Sprintf("package.json asks for it as %q; write a version of npm's registry, such as ^1.2.3, or a directory among the files", Shorten(version, 100)))
	p.imports.put(scopeOf(m.dir), name, address)
	p.patterns = append(p.patterns, pattern{m.dir, name + "/", "", address})
}

// addInternal adds an entry of "imports" in a package.json, such as
// "#lib/*": "./src/*.js".
func (p *Project) addInternal(m *manifest, key, value string) {
	if !strings.HasPrefix(key, "#") || value == "" {
		return
	}
	prefix, suffix, wild := strings.Cut(key, "*")
	if !wild {
		if pkg, ok := Split(value); ok && !scheme.MatchString(value) && !isBuiltin(value) { // one of its dependencies
			address, have := p.imports.lookup(value, path.Join(m.dir, "package.json"))
			if !have {
				address = pkg.String()
			}
			p.imports.put(scopeOf(m.dir), key, address)
			return
		}
		p.add(m.dir, m.dir, key, value)
		return
	}
	if at, ok := local(m.dir, value); ok {
		p.patterns = append(p.patterns, pattern{m.dir, prefix, suffix, Work + at})
	}
}

// object parses a JSON object that may have comments.
func object(b []byte) (map[string]any, error) {
	if len(b) > maxConfig {
		return nil, fmt.Errorf("it is larger than %d bytes: give a smaller one", maxConfig)
	}
	var m map[string]any
	plain, err := hujson.Standardize(bytes.Clone(b))
	if err == nil {
		err = json.Unmarshal(plain, &m)
	}
	if err != nil {
		return nil, fmt.Errorf("it is not a JSON object (%v): fix it", err)
	}
	return m, nil
}
