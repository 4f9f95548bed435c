package bash

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/runners"
)

// Bounds of what is read of a project before the script runs.
const (
	maxScripts = 300       // entries that are looked at
	maxScript  = 256 << 10 // bytes of one
)

// projectHas reports whether the project has a file as it is.
func (j *job) projectHas(f runners.File) bool {
	v := j.req.Project
	if v == nil || v.Program != f.Path {
		return false
	}
	data, err := v.ReadFile(f.Path, int64(len(f.Data))+1)
	return err == nil && string(data) == string(f.Data)
}

// dir returns the working directory.
func (j *job) dir() string {
	if v := j.req.Project; v != nil {
		return path.Join(home, v.Dir)
	}
	return home
}

// shownName returns $0: the script's path from the working directory.
func (j *job) shownName() string {
	if name, err := filepath.Rel(j.dir(), path.Join(home, j.own.Path)); err == nil {
		return name
	}
	return j.own.Path
}

// walkProject calls f with some files of the project below a directory of it.
func (j *job) walkProject(dir string, f func(name string)) {
	left := maxScripts
	_ = fs.WalkDir(j.req.Project, dir, func(name string, d fs.DirEntry, err error) error {
		if left--; err != nil || left < 0 {
			return fs.SkipAll
		}
		if !d.IsDir() {
			f(name)
		}
		return nil
	})
}

// pythonFile matches names of Python files.
var pythonFile = lazyregexp.New(`[\w./-]+\.py\b`)

// addProjectPython adds to a request what the script starts of the project's Python, whose
// imports the machine has to have: files that it names, modules of python -m, and tests.
func (j *job) addProjectPython(req *runners.Request, commands [][]string) {
	v := j.req.Project
	if v == nil {
		return
	}
	added := map[string]bool{}
	add := func(name string) {
		if path.Ext(name) != ".py" || added[name] || len(req.Files) >= maxScanned {
			return
		}
		added[name] = true
		if data, err := v.ReadFile(name, maxScript); err == nil {
			req.Files = append(req.Files, runners.File{Path: name, Data: data})
		}
	}
	for _, name := range pythonFile.FindAllString(string(j.own.Data), maxScanned) {
		add(path.Clean(name))
		add(path.Join(path.Dir(j.own.Path), name))
	}
	for _, words := range commands {
		if last := words[len(words)-1]; words[0] == "python" {
			add(strings.ReplaceAll(last, ".", "/") + ".py")
			add(strings.ReplaceAll(last, ".", "/") + "/__main__.py")
		} else if words[0] == "pytest" || words[0] == "py.test" {
			j.walkProject(".", add)
		}
	}
}
