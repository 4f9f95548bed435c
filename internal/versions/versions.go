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
	DenoVersion = "2.9.6"
	// DenoOldest is the oldest Deno that may be used instead.
	DenoOldest = "2.9.0"
)

// denoBuilds is, by GOOS/GOARCH, the npm package of the pinned Deno and its
// SHA-512 as the npm registry states it. A system that is missing here has
// no pinned Deno: its users name one in CODE_RUNNER_DENO.
var denoBuilds = map[string]struct{ Package, Integrity string }{
	"linux/amd64": {
		Package:   "@deno/linux-x64-glibc",
		Integrity: "sha512-3md4TKLCuzsLDmfOoC5KN7NAZaxSVkMgm64vg6foD00JBADCpYS2/5QqXfzgnP5ZQz3iLP9vBQJtEgc116OAoQ==",
	},
	"linux/arm64": {
		Package:   "@deno/linux-arm64-glibc",
		Integrity: "sha512-poqhoH9B3nYloigEMPT5t8HY+wBeiuea1An5Q7fqgJzP0SYmWsoS/oUnWO/pEiA4ofzIBy1Elt/in58xKtxEoQ==",
	},
	"darwin/amd64": {
		Package:   "@deno/darwin-x64",
		Integrity: "sha512-tPi3CWPRdjW1MaWlvWjORE7Ass5SADdWdj1BF1Q1PEdzi+5u/mC5YhmZzniMiPr81PpaFeqjXaLAsfb8lFsZ0Q==",
	},
	"darwin/arm64": {
		Package:   "@deno/darwin-arm64",
		Integrity: "sha512-V8uO1Aolrl/yvdMb5lOtgtigs8YuZBjrOrgviVMiYkQ0swymFfzkae1wZak4Xi24t7vf7d/eiMb/7ryjjVm+tg==",
	},
	"windows/amd64": {
		Package:   "@deno/win32-x64",
		Integrity: "sha512-qRGnmVz/Ea6UWPht/S3xFRK17UZ/ls38DSVfgGB17fpASLxPkksqzWUI/BzL9YYoOknYzfc94mySGyInZu/JXw==",
	},
	"windows/arm64": {
		Package:   "@deno/win32-arm64",
		Integrity: "sha512-iHSHs89g2Uy6k0bGHmXkgzTIW8WXImYPpvqRRO/zNsK1/N79PcjvAth1TuQatuIALcLdocstPs/PAYtndbfr0A==",
	},
}
