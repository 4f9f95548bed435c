package main

import (
	"fmt"
	"os"
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
	// twoAbove matches texts that name what is above that.
	twoAbove  = regexp.MustCompile(`\.parent\.parent\.parent\b|\.parents\[[2-9]|dirname\([^()\n]*dirname\([^()\n]*dirname\(|\.\./\.\.|["']\.\.["']\s*,\s*["']\.\.["']`)
	relative  = regexp.MustCompile(`(?m)(?:^|[;:])[ \t]*from[ \t]+(\.+)[\pL\pN_.]*[ \t]+import\b`)
	imported  = regexp.MustCompile(`(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*(?:"(\.\./[^"*?\[\n]+)"|'(\.\./[^'*?\[\n]+)')`)
	upWord    = regexp.MustCompile(`\.\./[\pL\pN_./+-]{1,255}`)
	plainPath = regexp.MustCompile(`^[\w./-]+\.[cm]?[jt]sx?$`)
)

// looksUp reports whether a program is below the current directory and names files above
// its own, which it then finds: it runs in a copy of the current directory.
func looksUp(file, code string, l runners.Language) bool {
	if file == "" || file == "-" || !runners.ValidPath(filepath.ToSlash(filepath.Clean(file))) {
		return false
	}
	real, err := filepath.EvalSymlinks(file)
	switch {
	case err != nil || real != filepath.Clean(file) || filepath.Dir(real) == "." || filepath.Ext(file) == ".ipynb" && l != runners.Python:
		return false
	case l == runners.Python:
		return above.MatchString(code) || ofPackage(filepath.Dir(real), code) || isTest(file, code) && configuredAbove(filepath.Dir(real))
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

// inCurrent reports whether a program's file is in the current directory.
func inCurrent(file string) bool {
	info, err := os.Lstat(file)
	return err == nil && info.Mode().IsRegular() && filepath.Dir(filepath.Clean(file)) == "."
}

// placeAbove has a program that was given files above the current directory find them
// there: its own directory is below others, as the current one is.
func placeAbove(req *runners.Request) {
	up := 0
	for _, f := range req.Files {
		n := 0
		for rest := f.Path; strings.HasPrefix(rest+"/", "../"); n++ {
			rest = strings.TrimPrefix(rest[2:], "/")
		}
		up = max(up, n)
	}
	if up == 0 {
		return
	}
	parts := strings.Split(filepath.ToSlash(absolute(".")), "/")
	dir := path.Join(parts[max(len(parts)-up, 0):]...)
	for i, f := range req.Files {
		req.Files[i].Path = path.Join(dir, f.Path)
	}
	req.Filename, req.Dir, req.Below = path.Join(dir, req.Filename), dir, true
	known := map[string]bool{req.Filename: true}
	req.Files = slices.DeleteFunc(req.Files, func(f runners.File) bool { // --dir .. has it, too
		defer func() { known[f.Path] = true }()
		return known[f.Path]
	})
}

// tellNamedAbove says which flags add the files above the current directory that a text
// names, and reports whether there are any.
func (b *beside) tellNamedAbove(code string, l runners.Language) (any bool) {
	var names []string
	for _, m := range literal.FindAllStringSubmatch(code, maxLookups) {
		names = append(names, m[1]+m[2]+m[3])
	}
	if l == runners.Bash {
		names = append(names, upWord.FindAllString(code, maxLookups)...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		info, err := os.Stat(name)
		if !strings.HasPrefix(name, "../") || err != nil || path.Base(path.Clean(name)) == ".." || b.hasBelow(path.Clean(name)) || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		flag := map[bool]string{true: "--dir", false: "--file"}[info.IsDir()]
		fmt.Fprintf(b.warn, "coderunner: %s: is above the program's directory, so the program does not see it (%s %[1]s)\n", printable(name), flag)
		any = true
	}
	return any
}

// tellAbove says that a program looks above its directory, where it sees nothing.
func (b *beside) tellAbove(code string, l runners.Language) {
	if b.above && b.tellNamedAbove(code, l) {
		return
	}
	if slices.ContainsFunc(b.files, func(f runners.File) bool { return strings.HasPrefix(f.Path, "../") }) {
		return // of which it was given some
	}
	looks := surelyAbove.MatchString(code) || l == runners.Python && (ofPackage(filepath.Base(b.dir), code) || isTest(b.program, code) && isConfigured(filepath.Dir(b.dir)))
	for _, m := range imported.FindAllStringSubmatch(code, maxLookups) {
		found, _ := filepath.Glob(filepath.Join(b.dir, m[1]+m[2]) + "*") // with its ending, or a directory
		looks = looks || len(found) > 0
	}
	if looks {
		levels := 1
		if twoAbove.MatchString(code) {
			levels = 2
		}
		at, name := b.dir, b.program
		for range levels {
			at, name = filepath.Dir(at), path.Join(filepath.Base(at), name)
		}
		from := fromHere(at)
		if fromHere(b.dir) == "." {
			from = path.Join("..", strings.Repeat("../", levels-1))
		}
		fmt.Fprintf(b.warn, "coderunner: the program sees nothing above its directory: run it from there (cd %s && coderunner run %s)\n", printable(from), printable(name))
	}
}
