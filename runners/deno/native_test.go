package deno

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"coderunner/internal/sample"
	"coderunner/runners"
)

// TestNative has packages in a form that cannot be imported or used here.
// Their parts for other systems are of no matter, whether or not a registry has them.
func TestNative(t *testing.T) {
	r := open(t, "", nil)
	programs := map[string]string{
		`import "npm:vite@8.3.8"`:     `vite needs the machine code of rolldown, which the permissions of this server do not include (--allow-ffi); rollup and "vite@7"`,
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
