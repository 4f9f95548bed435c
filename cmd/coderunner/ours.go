package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A program that imports a module of its project from above its directory does not mean a
// package of that name, also where it was not given the module.

// maxOwnPlaces bounds the directories above a program that are searched for modules.
const maxOwnPlaces = 100

// ownAbove returns the names of the modules that a Python program imports and that are
// above its directory, where its text or pytest has it look.
func ownAbove(file, code string) (own []string) {
	dir := filepath.Dir(absolute(file))
	above := filepath.Dir(dir)
	tests := isTest(file, code) && isConfigured(above)
	if !(pathed.MatchString(code) && surelyAbove.MatchString(code)) && !tests && !ofPackage(filepath.Base(dir), code) {
		return nil
	}
	roots := []string{above}
	if twoAbove.MatchString(code) {
		roots = append(roots, filepath.Dir(above))
	}
	places := slices.Clone(roots)
	for _, m := range append(literal.FindAllStringSubmatch(code, maxLookups), []string{"", "src", "", ""}) {
		for _, root := range append([]string{dir}, roots...) {
			at := filepath.Join(root, m[1]+m[2]+m[3])
			if info, err := os.Stat(at); len(places) < maxOwnPlaces && err == nil && info.IsDir() && !slices.Contains(places, at) {
				places = append(places, at)
			}
		}
	}
	for _, m := range pythonImport.FindAllStringSubmatch(code, maxLookups) {
		for name := range strings.SplitSeq(m[1]+m[2], ",") {
			name = firstPart(name)
			if name == "" || isModuleIn(dir, name) || slices.Contains(own, name) {
				continue
			}
			if slices.ContainsFunc(places, func(at string) bool { return isModuleIn(at, name) }) {
				own = append(own, name)
			}
		}
	}
	return own
}

// isModuleIn reports whether a directory has a module of Python, or a package with one.
func isModuleIn(dir, name string) bool {
	if isRegular(filepath.Join(dir, name+".py")) || isRegular(filepath.Join(dir, name, "__init__.py")) {
		return true
	}
	entries, _ := os.ReadDir(filepath.Join(dir, name))
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) == ".py" })
}
