// Package defaults holds what the program must know of the outside world: the
// registries it asks when the environment names none, and the pinned runtimes.
// Nothing else in the tree names a host or pins a version.
package defaults

// The registries, each replaced by the variable that its ecosystem uses.
const (
	NPMRegistry        = "https://registry.npmjs.org/"                                    // NPM_CONFIG_REGISTRY
	PyPIIndex          = "https://pypi.org/simple/"                                       // PIP_INDEX_URL
	PyodidePackageBase = "https://cdn.jsdelivr.net/pyodide/v" + PyodideVersion + "/full/" // PYODIDE_PACKAGE_BASE_URL
)

// The runtimes.
const (
	PyodideVersion   = "314.0.7"
	PyodideIntegrity = "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
	CPythonVersion   = "3.14.2" // what that Pyodide is built of

	DenoVersion = "2.9.6"
	// DenoOldest is the oldest Deno that may be used instead.
	DenoOldest = "2.9.0"

	// MicropipVersion is the newest that PyPI has.
	MicropipVersion = "0.7.2"
	MicropipWheel   = "micropip-" + MicropipVersion + "-py3-none-any.whl"
	MicropipSHA256  = "d2b63ea316a2a9dcbfeadd4f855d8cec7d54f65b3849e638a7cc627e6d35e4d5"

	// PackagingVersion is of the library that micropip parses versions with.
	PackagingVersion = "26.3"
	PackagingWheel   = "packaging-" + PackagingVersion + "-py3-none-any.whl"
	PackagingSHA256  = "d7193f7c8e4e93f444fde0262bf90af30e16fa0ad0ad44cb553c87339b23cd1c"
)

// DenoIntegrity gives, by GOOS/GOARCH, the npm package of the pinned Deno and
// its SHA-512 as the npm registry states it. A system that is missing here has
// no pinned Deno: its users name one in CODE_RUNNER_DENO. The packages
// @deno/linux-arm64-glibc, @deno/darwin-x64, @deno/darwin-arm64,
// @deno/win32-x64 and @deno/win32-arm64 exist upstream; add them when their
// integrity for this version has been read from a registry.
var DenoIntegrity = map[string]struct{ Package, Integrity string }{
	"linux/amd64": {
		Package:   "@deno/linux-x64-glibc",
		Integrity: "sha512-3md4TKLCuzsLDmfOoC5KN7NAZaxSVkMgm64vg6foD00JBADCpYS2/5QqXfzgnP5ZQz3iLP9vBQJtEgc116OAoQ==",
	},
}
