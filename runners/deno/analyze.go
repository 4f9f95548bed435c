package deno

import (
	"bytes"
	"encoding/json"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
)

// extensions are those of files that Deno runs.
var extensions = []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"}

// analysis is what a request's text shows, before anything is fetched or run.
type analysis struct {
	main       string // the program's name in the working directory
	shown      string // its name in tracebacks
	program    *jsparse.Program
	files      []runners.File           // of the request, with their edits
	parsed     map[int]*jsparse.Program // those of files that Deno runs
	typeModule bool                     // the package.json nearest to it says that its .js are modules
	pinned     []deps.Package           // of Request.Packages
	native     bool                     // machine code of packages may run
	starts     bool                     // programs may be started
	deps       deps.Dependencies
	aliases    map[string]string // what require() finds by names of the program's configuration
}

// analyze names a program and finds what it and its files import.
func (r *Runner) analyze(req runners.Request) (a analysis, err error) {
	a.native, a.starts = r.Config.Policy.FFI.Any(), r.Config.Policy.Run.Any()
	if a.main, a.shown, err = programName(req); err != nil {
		return a, err
	}
	if a.pinned, err = deps.ParsePackages(req.Packages); err != nil {
		return a, err
	}
	o := options(a.main, true)
	o.Session = req.Session != nil
	a.typeModule = isTypeModule(a.main, req.Files)
	o.Script = o.Script && !a.typeModule
	if !typed(a.main) && looksTyped(req.Code) && checkNames(req.Files, withTypes(a.main)) == nil {
		a.main = withTypes(a.main)
		o.Script = false
	}
	a.program = jsparse.Parse(req.Code, o)
	a.main = compiled(a.main, a.program)
	if err = checkNames(req.Files, a.main); err != nil || o.Session {
		return a, err // a session has more files
	}
	return a, a.resolve(req.Files)
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

// looksTyped reports whether a program looks like TypeScript.
func looksTyped(code string) bool {
	l := runners.Detect(code)
	return l == runners.TypeScript || l == runners.TSX
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

// resolve finds the packages for the imports of the program and its files.
func (a *analysis) resolve(files []runners.File, earlier ...deps.Module) error {
	modules := append([]deps.Module{{Path: a.main, Program: a.program}}, earlier...)
	a.files = slices.Clone(files)
	a.parsed = map[int]*jsparse.Program{}
	for n, file := range files {
		if !slices.Contains(extensions, path.Ext(file.Path)) {
			continue
		}
		p := jsparse.Parse(string(file.Data), options(file.Path, false))
		a.parsed[n] = p
		a.files[n].Path = compiled(file.Path, p)
		modules = append(modules, deps.Module{Path: a.files[n].Path, Was: file.Path, Program: p})
	}
	project, err := deps.ReadProject(a.files, a.main)
	if err == nil {
		project.Native, project.Starts = a.native, a.starts
		a.deps, err = deps.Resolve(modules, project, a.pinned)
		a.aliases = a.deps.Aliases(modules, project)
	}
	legacy := bytes.Contains(a.deps.Config, []byte(`"experimentalDecorators":true`))
	if legacy {
		a.program = a.program.Declared()
	}
	for n, p := range a.parsed {
		if legacy {
			p = p.Declared()
			a.parsed[n] = p
		}
		if p.HasEdits() {
			a.files[n].Data = []byte(p.Edited())
		}
	}
	return err
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// programName returns a program's name in the working directory and in tracebacks.
func programName(req runners.Request) (main, shown string, err error) {
	base := map[runners.Language]string{
		runners.JavaScript: "main.js", runners.TypeScript: "main.ts", runners.JSX: "main.jsx", runners.TSX: "main.tsx",
	}[req.Language]
	if base == "" {
		return "", "", runners.BadArgument("language", "is %q, which Deno does not run: use javascript or typescript.", req.Language)
	}
	if v := req.Project; v != nil && v.Program != "" {
		main = v.Program
		if ext := path.Ext(main); !slices.Contains(extensions, ext) {
			main = v.Free(path.Join(path.Dir(main), base))
		} else if !plainName.MatchString(path.Base(main)) {
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
	case !slices.Contains(extensions, ext): // Deno would not know what it is
		return base, shown, nil
	case plainName.MatchString(shown):
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
