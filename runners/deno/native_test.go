package deno

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"coderunner/internal/sample"
	"coderunner/runners"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"
)

// TestMachineCode has messages of packages whose machine code cannot be loaded.
func TestMachineCode(t *testing.T) {
	const at = "/c/npm/r/"
	p := &install.Prepared{Packages: &process.Packages{Dirs: []string{at + "sqlite3/6.0.1", at + "canvas/3.2.3", at + "@img/sharp-linux-x64/0.35.5", at + "sharp/0.35.5", at + "@node-rs/bcrypt/2.0.0", at + "robotjs/0.9.1", at + "node-sass/9.0.0"}}}
	for _, tt := range []struct{ asked, message, traceback, want string }{
		{"sqlite3", "Could not locate the bindings file. Tried:\n → " + at + "sqlite3/6.0.1/build/a.node\n → " + at + "sqlite3/6.0.1/out/a.node", "    at main.js:1:11", "sqlite3 needs machine code that an install script fetches or compiles, and none is run here; node:sqlite"},
		{"canvas", "Cannot find module '../build/Release/canvas.node'\nRequire stack:\n- " + at + "canvas/3.2.3/lib/bindings.js\n- main.js", "", "canvas needs machine code that an install script fetches or compiles, and none is run here; jimp and SVG"},
		{"sharp", "Could not load the \"sharp\" module using the linux-x64 runtime\nRequires ffi access to \"" + at + "@img/sharp-linux-x64/0.35.5/lib/a.node\"", "", "sharp has machine code, which the permissions of this server do not include (--allow-ffi); jimp"},
		{"@node-rs/bcrypt", "Cannot find native binding. npm has a bug", "Caused by Error: Requires ffi access to \"" + at + "@node-rs/bcrypt/2.0.0/b.node\"", "@node-rs/bcrypt has machine code"},
		{"robotjs", `Requires ffi access to "` + at + `robotjs/0.9.1/prebuilds/x.node"; the permissions of this server do not include it (--allow-ffi)`, "    at main.js:1:11", "robotjs has machine code, which the permissions of this server do not include (--allow-ffi)"},
		{"node-sass", "Node Sass does not yet support your current environment: Linux\nFor more", "", "node-sass needs machine code"},
		{"knex", "Knex: run; x\n$ npm install better-sqlite3 --save\nCannot find module 'better-sqlite3'\nRequire stack:\n- " + at + "knex/3.3.0/a.js", "", "knex's client better-sqlite3 needs machine code, which is not installed here; node:sqlite"},
		{"sequelize", "Please install sqlite3 package manually; named", "    at main.js:1:11", "sqlite3 needs machine code, which is not installed here; node:sqlite does without"},
		{"pg", "Cannot find module 'pg-native'\nRequire stack:\n- main.js", "", "pg-native needs machine code, which is not installed here; pg does without"},
		{"x", "Cannot find module './x.node'\nRequire stack:\n- main.js", "", "Cannot find module './x.node'\n"},
		{"x", `Requires ffi access to "libc.so"`, "", `Requires ffi access to "libc.so"`},
	} {
		e := &runners.Error{Type: "Error", Message: tt.message, Traceback: "Error: " + tt.message + "\n" + tt.traceback}
		machineCode(p, e, &jsparse.Program{Imports: []jsparse.Import{{Specifier: tt.asked}}})
		if !strings.HasPrefix(e.Message, tt.want) || !strings.HasPrefix(e.Traceback, "Error: "+tt.want) {
			t.Errorf("%s: %+v, want %s", tt.message, e, tt.want)
		}
		if strings.Contains(tt.want, "machine code") && (strings.Contains(e.Message+e.Traceback, at) || strings.Contains(e.Message, "\n")) {
			t.Errorf("%s: %+v has paths", tt.message, e)
		}
	}
}

// TestNative has packages in a form that cannot be imported or used here.
// Their parts for other systems are of no matter, whether or not a registry has them.
func TestNative(t *testing.T) {
	r := open(t, "", nil)
	programs := map[string]string{
		`import "npm:vite@8"`:         `vite needs the machine code of rolldown, which the permissions of this server do not include (--allow-ffi); rollup and "vite@7"`,
		`import "npm:rolldown@1.3.2"`: "rolldown has machine code, which the permissions of this server do not include (--allow-ffi); rollup",
		`import { encode } from "npm:cbor-x@1.6.6"; throw Error("encoded " + encode([1]).length)`: "encoded 2",
		`import P from "npm:pouchdb@9"; P`: "pouchdb-core with the plugin pouchdb-adapter-memory",
		`import x from "node-xlsx"; throw Error(x.parse(x.build([{ name: "S", data: [[1]] }]))[0].name + " built")`: "S built",
		`require("npm:bcrypt@6").hashSync("a", 4)`:                       "bcrypt has machine code",
		`import { nope } from "lodash"; nope`:                            "does not provide an export named 'nope'",
		`import { chunk, debouce } from "lodash"; debouce(chunk([], 1))`: "does not provide an export named 'debouce'",
		`import { build } from "esbuild"; await build({ stdin: { contents: 'import "x"' }, bundle: true, write: false, logLevel: "silent" })`: "no node_modules",
		`require("child_process").execFileSync("/x/esbuild-wasm/1/bin/other", ["--version"])`:                                                 "--allow-run",
		`import "drizzle-orm/libsql"`: "@libsql has machine code",
	}
	for _, code := range sample.Of(t, 2, slices.Sorted(maps.Keys(programs))) {
		want := programs[code]
		if o := run(t, r, runners.Request{Code: code}); o.Status != runners.Failed || o.Error == nil || !strings.Contains(o.Error.Message, want) {
			t.Errorf("%s: %s %+v, want %s", code, o.Status, o.Error, want)
		} else if (strings.Contains(want, "provide an export") || strings.Contains(want, "libsql")) && o.Error.Line != 1 {
			t.Errorf("%s: line %d of\n%s", code, o.Error.Line, o.Error.Traceback)
		}
	}
}
