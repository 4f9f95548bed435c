package deno

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strings"

	"coderunner/runners"
)

// maxPackages bounds the packages argument.
const maxPackages = 100

var (
	npmName     = regexp.MustCompile(`^(@[a-zA-Z0-9~][a-zA-Z0-9._~-]*/)?[a-zA-Z0-9~][a-zA-Z0-9._~-]*$`)
	jsrName     = regexp.MustCompile(`^@[a-z0-9-]+/[a-z0-9-]+$`)
	versionText = regexp.MustCompile(`^[0-9A-Za-z.^~<>=*+_-]+$`)
	subpathText = regexp.MustCompile(`^(/[0-9A-Za-z._@~+-]+)+$`)
	scheme      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
)

// pkg is a package as an import or the packages argument names it.
type pkg struct {
	registry string // "npm" or "jsr"
	name     string // "zod", "@std/assert"
	version  string // "" is any
	path     string // "" or "/v4"
}

func (p pkg) String() string {
	s := p.registry + ":" + p.name
	if p.version != "" {
		s += "@" + p.version
	}
	return s + p.path
}

// splitPackage reads "npm:zod@3/v4", "jsr:@std/assert" or, for npm, the same
// without a scheme.
func splitPackage(spec string) (pkg, bool) {
	p := pkg{registry: "npm"}
	rest := spec
	if s := scheme.FindString(spec); s != "" {
		p.registry = strings.ToLower(strings.TrimSuffix(s, ":"))
		rest = strings.TrimPrefix(spec[len(s):], "/")
	}
	names := 1
	if strings.HasPrefix(rest, "@") {
		names = 2
	}
	parts := strings.SplitN(rest, "/", names+1)
	if len(parts) < names {
		return pkg{}, false
	}
	if len(parts) > names && parts[names] != "" {
		p.path = "/" + parts[names]
	}
	p.name = strings.Join(parts[:names], "/")
	if i := strings.LastIndexByte(p.name, '@'); i > 0 {
		p.name, p.version = p.name[:i], p.name[i+1:]
		if !versionText.MatchString(p.version) || len(p.version) > 100 {
			return pkg{}, false
		}
	}
	known := p.registry == "npm" && npmName.MatchString(p.name) || p.registry == "jsr" && jsrName.MatchString(p.name)
	if !known || len(p.name) > 214 || len(p.path) > 300 || p.path != "" && !subpathText.MatchString(p.path) {
		return pkg{}, false
	}
	return p, true
}

// parsePackages reads the packages argument.
func parsePackages(args []string) ([]pkg, error) {
	if len(args) > maxPackages {
		return nil, &runners.RequestError{Argument: "packages", Message: fmt.Sprintf("packages has %d entries; give %d at most.", len(args), maxPackages)}
	}
	var pkgs []pkg
	for _, arg := range args {
		p, ok := splitPackage(strings.TrimSpace(arg))
		if !ok {
			return nil, &runners.RequestError{Argument: "packages", Message: fmt.Sprintf("packages: %q is no package of npm or JSR; write it like npm:zod@3 or jsr:@std/assert@1.", clip(arg, 100))}
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, nil
}

// clip shortens text for a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// dependencies are what a run needs: the import map that gives names their
// meaning, and what must be fetched.
type dependencies struct {
	imports map[string]string // specifier → what it stands for
	targets []target          // sorted, each once
	lock    []byte            // Deno's lock file, which has them all; nil: it is to be made
}

// target is something to fetch.
type target struct {
	specifier string // for Deno: "npm:lodash"
	asked     string // as the user wrote it: "lodash"
}

// resolve gives the specifiers that programs import their meaning. A bare
// name is npm's; one without a version has the version that the packages
// argument gives it.
func resolve(specifiers []string, pinned []pkg) dependencies {
	d := dependencies{imports: map[string]string{}}
	pins := map[string]pkg{}
	for _, p := range pinned {
		d.add(target{p.String(), p.String()})
		p.path = ""
		pins[p.registry+":"+p.name] = p
		if _, taken := d.imports[p.name]; taken && p.registry != "npm" {
			continue // npm has the bare name
		}
		d.imports[p.name] = p.String()
		d.imports[p.name+"/"] = p.registry + ":/" + strings.TrimPrefix(p.String(), p.registry+":") + "/"
		d.imports[p.registry+":"+p.name] = p.String()
	}
	for _, spec := range specifiers {
		if !isPackage(spec) || len(spec) > 1000 {
			continue
		}
		if u, err := url.Parse(spec); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
			d.add(target{spec, spec})
			continue
		}
		p, ok := splitPackage(spec)
		if !ok {
			continue // Deno says what is wrong with it when it is imported
		}
		bare := !scheme.MatchString(spec)
		pin, have := pins[p.registry+":"+p.name]
		if !have && bare {
			pin, have = pins["jsr:"+p.name]
		}
		if have && p.version == "" {
			p.registry, p.version = pin.registry, pin.version
		}
		if s := p.String(); s != spec {
			d.imports[spec] = s
		}
		d.add(target{p.String(), spec})
	}
	sort.Slice(d.targets, func(i, j int) bool { return d.targets[i].specifier < d.targets[j].specifier })
	return d
}

func (d *dependencies) add(t target) {
	if !slices.ContainsFunc(d.targets, func(have target) bool { return have.specifier == t.specifier }) {
		d.targets = append(d.targets, t)
	}
}

// module gives a module that imports all targets and does nothing else.
func (d *dependencies) module() string {
	var b strings.Builder
	for _, t := range d.targets {
		specifier, isJSON := t.quoted()
		b.WriteString("import " + specifier)
		if isJSON {
			b.WriteString(` with { type: "json" }`)
		}
		b.WriteString(";\n")
	}
	return b.String()
}

// quoted gives the specifier as a literal, and whether it is a module of JSON,
// which must be said when it is imported.
func (t target) quoted() (literal string, isJSON bool) {
	b, err := json.Marshal(t.specifier)
	if err != nil {
		panic(err) // strings always marshal
	}
	u, err := url.Parse(t.specifier)
	return string(b), err == nil && strings.HasPrefix(u.Scheme, "http") && strings.HasSuffix(u.Path, ".json")
}

// importMap gives the import map file.
func (d *dependencies) importMap() []byte {
	b, err := json.Marshal(map[string]any{"imports": d.imports})
	if err != nil {
		panic(err) // maps of strings always marshal
	}
	return b
}
