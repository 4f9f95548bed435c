package bash

import (
	"io/fs"
	"path"
	"regexp"
	"strings"

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

// projectStartsPython reports whether a script of the project, which this one may run, may
// start Python.
func (j *job) projectStartsPython() (starts bool) {
	if j.req.Project == nil || !strings.Contains(j.req.Code, "sh") && !strings.Contains(j.req.Code, "source") && !strings.Contains(j.req.Code, ". ") {
		return false
	}
	j.walkProject(".", func(name string) {
		if ext := path.Ext(name); !starts && (ext == ".sh" || ext == ".bash") {
			text, _ := j.req.Project.ReadFile(name, maxScript)
			starts = startsPython.Match(text)
		}
	})
	return starts
}

// pythonFile matches names of Python files.
var pythonFile = regexp.MustCompile(`[\w./-]+\.py\b`)

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
