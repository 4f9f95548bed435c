// Package program finds out what a program's text and files show before anything is fetched
// or run: its name, how Node would treat it, and the packages that it needs.
//
// Of a project it reads what the program imports (own.go). It starts nothing and opens no other
// file.
package program

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
)

// Extensions are those of files that Deno runs.
var Extensions = []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"}

// Analysis is what a request's text shows.
type Analysis struct {
	Main    string // the program's name in the working directory
	Shown   string // its name in tracebacks
	Program *jsparse.Program
	Files   []runners.File           // of the request, with their edits
	Parsed  map[int]*jsparse.Program // those of Files that Deno runs
	Pinned  []deps.Package           // of Request.Packages
	Deps    deps.Dependencies
	Aliases map[string]string // what require() finds by names of the program's configuration

	typeModule bool // the package.json nearest to it says that its .js are modules
	policy     runners.Policy
	tools      []string // servers whose tools it may call; nil: there are none
	session    bool
}

// None returns the analysis of no program, for packages alone.
func None(policy runners.Policy, packages []deps.Package) (*Analysis, error) {
	a := &Analysis{policy: policy, Pinned: packages, Program: jsparse.Plain("")}
	return a, a.Resolve(nil)
}

// Analyze names a program and finds what it and its files import.
func Analyze(req runners.Request, policy runners.Policy) (a Analysis, err error) {
	a.policy, a.session = policy, req.Session != nil
	if req.Tools != nil {
		a.tools = append([]string{}, req.Tools.Servers()...)
	}
	if a.Main, a.Shown, err = Name(req); err != nil {
		return a, err
	}
	if a.Pinned, err = deps.ParsePackages(req.Packages); err != nil {
		return a, err
	}
	o := options(a.Main, true)
	o.Session = req.Session != nil
	a.typeModule = isTypeModule(a.Main, req.Files)
	o.Script = o.Script && !a.typeModule
	if !Typed(a.Main) && runners.LooksTyped(req.Code) && checkNames(req.Files, withTypes(a.Main)) == nil {
		a.Main = withTypes(a.Main)
		o.Script = false
	}
	a.Program = jsparse.Parse(req.Code, o)
	a.Main = compiled(a.Main, a.Program)
	if err = checkNames(req.Files, a.Main); err != nil || o.Session {
		return a, err // a session has more files
	}
	return a, a.Resolve(req.Files)
}

// options returns how to read the file of a name.
func options(name string, main bool) jsparse.Options {
	ext := path.Ext(name)
	return jsparse.Options{Main: main, Tags: strings.HasSuffix(ext, "x"), CommonJS: strings.HasPrefix(ext, ".c"), Script: main && ext == ".js"}
}

// isTypeModule reports whether the package.json nearest to a file of the name has the type
// module, so that Node takes its .js for a module whatever its text is.
func isTypeModule(name string, files []runners.File) bool {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		at := slices.IndexFunc(files, func(f runners.File) bool { return f.Path == path.Join(dir, "package.json") })
		if at >= 0 {
			var about struct{ Type string }
			return json.Unmarshal(files[at].Data, &about) == nil && about.Type == "module"
		}
		if dir == "." || dir == "/" {
			return false
		}
	}
}

// withTypes returns the name of a file of JavaScript as one of TypeScript.
func withTypes(name string) string {
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + strings.Replace(ext, "js", "ts", 1)
}

// compiled returns a name under which Deno compiles the tags and decorators that
// are in a file.
func compiled(name string, p *jsparse.Program) string {
	if p.Decorated {
		name = withTypes(name)
	}
	base, ext := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name)
	if p.Tags && !strings.HasSuffix(ext, "x") {
		ext = ext[:1] + ext[len(ext)-2:] + "x"
	}
	return base + ext
}

// Resolve finds the packages for the imports of the program and its files.
func (a *Analysis) Resolve(files []runners.File, earlier ...deps.Module) error {
	modules := append([]deps.Module{{Path: a.Main, Program: a.Program}}, earlier...)
	if a.session && a.tools != nil { // a later program may import them, in the same process
		modules = append(modules, deps.Module{Path: a.Main, Program: &jsparse.Program{Imports: []jsparse.Import{{Specifier: "tools"}}}})
	}
	a.Files = slices.Clone(files)
	a.Parsed = map[int]*jsparse.Program{}
	for n, file := range files {
		if !slices.Contains(Extensions, path.Ext(file.Path)) {
			continue
		}
		p := jsparse.Parse(string(file.Data), options(file.Path, false))
		a.Parsed[n] = p
		a.Files[n].Path = compiled(file.Path, p)
		modules = append(modules, deps.Module{Path: a.Files[n].Path, Was: file.Path, Program: p})
	}
	project, err := deps.ReadProject(a.Files, a.Main)
	if err == nil {
		project.Tools = a.tools
		project.Native, project.Starts = a.policy.FFI.Any(), a.policy.Run.Any()
		a.Deps, err = deps.Resolve(modules, project, a.Pinned)
		a.Aliases = a.Deps.Aliases(modules, project)
	}
	legacy := bytes.Contains(a.Deps.Config, []byte(`"experimentalDecorators":true`))
	if legacy {
		a.Program = a.Program.Declared()
	}
	for n, p := range a.Parsed {
		if legacy {
			p = p.Declared()
			a.Parsed[n] = p
		}
		if p.HasEdits() {
			a.Files[n].Data = []byte(p.Edited())
		}
	}
	return err
}

// plainName reports whether Deno may have a program of this name.
func plainName(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
	return len(name) <= 100 && strings.Trim(name, letters+".-") == "" && name != "" && strings.Contains(letters, name[:1])
}

// Name returns a program's name in the working directory and in tracebacks.
func Name(req runners.Request) (main, shown string, err error) {
	base := map[runners.Language]string{
		runners.JavaScript: "main.js", runners.TypeScript: "main.ts", runners.JSX: "main.jsx", runners.TSX: "main.tsx",
	}[req.Language]
	if base == "" {
		return "", "", runners.BadArgument("language", "is %q, which Deno does not run: use javascript or typescript.", req.Language)
	}
	if v := req.Project; v != nil && v.Program != "" {
		main = v.Program
		if ext := path.Ext(main); !slices.Contains(Extensions, ext) {
			main = v.Free(path.Join(path.Dir(main), base))
		} else if !plainName(path.Base(main)) {
			main = v.Free(path.Join(path.Dir(main), "main"+ext))
		}
		return main, v.Program, nil
	}
	if req.Filename == "" {
		if req.Project != nil {
			return req.Project.Free(base), base, nil
		}
		return base, base, nil
	}
	shown = path.Base(filepath.ToSlash(req.Filename))
	switch ext := path.Ext(shown); {
	case !slices.Contains(Extensions, ext): // Deno would not know what it is
		return base, shown, nil
	case plainName(shown):
		return shown, shown, nil
	default:
		return "main" + ext, shown, nil
	}
}

// checkNames rejects files that would replace main, the program's own. The request
// is checked.
func checkNames(files []runners.File, main string) error {
	for _, file := range files {
		if file.Path == main || strings.HasPrefix(file.Path, main+"/") {
			return runners.BadArgument("files", "has %q, but %q is the program's own file: rename the file or the program.", deps.Shorten(file.Path, 100), main)
		}
	}
	return nil
}

// Kind returns how Node runs the program. TypeScript, which its users compile to scripts,
// has no kind, nor has CommonJS that needs a module of Deno's.
func (a *Analysis) Kind() string {
	ext := path.Ext(a.Main)
	switch {
	case a.Program.Script:
		return "script"
	case !Typed(a.Main) && (a.Program.ESM || ext == ".mjs" || a.typeModule && ext == ".js"):
		return "module"
	}
	return ""
}

// programs returns the program and its files.
func (a *Analysis) programs() []*jsparse.Program {
	return slices.AppendSeq([]*jsparse.Program{a.Program}, maps.Values(a.Parsed))
}

// Modules returns the modules of Node that the program and its files import.
func (a *Analysis) Modules() (names []string) {
	for _, p := range a.programs() {
		for _, i := range p.Imports {
			if name, ok := deps.NodeModule(i.Specifier); ok {
				names = append(names, name)
			}
		}
		if p.Requires {
			names = append(names, "module")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Imports reports whether the program or its files import a module of Node.
func (a *Analysis) Imports(module string) bool { return slices.Contains(a.Modules(), module) }

// Late reports whether the program or its files use what Deno loads when something first uses it:
// Node's modules, and others that it loads in the same way.
func (a *Analysis) Late() bool {
	return slices.ContainsFunc(a.programs(), func(p *jsparse.Program) bool { return p.Late }) || len(a.Modules()) > 0
}

// Workers reports whether the program or its files may start Workers.
func (a *Analysis) Workers() bool {
	return slices.ContainsFunc(a.programs(), func(p *jsparse.Program) bool { return p.Workers }) || a.Imports("worker_threads")
}

// Defaults returns the packages whose default, if they have none, is all that they export, "",
// or the export of a name: what a session's program does by import().
func (a *Analysis) Defaults() map[string]string {
	found := map[string]string{}
	for _, i := range a.Program.Imports {
		if !i.Static || !deps.Fetched(i.Specifier) {
			continue
		}
		if name, members := a.Program.Defaulted(i.Specifier); members {
			found[i.Specifier] = ""
		} else if name != "" {
			found[i.Specifier] = name
		}
	}
	return found
}

// Typed reports whether a file may have types.
func Typed(name string) bool {
	return strings.Contains(path.Ext(name), "ts")
}
