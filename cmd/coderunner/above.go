package main

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
)

// A program may mean files above its own directory: as those of its project, or, in
// Python, as the package that it is in, which "python -m" runs it as. It finds them
// where it is below the current directory, of which it then runs in a copy.

var (
	// above matches texts that name what is above the program's directory.
	above = regexp.MustCompile(`["'/]\.\.["'/]|\.parent\.parent\b|\.parents\[[1-9]|dirname\([^()\n]*dirname\(|\bpardir\b`)
	// surelyAbove matches those of them that are no text of another kind.
	surelyAbove = regexp.MustCompile(`\.parent\.parent\b|\.parents\[[1-9]|dirname\([^()\n]*dirname\(|(?:__file__|__dirname|\bimport\.meta|\bcwd\(\)|\bsys\.path|\bdirname|BASH_SOURCE|\$0)[^\n]*["'/]\.\.["'/]`)
	relative    = regexp.MustCompile(`(?m)(?:^|[;:])[ \t]*from[ \t]+(\.+)[\pL\pN_.]*[ \t]+import\b`)
	imported    = regexp.MustCompile(`(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*(?:"(\.\./[^"*?\[\n]+)"|'(\.\./[^'*?\[\n]+)')`)
	plainPath   = regexp.MustCompile(`^[\w./-]+\.[cm]?[jt]sx?$`)
)

// looksUp reports whether a program is below the current directory and names files above
// its own, which it then finds: it runs in a copy of the current directory.
func looksUp(file, code string, l runners.Language) bool {
	if file == "" || file == "-" || !runners.ValidPath(filepath.ToSlash(filepath.Clean(file))) {
		return false
	}
	real, err := filepath.EvalSymlinks(file)
	switch {
	case err != nil || real != filepath.Clean(file) || filepath.Dir(real) == "." || filepath.Ext(file) == ".ipynb":
		return false
	case l == runners.Python:
		return above.MatchString(code) || ofPackage(filepath.Dir(real), code)
	case l != runners.Bash && !plainPath.MatchString(file):
		return false // Deno would have another name of it
	}
	return above.MatchString(code)
}

// ofPackage reports whether a Python program imports what its directory, or one of those
// that dir names above it, is as a package.
func ofPackage(dir, code string) bool {
	if relative.MatchString(code) {
		return true
	}
	parts := strings.Split(filepath.ToSlash(dir), "/")
	for _, m := range pythonImport.FindAllStringSubmatch(code, maxLookups) {
		for name := range strings.SplitSeq(m[1]+m[2], ",") {
			if slices.Contains(parts, firstPart(name)) {
				return true
			}
		}
	}
	return false
}

// takeRelative takes the packages that a text's relative imports mean.
func (b *beside) takeRelative(t text) {
	for _, m := range relative.FindAllStringSubmatch(t.code, maxLookups) {
		dir := t.dir
		for range len(m[1]) - 1 {
			dir = path.Dir(dir)
		}
		if dir != "." {
			b.takePackage(dir)
		}
	}
}

// tellAbove says that a program looks above its directory, where it sees nothing.
func (b *beside) tellAbove(code string, l runners.Language) {
	looks := surelyAbove.MatchString(code) || l == runners.Python && ofPackage(filepath.Base(b.dir), code)
	for _, m := range imported.FindAllStringSubmatch(code, maxLookups) {
		found, _ := filepath.Glob(filepath.Join(b.dir, m[1]+m[2]) + "*") // with its ending, or a directory
		looks = looks || len(found) > 0
	}
	if looks {
		from, dir := filepath.Dir(fromHere(b.dir)), filepath.Base(b.dir)
		if fromHere(b.dir) == "." {
			from = ".."
		}
		fmt.Fprintf(b.warn, "coderunner: the program sees nothing above its directory: run it from there (cd %s && coderunner run %s)\n", printable(from), printable(path.Join(dir, b.program)))
	}
}
