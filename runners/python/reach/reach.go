// Package reach finds out, without running anything, which files of installed packages run
// when some modules are imported: sources to be compiled to bytecode and libraries to be
// compiled to machine code.
//
// The answer is a guess that costs time alone where it is wrong: a module that is not
// in it is compiled when it is imported, and one that is in it may not be imported.
//
// # Limits
//
// Imports by functions, by importlib and by machine code are not followed.
package reach

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

const maxFiles = 20_000

// MaxSource bounds the modules that are compiled, in bytes. The few that are larger hold
// data and would take gigabytes.
const MaxSource = 4 << 20

// File is a file of a package, named relative to the package's directory.
type File struct {
	Tree int    // index of the directory
	Name string // slash-separated
}

// From returns the files that importing modules runs, out of directories that are
// merged, in which the first file of a name counts: modules' sources in the order in
// which they are found, and shared libraries.
func From(trees, modules []string) (sources, libraries []File) {
	w := walk{trees: trees, dirs: map[string]map[string]File{}, seen: map[string]bool{}}
	for _, m := range modules {
		w.add(m)
	}
	for len(w.todo) > 0 && len(w.sources)+len(w.libraries) < maxFiles {
		w.read()
	}
	return w.sources, w.libraries
}

// walk is one call of From.
type walk struct {
	trees     []string
	dirs      map[string]map[string]File // by path: the entries that modules can be
	seen      map[string]bool            // modules
	todo      []module                   // sources to be read
	sources   []File
	libraries []File
}

// module is a module's name and file.
type module struct {
	name      string
	isPackage bool
	file      File
}

// add finds a module and those that contain it.
func (w *walk) add(name string) {
	for at := range len(name) + 1 {
		if at == len(name) || name[at] == '.' {
			w.addOne(name[:at])
		}
	}
}

func (w *walk) addOne(name string) {
	if w.seen[name] || strings.ContainsAny(name, `/\:`) || slices.Contains(strings.Split(name, "."), "") {
		return
	}
	w.seen[name] = true
	at := strings.ReplaceAll(name, ".", "/")
	m, ok := module{name: name}, false
	if m.file, ok = w.list(at)["__init__"]; ok {
		m.isPackage = true
	} else if m.file, ok = w.list(path.Dir(at))[path.Base(at)]; !ok {
		return
	}
	if path.Ext(m.file.Name) == ".so" {
		w.libraries = append(w.libraries, m.file)
		return
	}
	if info, err := os.Stat(w.path(m.file)); err == nil && info.Size() <= MaxSource {
		w.sources = append(w.sources, m.file)
		w.todo = append(w.todo, m)
	}
}

// list returns the modules in a directory by their names: the library of a name before
// its source, as Python looks for them.
func (w *walk) list(dir string) map[string]File {
	if found, ok := w.dirs[dir]; ok {
		return found
	}
	found := map[string]File{}
	w.dirs[dir] = found
	for i, tree := range w.trees {
		list, err := os.ReadDir(filepath.Join(tree, filepath.FromSlash(dir)))
		if err != nil {
			continue
		}
		for _, e := range list {
			name, _, _ := strings.Cut(e.Name(), ".")
			library := strings.HasSuffix(e.Name(), ".so")
			if old, ok := found[name]; e.Type().IsRegular() && (library || e.Name() == name+".py") &&
				(!ok || library && path.Ext(old.Name) == ".py" && old.Tree == i) {
				found[name] = File{i, path.Join(dir, e.Name())}
			}
		}
	}
	return found
}

func (w *walk) path(f File) string { return filepath.Join(w.trees[f.Tree], filepath.FromSlash(f.Name)) }

// read adds what the modules import whose sources are to be read.
func (w *walk) read() {
	modules := w.todo
	w.todo = nil
	found := make([][]statement, len(modules))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, m := range modules {
		g.Go(func() error {
			if source, err := os.ReadFile(w.path(m.file)); err == nil {
				found[i] = scan(source)
			}
			return nil
		})
	}
	_ = g.Wait()
	for i, m := range modules {
		for _, s := range found[i] {
			base, ok := m.absolute(s.module)
			if !ok {
				continue
			}
			w.add(base)
			for _, name := range s.names {
				w.add(strings.TrimPrefix(base+"."+name, "."))
			}
		}
	}
}

// absolute returns the absolute name of what a module names, with leading dots where it
// is relative.
func (m module) absolute(name string) (string, bool) {
	rest := strings.TrimLeft(name, ".")
	dots := len(name) - len(rest)
	if dots == 0 {
		return name, true
	}
	base := m.name
	if m.isPackage {
		dots--
	}
	for range dots {
		at := strings.LastIndexByte(base, '.')
		if at < 0 {
			return "", false
		}
		base = base[:at]
	}
	if rest == "" {
		return base, true
	}
	return base + "." + rest, true
}
