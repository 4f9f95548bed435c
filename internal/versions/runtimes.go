package versions

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"coderunner/internal/fetch"
)

// The files of Pyodide that a host without JavaScript needs, as upstream
// names them.
const (
	PyodideWasm   = "pyodide.asm.wasm"
	PyodideStdlib = "python_stdlib.zip"
	PyodideLock   = "pyodide-lock.json"
)

// Pyodide returns the npm package of the pinned Pyodide, without its
// JavaScript. An empty registry is the public one.
func Pyodide(registry string) fetch.NPMPackage {
	return fetch.NPMPackage{
		Registry:  orDefault(registry),
		Name:      "pyodide",
		Version:   PyodideVersion,
		Integrity: PyodideIntegrity,
		Keep:      keepPyodide,
		Part:      "host",
	}
}

// keepPyodide leaves out the JavaScript. The licences stay.
func keepPyodide(path string) bool {
	switch path {
	case PyodideWasm, PyodideStdlib, PyodideLock, "package.json", "README.md":
		return true
	}
	upper := strings.ToUpper(path)
	return strings.HasPrefix(upper, "LICEN") || strings.HasPrefix(upper, "NOTICE") || strings.HasPrefix(upper, "COPYING")
}

// errNoDeno is wrapped by the error for a system that the pinned Deno is not
// built for.
var errNoDeno = errors.New("no build for this system; hint: install Deno " + DenoOldest +
	" or later by other means and name it in CODE_RUNNER_DENO")

// Deno returns the npm package of the pinned Deno for this system, and the name
// of the executable in it. An empty registry is the public one. Where there is
// no build the error is errNoDeno.
func Deno(registry string) (p fetch.NPMPackage, executable string, err error) {
	system := runtime.GOOS + "/" + runtime.GOARCH
	build, ok := denoBuilds[system]
	if !ok {
		return p, "", fmt.Errorf("fetch Deno %s for %s: %w", DenoVersion, system, errNoDeno)
	}
	if loader, ok := glibcLoader[system]; ok {
		if _, err := os.Stat(loader); err != nil {
			return p, "", fmt.Errorf("fetch Deno %s for %s without glibc (there is no %s): %w", DenoVersion, system, loader, errNoDeno)
		}
	}
	executable = "deno"
	if runtime.GOOS == "windows" {
		executable = "deno.exe"
	}
	return fetch.NPMPackage{
		Registry:  orDefault(registry),
		Name:      build.Package,
		Version:   DenoVersion,
		Integrity: build.Integrity,
	}, executable, nil
}

// glibcLoader is what the Deno builds for Linux name as their interpreter.
// Systems with musl do not have it.
var glibcLoader = map[string]string{
	"linux/amd64": "/lib64/ld-linux-x86-64.so.2",
	"linux/arm64": "/lib/ld-linux-aarch64.so.1",
}

func orDefault(registry string) string {
	if registry == "" {
		return NPMRegistry
	}
	return registry
}
