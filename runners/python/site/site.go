// Package site has what a package is in an interpreter's files: its directory in
// site-packages, its shared libraries, its console scripts; and our own modules that
// are there, too.
package site

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/pyodide"
	"coderunner/runners/python/resolver"
)

//go:embed all:tree
var tree embed.FS

// standIns are our modules in site-packages.
var standIns = func() fs.FS {
	sub, err := fs.Sub(tree, "tree")
	if err != nil {
		panic(err) // it is embedded
	}
	return sub
}()

// standInsKey changes whenever the stand-ins do, so that no snapshot has older
// ones.
var standInsKey = "stand-ins " + resolver.HashFiles(standIns)

// StandIns returns the mount of our own modules.
func StandIns() pyodide.Mount {
	return pyodide.Mount{Dir: pyodide.SitePackages, Tree: standIns, Key: standInsKey}
}

// SharedLibraries is the directory in which libraries look for their dependencies.
const SharedLibraries = "/usr/lib"

// Mount returns a package's mount. Its directory in the cache is named by its
// contents and how they were prepared.
func Mount(p resolver.Package) pyodide.Mount {
	tree := os.DirFS(p.Tree)
	if list, err := fs.ReadDir(standIns, "."); err == nil {
		for _, e := range list {
			if _, err := fs.Stat(tree, e.Name()); err == nil {
				tree = without{tree, e.Name()}
			}
		}
	}
	key := p.SHA256 + " " + filepath.Base(filepath.Dir(p.Tree))
	if p.Shared {
		return pyodide.Mount{Dir: SharedLibraries, Tree: os.DirFS(p.Tree), Key: key}
	}
	return pyodide.Mount{Dir: pyodide.SitePackages, Tree: tree, Key: key}
}

// without is a tree without one entry. Merging is not enough where a package has a
// module with the name of ours: its bytecode would be used for our source.
type without struct {
	fs.FS
	name string
}

func (w without) Open(name string) (fs.File, error) {
	if name == w.name || strings.HasPrefix(name, w.name+"/") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return w.FS.Open(name)
}

func (w without) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(w.FS, name)
	if name == "." {
		list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return e.Name() == w.name })
	}
	return list, err
}
