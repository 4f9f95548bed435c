package deps

import (
	"net/url"
	"slices"
	"strings"

	"coderunner/runners"
)

// Dependencies are what a run needs: the import map and what must be fetched.
type Dependencies struct {
	Map     importMap
	Targets []Target // sorted, each once
	Lock    []byte   // Deno's lock file with all of them; nil: none yet
	Config  []byte   // nil: none

	// Overrides are ranges of npm packages that no specifier can express.
	Overrides map[string]string

	// Tools reports whether a module imports those of other servers, and RequiresTools whether
	// one does so by require.
	Tools, RequiresTools bool

	// Missing are optional targets that cannot be installed: importing one throws
	// the reason.
	Missing []Failure
	// Broken are needed targets that cannot be installed.
	Broken []Failure
}

// Target is something to fetch.
type Target struct {
	Specifier string // for Deno: "npm:lodash"
	Asked     string // as the user wrote it: "lodash"
	// Needed reports whether the program cannot be loaded without it.
	Needed bool

	names []scopedName // the program's names for it
}

// Required returns the name by which require() looks for the target.
func (t Target) Required() string {
	p, ok := Split(t.Specifier)
	if !ok {
		return t.Asked
	}
	return p.Name + p.Path
}

// Empty reports whether there is nothing to prepare.
func (d *Dependencies) Empty() bool {
	return len(d.Targets) == 0 && len(d.Map.Imports) == 0 && len(d.Map.Scopes) == 0 && d.Config == nil
}

// Failure is a target that cannot be installed.
type Failure struct {
	Target Target
	Reason string
}

// scopedName is a specifier in a scope of the import map.
type scopedName struct{ scope, specifier string }

// Without returns d with the failed targets moved to Broken, if needed, or Missing.
func (d Dependencies) Without(failures []Failure) Dependencies {
	reasons := map[string]string{}
	for _, f := range failures {
		reasons[f.Target.Specifier] = f.Reason
	}
	rest := Dependencies{Map: d.Map.clone(), Lock: d.Lock, Config: d.Config, Overrides: d.Overrides, Tools: d.Tools, RequiresTools: d.RequiresTools, Missing: slices.Clone(d.Missing), Broken: slices.Clone(d.Broken)}
	for _, t := range d.Targets {
		reason, gone := reasons[t.Specifier]
		switch {
		case !gone:
			rest.Targets = append(rest.Targets, t)
		case t.Needed:
			rest.Broken = append(rest.Broken, Failure{t, reason})
		default:
			rest.Missing = append(rest.Missing, Failure{t, reason})
			rest.redirect(t, thrower(t.Asked+": "+reason))
		}
	}
	return rest
}

// Newest returns d with the latest versions of packages that the program names without
// one. Without, Deno takes an older version that another package wants for all.
func (d Dependencies) Newest(names []string) Dependencies {
	d.Map, d.Targets = d.Map.clone(), slices.Clone(d.Targets)
	for n, t := range d.Targets {
		p, ok := Split(t.Specifier)
		if !ok || p.Registry != "npm" || p.Version != "" || !slices.Contains(names, p.Name) {
			continue
		}
		p.Version = latest
		d.redirect(t, p.String())
		d.Targets[n].Specifier = p.String()
	}
	return d
}

// latest is npm's tag of a package's newest version.
const latest = "latest"

// redirect maps all names of a target to an address.
func (d *Dependencies) redirect(t Target, address string) {
	for _, n := range append(slices.Clip(t.names), scopedName{"", t.Specifier}) {
		d.Map.set(n.scope, n.specifier, address)
	}
}

// Complete adds an ending to the address of a target's module.
func (d *Dependencies) Complete(t Target, ending string) { d.redirect(t, t.Specifier+ending) }

// Bridge changes the default import of a target that was compiled from an ES module to
// CommonJS. In Node it is the object of all exports; bundlers take the default export of the
// original, and so does the bridge if that is a function, on which the members of the object
// are found, too.
func (d *Dependencies) Bridge(t Target) {
	from, _ := t.quoted()
	bridge := "data:text/javascript," + url.PathEscape("import m from"+from+";export*from"+from+";const f=m?.__esModule?m.default:0;"+
		`export default typeof f==="function"&&typeof m==="object"?new Proxy(f,{get:(f,k,r)=>k in f?Reflect.get(f,k,r):m[k]}):m`)
	d.redirect(t, bridge)
	d.Map.set(bridge, t.Specifier, t.Specifier)
}

// FailedError is the error for packages that cannot be installed.
type FailedError struct{ Failures []Failure }

func (e *FailedError) Error() string {
	var all []string
	for _, f := range e.Failures {
		all = append(all, f.Message())
	}
	return strings.Join(all, "; ")
}

// Message returns the message of the error that the import throws.
func (f Failure) Message() string { return f.Target.Asked + ": " + f.Reason }

// Module returns a module that imports all targets and does nothing else.
func (d *Dependencies) Module() string {
	var b strings.Builder
	for _, t := range d.Targets {
		specifier, isJSON := t.quoted()
		b.WriteString("import " + specifier)
		if isJSON {
			b.WriteString(` with { type: "json" }`)
		}
		b.WriteString(";\n")
	}
	return b.String()
}

// Named reports whether a specifier in the program's own directory is a target.
func (d *Dependencies) Named(specifier string) bool {
	return slices.ContainsFunc(d.Targets, func(t Target) bool {
		return t.Specifier == specifier || slices.Contains(t.names, scopedName{"", specifier})
	})
}

// Specifiers returns those of the targets.
func (d *Dependencies) Specifiers() []string {
	var all []string
	for _, t := range d.Targets {
		all = append(all, t.Specifier)
	}
	return all
}

// quoted returns the specifier as a literal, and reports whether it is a JSON
// module, which needs an import attribute.
func (t Target) quoted() (specifier string, isJSON bool) {
	u, err := url.Parse(t.Specifier)
	return string(runners.JSON(t.Specifier)), err == nil && strings.HasPrefix(u.Scheme, "http") && strings.HasSuffix(u.Path, ".json")
}

// Loader returns a program that loads all targets one after the other. It ignores
// what they throw.
func (d *Dependencies) Loader() string {
	var b strings.Builder
	for _, t := range d.Targets {
		specifier, isJSON := t.quoted()
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
