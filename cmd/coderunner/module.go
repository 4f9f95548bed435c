package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"coderunner/internal/userland/shell/quote"
)

// moduleFlag is the value of -m, which Python has: it is an error that names the file.
type moduleFlag struct{}

func (moduleFlag) Set(name string) error { return moduleError(name) }
func (moduleFlag) String() string        { return "" }
func (moduleFlag) Type() string          { return "string" }

// moduleError is the error of a module in place of a program.
type moduleError string

func (e moduleError) Error() string {
	name := string(e)
	if strings.ContainsFunc(name, func(r rune) bool { return r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return "-m: run takes the FILE of a program"
	}
	file := filepath.FromSlash(strings.ReplaceAll(name, ".", "/"))
	for _, at := range []string{filepath.Join(file, "__main__.py"), file + ".py"} {
		if isRegular(at) {
			return fmt.Sprintf("-m %s: run takes the file of a module: coderunner run %s", name, quote.IfNeeded(at))
		}
	}
	if name == "pytest" || name == "unittest" {
		return fmt.Sprintf("-m %s: run takes a file of tests: coderunner run tests/test_it.py", name)
	}
	return fmt.Sprintf(`-m %s: there is no %s or %s.py here; of a package: coderunner run -c "import runpy; runpy.run_module('%s', run_name='__main__')"`, name, filepath.Join(file, "__main__.py"), file, name)
}

// programIn says which file of a directory is the program that the directory is run as.
func programIn(dir string) string {
	for _, name := range []string{"__main__.py", "index.js", "index.mjs", "index.ts"} {
		if at := filepath.Join(dir, name); isRegular(at) {
			return "name the program in it: coderunner run " + quote.IfNeeded(at)
		}
	}
	return "name a program in it"
}

func isRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
