// Package versions pins what the program needs from the outside world: the runtimes by
// version and digest, and the registries that are asked when the environment names none.
// Nothing else in the tree names a host or pins a version.
package versions

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
	CPythonVersion   = "3.14.2"      // what that Pyodide is built of
	BytecodeTag      = "cpython-314" // in the names of its bytecode: sys.implementation.cache_tag

	// DenoVersion is the newest that all of these systems have a build of.
	DenoVersion = "2.9.5"
	// DenoOldest is the oldest Deno that may be used instead.
	DenoOldest = "2.9.0"
)

// denoBuilds is, by GOOS/GOARCH, the npm package of the pinned Deno and its
// SHA-512 as the npm registry states it. A system that is missing here has
// no pinned Deno: its users name one in CODE_RUNNER_DENO.
var denoBuilds = map[string]struct{ Package, Integrity string }{
	"linux/amd64": {
		Package:   "@deno/linux-x64-glibc",
		Integrity: "sha512-TDqcnoLe3jlgqYEQm7H7MK6q0JOth+o8iSZzknRODnVkJfPiNnjVn1M1Zc6vnp+ipkyb6Av1/CUlHgHtlq59Gw==",
	},
	"linux/arm64": {
		Package:   "@deno/linux-arm64-glibc",
		Integrity: "sha512-IuYjsz9PGl7CJcNXMuN27KNDB8Q40brK3SG3l+TXMDVW61ZKwcn0fQHBHnXFiiygEwI8by/fKnASEluhZB1atw==",
	},
	"darwin/amd64": {
		Package:   "@deno/darwin-x64",
		Integrity: "sha512-gbdlxWZuAZFiJiZtTT00Mv/aC7f/31+pyqJGQKlZr5X33WeTo5B0GG+efcX3P1UZceRKHuPEAQ1B/M2oRt8r9Q==",
	},
	"darwin/arm64": {
		Package:   "@deno/darwin-arm64",
		Integrity: "sha512-SX98qSdBT1lw9x6NwGwx2xIayl1kRimdRnFohYlJ6nt3mLKzTKHHKQwQs5D2pEY7mbUGGbYe9brM2kfN75pPkg==",
	},
	"windows/amd64": {
		Package:   "@deno/win32-x64",
		Integrity: "sha512-LkcERsH0olOgevg9L9eootSr1U8ydyfnX1bS3mFqU+lGBeTYtlec5b/QF473WUOGVgPlWECrkxi4As5kEaFOzg==",
	},
	"windows/arm64": {
		Package:   "@deno/win32-arm64",
		Integrity: "sha512-tTPrE/4SX7uaC8nJW47iNnibtjzk1y4zoiYjBBHE34vdkbb6LHopqH68BxyT61HZdfqXzOTEYjDVHhtmVZFy+w==",
	},
}
