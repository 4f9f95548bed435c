package site

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"coderunner/cache"
	"coderunner/internal/lazyregexp"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide"
	"coderunner/runners/python/process"
	"coderunner/runners/python/resolver"
)

// scriptsDir shows the console scripts of packages. It is in PATH before the
// built-in programs, so that a package's own program is found, as elsewhere.
const scriptsDir = "/usr/local/bin"

// maxEntryPoints bounds the entry_points.txt of a package, in bytes.
const maxEntryPoints = 1 << 20

// Mounts returns the mounts of a package, of its bytecode and of its console scripts,
// which are looked for only when a program looks into their directory.
func Mounts(p resolver.Package) []pyodide.Mount {
	m := Mount(p)
	if p.Shared {
		return []pyodide.Mount{m}
	}
	tree := sync.OnceValues(func() (fs.FS, error) { return scripts(cache.DirFS(p.Tree)) })
	mounts := []pyodide.Mount{m, {Dir: scriptsDir, Tree: lazyTree(tree), Key: m.Key}}
	for _, dir := range p.Bytecode {
		mounts = append(mounts, pyodide.Mount{Dir: pyodide.SitePackages, Tree: withoutOurs(dir), Key: dir, Derived: true})
	}
	return mounts
}

// lazyTree is a tree that is made when it is first read.
type lazyTree func() (fs.FS, error)

func (t lazyTree) Open(name string) (fs.File, error) {
	tree, err := t()
	if err != nil {
		return nil, err
	}
	return tree.Open(name)
}

// scripts returns a directory of the console scripts of an unpacked wheel.
func scripts(tree fs.FS) (fs.FS, error) {
	m := memfs.New(memfs.Options{})
	names, err := fs.Glob(tree, "*.dist-info/entry_points.txt")
	if err != nil || len(names) == 0 {
		return m.FS(), err
	}
	f, err := tree.Open(names[0])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	points, err := entryPoints(io.LimitReader(f, maxEntryPoints))
	if err != nil {
		return nil, err
	}
	for _, p := range points {
		if err := m.WriteFile("/"+p.name, []byte(p.script()), 0o755); err != nil {
			return nil, err
		}
	}
	return m.FS(), nil
}

// maxScriptName bounds the names of scripts, in bytes: they are names of files.
const maxScriptName = 200

// entryPoint is a console script: a function, which may be an attribute of an
// object.
type entryPoint struct{ name, module, object string }

var (
	scriptSection = lazyregexp.New(`^\[\s*(console|gui)_scripts\s*\]$`)
	scriptLine    = lazyregexp.New(`^([\pL\pN._+-]+)\s*[=:]\s*([\pL\pN._]+)\s*:\s*([\pL\pN._]+)\s*(\[[^\]]*\])?$`)
)

// entryPoints returns the console scripts in an entry_points.txt. Lines that are
// not valid are skipped.
//
// Source: https://packaging.python.org/en/latest/specifications/entry-points/
func entryPoints(r io.Reader) (points []entryPoint, err error) {
	lines := bufio.NewScanner(r)
	within := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			within = scriptSection.MatchString(line)
			continue
		}
		if m := scriptLine.FindStringSubmatch(line); within && m != nil && m[1] != "." && m[1] != ".." && len(m[1]) <= maxScriptName {
			points = append(points, entryPoint{m[1], m[2], m[3]})
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return points, nil // it is not valid either
	}
	return points, lines.Err()
}

// script returns what pip would write for the entry point.
func (p entryPoint) script() string {
	first, _, _ := strings.Cut(p.object, ".")
	return fmt.Sprintf("#!%s\nimport sys\nfrom %s import %s\nif __name__ == \"__main__\":\n    sys.exit(%s())\n", process.Executable, p.module, first, p.object)
}
