package resolver

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// overlays has, in a directory for each project, files that replace the
// project's own: code that assumes that Emscripten is always in a browser. In a wheel
// of which only the Python part is used, they are also added: modules in place of
// compiled ones.
//
//go:embed all:overlay
var overlays embed.FS

// overlayKey changes whenever a project's overlay does; it is "" without one.
func overlayKey(project string) string {
	name := path.Join("overlay", project)
	if _, err := fs.Stat(overlays, name); err != nil {
		return ""
	}
	files, err := fs.Sub(overlays, name)
	if err != nil {
		panic(err) // the path is valid
	}
	return "-over" + HashFiles(files)[:12]
}

// overlay replaces files of an unpacked wheel. If stripped, the extension modules that
// it had are gone, and a module in Python may be in the place of one.
func overlay(project, dir string, stripped bool) error {
	if overlayKey(project) == "" {
		return nil
	}
	from, err := fs.Sub(overlays, path.Join("overlay", project))
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
		if err := os.WriteFile(target, b, 0o644); err != nil {
			return fmt.Errorf("replace %s of %s: %w", name, project, err)
		}
		return nil
	})
}
