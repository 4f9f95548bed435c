package python

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/notebook"
	views "coderunner/internal/project"
	"coderunner/pyodide"
	"coderunner/runners/python/requirement"
)

// Bounds of the files of a project that are read for imports.
const (
	maxSources     = 300
	maxSourceBytes = 8 << 20
	maxPackageWalk = 1000 // entries of one package
	maxRoots       = 50
)

// sources are the files of a project that a program imports, or runs: for the analysis alone,
// for the program sees all.
type sources struct {
	view  *views.View
	files []pyodide.File
	known map[string]bool // paths, and directories with a slash
	bytes int
	above []string // the program's directory and those above
	roots []string // directories where modules are looked for

	isolated bool // the program sees only what it imports
}

// mentioned matches names of Python files in a text, which a program may start.
var mentioned = lazyregexp.New(`[\w./-]+\.(?:py|ipynb)\b`)

// newSources returns the sources of a program with a text.
func newSources(view *views.View, code string) *sources {
	s := &sources{view: view.Whole(), known: map[string]bool{view.Program: true}, isolated: view.Isolated()}
	dir := view.Dir
	if view.Program != "" {
		dir = path.Dir(view.Program)
	}
	for ; ; dir = path.Dir(dir) {
		if s.roots = append(s.roots, dir); dir == "." {
			break
		}
	}
	s.above = s.roots[:len(s.roots):len(s.roots)]
	s.roots = append(s.roots, "src", "lib")
	if strings.Contains(code, "sys.path") { // it may add any of these
		for _, dir := range s.above {
			list, _ := s.view.ReadDir(dir)
			for _, e := range list {
				if e.IsDir() && len(s.roots) < maxRoots {
					s.roots = append(s.roots, path.Join(dir, e.Name()))
				}
			}
		}
	}
	if strings.Contains(code, "from .") {
		s.addPackage(s.roots[0])
	}
	s.read(code)
	return s
}

// read adds the files that a text mentions.
func (s *sources) read(code string) {
	if s.isolated {
		return
	}
	for _, name := range mentioned.FindAllString(code, maxSources) {
		for _, root := range s.above {
			s.add(path.Join(root, name))
		}
	}
}

// add adds a file that is there.
func (s *sources) add(name string) {
	if s.known[name] || !fs.ValidPath(name) || len(s.files) >= maxSources {
		return
	}
	s.known[name] = true
	data, err := s.view.ReadFile(name, maxSourceBytes)
	if err != nil || s.bytes+len(data) > maxSourceBytes {
		return
	}
	if path.Ext(name) == ".ipynb" {
		code, _, _, err := notebook.Read(data)
		if err != nil {
			return
		}
		name, data = name+".py", []byte(code)
	}
	s.bytes += len(data)
	s.files = append(s.files, pyodide.File{Path: name, Data: data})
	s.read(string(data))
}

// addPackage adds the modules below a directory.
func (s *sources) addPackage(dir string) {
	if s.known[dir+"/"] {
		return
	}
	s.known[dir+"/"] = true
	left := maxPackageWalk
	_ = fs.WalkDir(s.view, dir, func(name string, d fs.DirEntry, err error) error {
		if left--; err != nil || left < 0 {
			return fs.SkipAll
		}
		if d.IsDir() && name != dir && !s.isPackage(name) {
			return fs.SkipDir
		}
		if path.Ext(name) == ".py" && !d.IsDir() {
			s.add(name)
		}
		return nil
	})
}

func (s *sources) isFile(name string) bool {
	info, err := s.view.Lstat(name)
	return err == nil && !info.IsDir()
}

func (s *sources) isPackage(dir string) bool { return s.isFile(path.Join(dir, "__init__.py")) }

// imports adds what modules of these names are, and reports whether there were any. A
// directory without __init__.py is a package where sys.path begins, or if it has the module.
func (s *sources) imports(modules []pyodide.Import) bool {
	before := len(s.files)
	for _, m := range modules {
		top, _, _ := strings.Cut(m.Name, ".")
		for i, root := range s.roots {
			at := path.Join(root, top)
			s.add(at + ".py")
			whole := path.Join(root, strings.ReplaceAll(m.Name, ".", "/"))
			if s.isPackage(at) || i == 0 && s.hasModules(at) || whole != at && (s.isFile(whole+".py") || s.hasModules(whole)) {
				s.addPackage(at)
				s.add(whole + ".py")
			}
		}
		if name := s.view.ModuleAbove(m.Name); len(s.files) == before && name != "" && !s.known[name] {
			s.known[name] = true
			s.files = append(s.files, pyodide.File{Path: top + ".py"}) // so that none is fetched
		}
	}
	return len(s.files) > before
}

// hasModules reports whether a directory has modules, so that it is a namespace package where
// it is on sys.path.
func (s *sources) hasModules(dir string) bool {
	list, _ := s.view.ReadDir(dir) // none if there is none
	return slices.ContainsFunc(list, func(e fs.DirEntry) bool { return path.Ext(e.Name()) == ".py" })
}

// tests adds what pytest reads for a program that may be one of its tests: conftest.py beside
// it and above. It returns where its nearest configuration with pythonpath says modules are.
func (s *sources) tests() (dirs []string) {
	for _, root := range s.above {
		s.add(path.Join(root, "conftest.py"))
		for _, name := range []string{"pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"} {
			text, _ := s.view.ReadFile(path.Join(root, name), maxSourceBytes) // none if there is none
			found := requirement.PythonPath(name, text)
			for i, dir := range found {
				found[i] = path.Join(root, dir)
			}
			if dirs == nil {
				dirs = slices.DeleteFunc(found, func(dir string) bool { return !fs.ValidPath(dir) })
			}
		}
	}
	s.roots = append(s.roots, dirs[:min(len(dirs), maxRoots)]...)
	return dirs
}

// analyzeProject is the analysis of a source whose program sees a project. It goes on until
// each of the modules is the project's, or none of it.
func (j *job) analyzeProject(ctx context.Context, source pyodide.Source) (*pyodide.Analysis, error) {
	s, given := newSources(j.req.Project, source.Code), source.Files
	if strings.Contains(source.Code, "def test_") || strings.Contains(source.Code, "pytest") {
		j.path = s.tests()
	}
	for {
		source.Files = append(slices.Clip(given), s.files...)
		found, err := j.engine.rt.Analyze(ctx, source)
		if err != nil || !s.imports(found.Imports) {
			j.sources = s.files
			for _, f := range s.files {
				if s.isolated {
					j.req.Project.Include(f.Path)
				}
			}
			return found, err
		}
	}
}
