package sample

import (
	"crypto/sha256"
	"go/build"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// start is the directory of the tested package, in which a test begins.
var start, _ = os.Getwd()

// sources returns a digest of the sources that the running test is built of: the
// files of its package and of those of the module that it imports, for all
// systems. It reads nothing else, so that go test keeps the results of packages
// that do not depend on a change, and needs no version control. It is the same
// where there are no sources.
var sources = sync.OnceValue(func() []byte {
	h := sha256.New()
	root := start
	for ; !exists(filepath.Join(root, "go.mod")); root = filepath.Dir(root) {
		if root == filepath.Dir(root) {
			return nil
		}
	}
	rel, err := filepath.Rel(root, start)
	if err != nil {
		return nil
	}
	for _, dir := range closure(root, filepath.ToSlash(rel)) {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil {
			return nil
		}
		for _, e := range entries {
			switch path.Ext(e.Name()) {
			case ".go", ".js", ".py":
				text, err := os.ReadFile(filepath.Join(root, dir, e.Name()))
				if err != nil {
					return nil
				}
				sum := sha256.Sum256(text)
				h.Write([]byte(path.Join(dir, e.Name()) + "\n"))
				h.Write(sum[:])
			}
		}
	}
	return h.Sum(nil)
})

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// closure returns the directories of a package and of all that it and its tests
// import from the module in root, sorted.
func closure(root, dir string) (dirs []string) {
	ctx := build.Default
	ctx.UseAllFiles = true
	var module string
	if text, err := os.ReadFile(filepath.Join(root, "go.mod")); err == nil {
		if f := strings.Fields(string(text)); len(f) > 1 {
			module = f[1]
		}
	}
	todo, tests := []string{dir}, true
	for len(todo) > 0 {
		dir, todo = todo[0], todo[1:]
		if slices.Contains(dirs, dir) {
			continue
		}
		dirs = append(dirs, dir)
		p, _ := ctx.ImportDir(filepath.Join(root, dir), 0) // what can be read of it
		imports := p.Imports
		if tests {
			imports, tests = slices.Concat(p.Imports, p.TestImports, p.XTestImports), false
		}
		for _, i := range imports {
			if own, ok := strings.CutPrefix(i, module+"/"); ok {
				todo = append(todo, own)
			}
		}
	}
	slices.Sort(dirs)
	return dirs
}
