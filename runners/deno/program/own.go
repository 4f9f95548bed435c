package program

import (
	"path"
	"slices"
	"strings"

	"coderunner/internal/project"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
)

// A program sees a project as a copy in its working directory, for Deno reads the host's file
// system; see [project.Layout].

// Bounds of the program's own modules, which are analysed.
const (
	maxModules     = 800
	maxModuleBytes = 12 << 20
)

// ownModules returns the files of a project that is laid out that its program imports, and the configuration
// that says how, which are to be analysed as files of the request.
func ownModules(l *project.Layout, req runners.Request, main string) (files []runners.File) {
	left, known := maxModuleBytes, map[string]bool{main: true, req.Project.Program: true}
	for _, f := range req.Files {
		known[f.Path] = true
	}
	if req.Session != nil {
		for _, f := range req.Session.Files {
			known[f.Path] = true
		}
	}
	take := func(name string) *runners.File {
		if known[name] || len(files) >= maxModules || left <= 0 {
			return nil
		}
		known[name] = true
		info, err := req.Project.Lstat(name)
		if err != nil {
			return nil
		}
		data, err := req.Project.ReadFile(name, int64(left))
		if err != nil {
			return nil
		}
		left -= len(data)
		files = append(files, runners.File{Path: name, Data: data, Modified: info.ModTime(), Runs: info.Mode()&0o111 != 0})
		return &files[len(files)-1]
	}
	all := slices.Clone(req.Files)
	for _, e := range l.Copies {
		f := runners.File{Path: e.Path}
		switch path.Base(e.Path) {
		case "deno.json", "deno.jsonc", "package.json", "tsconfig.json", "import_map.json":
			if taken := take(e.Path); taken != nil {
				f = *taken
			}
		}
		if !e.Info.IsDir() && !known[e.Path] || f.Data != nil {
			all = append(all, f)
		}
	}
	about, err := deps.ReadProject(all, main)
	if err != nil {
		return files // the program's own analysis says so
	}
	type module struct{ name, code string }
	queue := []module{{main, req.Code}}
	for _, f := range req.Files {
		queue = append(queue, module{f.Path, string(f.Data)})
	}
	for len(queue) > 0 {
		m := queue[0]
		queue = queue[1:]
		specifiers := []string{}
		for _, i := range jsparse.Parse(m.code, options(m.name, false)).Imports {
			specifiers = append(specifiers, i.Specifier)
		}
		for _, worker := range jsparse.Scan(m.code).Literals(isModule) {
			specifiers = append(specifiers, worker.Text)
		}
		for _, s := range specifiers {
			name, ok := about.Local(s, m.name)
			if !ok || !slices.Contains(Extensions, path.Ext(name)) {
				continue
			}
			if f := take(name); f != nil {
				queue = append(queue, module{name, string(f.Data)})
			}
		}
	}
	return files
}

// isModule reports whether a string may name a module that a program starts as a Worker.
func isModule(text string) bool {
	return (strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../")) && slices.Contains(Extensions, path.Ext(text))
}

// Layout returns how a program finds its project, nil if it has none, and the request's files
// with ownModules.
func Layout(req runners.Request) (*project.Layout, []runners.File, error) {
	v := req.Project
	if v == nil {
		return nil, req.Files, nil
	}
	main, _, err := Name(req)
	if err != nil {
		return nil, nil, err
	}
	if !v.Isolated() {
		l := project.NewLayout(v)
		return l, append(ownModules(l, req, main), req.Files...), nil
	}
	req.Project = v.Whole()
	files := ownModules(project.NewLayout(req.Project), req, main)
	for _, f := range files {
		v.Include(f.Path)
	}
	return project.NewLayout(v), append(files, req.Files...), nil
}
