// Package standins has stand-ins for npm packages that have machine code or start a program,
// and for what packages expect of Node and Deno lacks: a directory each, and a row of the
// table.
//
// It is JavaScript, a part of the bootstrap of package deno for processes with packages. Which
// of it a process needs follows from the packages that are installed and from the policy, so
// it is in place before there is a program.
package standins

import (
	"embed"
	"net/url"

	"coderunner/runners"
)

// standIn is a row: what stands for a package.
type standIn struct {
	name string // of the package, by which the bootstrap knows it
	// instead reports whether the policy leaves the package its own way. It may be nil.
	instead func(p runners.Policy) bool
	why     string
}

var standIns = []standIn{
	{"@img/sharp-wasm32", nil, "sharp looks for its WebAssembly only where it is told"},
	{"@mswjs/interceptors", nil, "it replaces sockets of Node, which Deno's fetch does not use"},
	{"adm-zip", nil, "it makes each directory above the working directory that it cannot see"},
	{"better-sqlite3", allowsCode, "machine code; node:sqlite does the same"},
	{"esbuild-wasm", allowsPrograms, "it starts a Node to run its WebAssembly in"},
	{"prettier", nil, "it looks for plugins in node_modules"},
	{"sqlite3", allowsCode, "machine code; node:sqlite does the same"},
}

func allowsCode(p runners.Policy) bool     { return p.FFI.Any() }
func allowsPrograms(p runners.Policy) bool { return p.Run.Any() }

// For returns the names of the packages for which something stands, of those that has reports.
func For(p runners.Policy, has func(name string) bool) (names []string) {
	for _, s := range standIns {
		if (s.instead == nil || !s.instead(p)) && has(s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

//go:embed */*.js standins.js
var files embed.FS

// sources are the parts of the bootstrap, in order.
var sources = []string{"adm-zip/above.js", "better-sqlite3/addon.js", "esbuild-wasm/process.js", "msw/fetch.js", "prettier/plugins.js", "sharp/wasm.js", "standins.js"}

// Sources returns the JavaScript of all stand-ins but for sqlite3's module.
func Sources() (texts [][]byte) {
	for _, name := range sources {
		texts = append(texts, read(name))
	}
	return texts
}

// SQLite3 returns the address of the module that stands for sqlite3's machine code.
func SQLite3() string {
	return "data:text/javascript," + url.PathEscape(string(read("sqlite3/addon.js")))
}

func read(name string) []byte {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return text
}
