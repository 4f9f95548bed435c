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

	DenoVersion = "2.9.6"
	// DenoOldest is the oldest Deno that may be used instead.
	DenoOldest = "2.9.0"

	// MicropipVersion is the newest that PyPI has.
	MicropipVersion = "0.7.2"
)

// DenoIntegrity gives the npm package of the pinned Deno for GOOS/GOARCH and
// its SHA-512, as the npm registry states it.
var DenoIntegrity = map[string]struct{ Package, Integrity string }{}
