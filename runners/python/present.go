package python

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// present reports whether a module, or a regular package that contains it, is
// in an installed package. The parts of a namespace package come from several
// distributions, so there the question goes on inside.
func (j *job) present(name string) bool {
	var dirs []string
	for _, p := range j.installed {
		if !p.Shared {
			dirs = append(dirs, p.Tree)
		}
	}
	for part := range strings.SplitSeq(name, ".") {
		var inside []string
		for _, dir := range dirs {
			switch path := filepath.Join(dir, part); {
			case isModule(dir, part), isModule(path, "__init__"):
				return true
			case isDir(path):
				inside = append(inside, path)
			}
		}
		dirs = inside
	}
	return false
}

// isModule reports whether a directory has a module, in Python or compiled.
func isModule(dir, name string) bool {
	if info, err := os.Stat(filepath.Join(dir, name+".py")); err == nil && info.Mode().IsRegular() {
		return true
	}
	list, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(list, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), name+".") && strings.HasSuffix(e.Name(), ".so")
	})
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
