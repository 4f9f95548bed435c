// Package site describes what a package is in an interpreter's file system: its directory in
// site-packages, its shared libraries, its console scripts; and has our own modules, which
// are there, too.
package site

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"coderunner/cache"
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

// standInsKey returns a key that changes whenever the stand-ins do, so that no snapshot
// has older ones.
var standInsKey = sync.OnceValue(func() string { return "stand-ins " + resolver.HashFiles(standIns) })

// StandIns returns the mount of our own modules.
func StandIns() pyodide.Mount {
	return pyodide.Mount{Dir: pyodide.SitePackages, Tree: standIns, Key: standInsKey()}
}

// SharedLibraries is the directory in which libraries look for their dependencies.
const SharedLibraries = "/usr/lib"

// Mount returns a package's mount.
func Mount(p resolver.Package) pyodide.Mount {
	if p.Shared {
		return pyodide.Mount{Dir: SharedLibraries, Tree: cache.DirFS(p.Tree), Key: p.Key()}
	}
	return pyodide.Mount{Dir: pyodide.SitePackages, Tree: withoutOurs(p.Tree), Key: p.Key()}
}

// withoutOurs returns a directory without what our own modules replace.
func withoutOurs(dir string) fs.FS {
	tree := cache.DirFS(dir)
	if list, err := fs.ReadDir(standIns, "."); err == nil {
		for _, e := range list {
			if _, err := fs.Stat(tree, e.Name()); err == nil {
				tree = without{tree, e.Name()}
			}
		}
	}
	return tree
}

// without is a tree without one entry. Merging is not enough where a package has a
// module with the name of ours: its bytecode would be used for our source.
type without struct {
	fs.FS
	name string
}

func (w without) Open(name string) (fs.File, error) {
	if w.hides(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return w.FS.Open(name)
}

func (w without) Stat(name string) (fs.FileInfo, error) {
	if w.hides(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return fs.Stat(w.FS, name)
}

func (w without) hides(name string) bool {
	return name == w.name || strings.HasPrefix(name, w.name+"/")
}

func (w without) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(w.FS, name)
	if name == "." {
		list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return e.Name() == w.name })
	}
	return list, err
}
