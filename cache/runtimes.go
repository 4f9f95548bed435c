package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"coderunner/internal/defaults"
)

// The files of Pyodide that a host without JavaScript needs, as upstream
// names them.
const (
	PyodideWasm   = "pyodide.asm.wasm"
	PyodideStdlib = "python_stdlib.zip"
	PyodideLock   = "pyodide-lock.json"
)

// Pyodide returns a folder with the pinned Pyodide's files, fetching it from
// the npm registry if need be. An empty registry is the public one.
func (c *Cache) Pyodide(ctx context.Context, registry string, progress ProgressFunc) (dir string, err error) {
	dir, err = c.NPM(ctx, NPMPackage{
		Registry:  orDefault(registry),
		Name:      "pyodide",
		Version:   defaults.PyodideVersion,
		Integrity: defaults.PyodideIntegrity,
		Keep:      keepPyodide,
		Part:      "host",
	}, progress)
	if err != nil {
		return "", err
	}
	for _, name := range []string{PyodideWasm, PyodideStdlib, PyodideLock} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("look into Pyodide %s: %w", defaults.PyodideVersion, err)
		}
	}
	return dir, nil
}

// keepPyodide leaves out the JavaScript. What says whose work it is stays.
func keepPyodide(path string) bool {
	switch path {
	case PyodideWasm, PyodideStdlib, PyodideLock, "package.json", "README.md":
		return true
	}
	upper := strings.ToUpper(path)
	return strings.HasPrefix(upper, "LICEN") || strings.HasPrefix(upper, "NOTICE") || strings.HasPrefix(upper, "COPYING")
}

// ErrNoDeno is wrapped by the error for a system that the pinned Deno is not
// built for.
var ErrNoDeno = errors.New("no build for this system; hint: install Deno " + defaults.DenoOldest +
	" or later by other means and name it in CODE_RUNNER_DENO")

// Deno returns the path of the pinned Deno's executable for this system,
// fetching it from the npm registry if need be. An empty registry is the
// public one. Where there is none the error is [ErrNoDeno].
func (c *Cache) Deno(ctx context.Context, registry string, progress ProgressFunc) (binary string, err error) {
	system := runtime.GOOS + "/" + runtime.GOARCH
	build, ok := defaults.DenoIntegrity[system]
	if !ok {
		return "", fmt.Errorf("fetch Deno %s for %s: %w", defaults.DenoVersion, system, ErrNoDeno)
	}
	if loader, ok := glibcLoader[system]; ok {
		if _, err := os.Stat(loader); err != nil {
			return "", fmt.Errorf("fetch Deno %s for %s without glibc (there is no %s): %w", defaults.DenoVersion, system, loader, ErrNoDeno)
		}
	}
	name := "deno"
	if runtime.GOOS == "windows" {
		name = "deno.exe"
	}
	dir, err := c.NPM(ctx, NPMPackage{
		Registry:  orDefault(registry),
		Name:      build.Package,
		Version:   defaults.DenoVersion,
		Integrity: build.Integrity,
	}, progress)
	if err != nil {
		return "", err
	}
	binary = filepath.Join(dir, name)
	if _, err := os.Lstat(binary); err != nil {
		return "", fmt.Errorf("look into Deno %s: %w", defaults.DenoVersion, err)
	}
	return binary, nil
}

// glibcLoader is what the Deno builds for Linux name as their interpreter.
// Systems with musl do not have it.
var glibcLoader = map[string]string{
	"linux/amd64": "/lib64/ld-linux-x86-64.so.2",
	"linux/arm64": "/lib/ld-linux-aarch64.so.1",
}

func orDefault(registry string) string {
	if registry == "" {
		return defaults.NPMRegistry
	}
	return registry
}
