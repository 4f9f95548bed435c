package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A program below the current directory, such as src/main.py, names files from there
// (data/in.csv), as it would elsewhere, or from its own directory. What it has beside
// it comes first.

// openHere opens the current directory if the program's is below it.
func (b *beside) openHere() (err error) {
	if at, relErr := filepath.Rel(absolute("."), b.dir); relErr == nil && at != "." && filepath.IsLocal(at) {
		b.here, err = os.OpenRoot(".")
	}
	return err
}

// takeHere takes a file below the current directory, unless there is one of that path
// beside the program. It returns the name of a directory.
func (b *beside) takeHere(name string) (dir string) {
	if b.here == nil || !fs.ValidPath(name) || name == "." || b.knownHere[name] || len(b.knownHere) > maxLookups {
		return ""
	}
	b.knownHere[name] = true
	info, err := b.here.Stat(name)
	if err != nil {
		return ""
	}
	real, _ := filepath.EvalSymlinks(name)
	_, beside := b.root.Stat(name)
	switch {
	case hidden(name) && beside != nil && info.Mode().IsRegular():
		fmt.Fprintf(b.warn, "coderunner: %s: %v, so the program does not see it (--file %[1]s)\n", printable(name), errHidden)
	case slices.ContainsFunc(strings.Split(name, "/"), skipped):
	case hidden(filepath.ToSlash(real)):
	case info.IsDir():
		return name
	case beside == nil || !info.Mode().IsRegular():
	default:
		if err := b.copy(b.here, name, name); err != nil {
			fmt.Fprintf(b.warn, "coderunner: %s: %v, so the program does not see it\n", printable(name), err)
			return ""
		}
		b.known[name] = true
		b.read(b.files[len(b.files)-1])
	}
	return ""
}

// pathed matches programs that set where modules are looked for, or tests, for which
// that is also the current directory.
var pathed = regexp.MustCompile(`\bsys\.path\b|\bpytest\b|\bunittest\b`)

// isModule reports whether a module, or what is only a directory in the current
// directory, is one that code may import. The current directory has others, too.
func (b *beside) isModule(name, code string) bool {
	if b.here == nil || pathed.MatchString(code) {
		return true
	}
	for _, at := range []string{name, name + ".py"} {
		if _, err := b.root.Lstat(at); err == nil {
			return true
		}
	}
	return false
}
