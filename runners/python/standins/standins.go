// Package standins has, in a directory for each project of PyPI, files that stand for the
// project's own: for extension modules that nobody has compiled for this runtime, and for
// code that takes every Emscripten for a browser's.
//
// A directory has files, as they are below site-packages; standin.toml, which says why, to
// what versions they were tried with, and where their maker is asked for a build; and
// test.py, whose result a test compares. A wheel that was compiled for this runtime, as
// Pyodide's distribution and some projects have, is always preferred, and a package that
// has a stand-in for machine code is marked as adapted in the outcome.
package standins

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed all:*/files */standin.toml
var all embed.FS

// About is what standin.toml has.
type About struct {
	Why      string // one sentence
	Versions string // that it was tried with, a specifier
	Upstream string // the address of the issue, or of the tracker

	// Compiled is set where the files stand for extension modules: the Python part of the
	// project's wheels is used, whatever system they were built for.
	Compiled bool

	Result string // of test.py
}

// Known are the stand-ins, by project.
var Known = sync.OnceValue(func() map[string]About {
	known := map[string]About{}
	entries, _ := all.ReadDir(".")
	for _, e := range entries {
		text, err := all.ReadFile(path.Join(e.Name(), "standin.toml"))
		var a About
		if err == nil {
			err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&a)
		}
		if err != nil {
			panic(fmt.Errorf("stand-in for %s: %w", e.Name(), err)) // they are embedded
		}
		known[e.Name()] = a
	}
	return known
})

// Key changes whenever a project's stand-in does; it is "" without one.
func Key(project string) string {
	files, err := fs.Sub(all, path.Join(project, "files"))
	if _, none := fs.Stat(files, "."); err != nil || none != nil {
		return ""
	}
	h := sha256.New()
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			b, _ := fs.ReadFile(files, name) // it is embedded
			fmt.Fprintf(h, "%s %d %s", name, len(b), b)
		}
		return nil
	})
	return fmt.Sprintf("-over%x", h.Sum(nil)[:6])
}

// Replace puts a project's stand-in into its unpacked wheel, in place of files that are
// there. If stripped, the extension modules that it had are gone, and all files are put.
func Replace(project, dir string, stripped bool) error {
	if Key(project) == "" {
		return nil
	}
	from, err := fs.Sub(all, path.Join(project, "files"))
	if err != nil {
		return err
	}
	return fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Lstat(target); err != nil && !stripped {
			return nil // this version has no such file
		}
		b, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		_ = os.Remove(target) // the wheel's cannot be written
		if err := os.WriteFile(target, b, 0o444); err != nil {
			return fmt.Errorf("replace %s of %s: %w", name, project, err)
		}
		return nil
	})
}
