package explain

import (
	"strings"
	"testing"

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
		Program{Program: &jsparse.Program{Imports: []jsparse.Import{{Specifier: tt.asked}}}, Ready: p}.machineCode(e)
		if !strings.HasPrefix(e.Message, tt.want) || !strings.HasPrefix(e.Traceback, "Error: "+tt.want) {
			t.Errorf("%s: %+v, want %s", tt.message, e, tt.want)
		}
		if strings.Contains(tt.want, "machine code") && (strings.Contains(e.Message+e.Traceback, at) || strings.Contains(e.Message, "\n")) {
			t.Errorf("%s: %+v has paths", tt.message, e)
		}
	}
}
