//go:build unix

package deno

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coderunner/runners"
	"coderunner/runners/runnertest"

	"golang.org/x/tools/txtar"
)

// TestOwnNames has programs whose names a stranger has taken in the registry.
// The file without a name is the program; want are its result and the packages
// that are installed.
func TestOwnNames(t *testing.T) {
	r := openParked(t, 1)
	for _, tt := range []struct{ name, files, result, packages string }{
		{"a file", `
import { who } from "utils";
import lib from "lib/lodash";
[who, lib]
-- utils.ts --
export const who = "mine";
-- lib/lodash.js --
export default "mine, too";
`, `[ "mine", "mine, too" ]`, ""},
		{"required", `
const { who } = require("utils");
who
-- utils.ts --
export const who = "mine";
`, `"mine"`, ""},
		{"import map", `
import zod, { z } from "zod";
import { v } from "@/deep/v.ts";
import { is } from "odd";
[zod, z, v, is(3), typeof (await import("far/zod.js")).default]
-- deno.json --
{ // mine
  "imports": {"zod": "./mine/zod.ts", "@/": "./mine/", "odd": "npm:is-odd@3.0.1", "far/": "./mine/"}, "permissions": {"default": {"net": true, "read": true}}, "tasks": {"x": "y"}}
-- mine/zod.ts --
export default 1; export const z = 2;
-- mine/zod.js --
export default 1;
-- mine/deep/v.ts --
import * as lodash from "odd";
export const v = typeof lodash.default;
export const is = lodash.default;
-- unused.ts --
`, "", ""},
		{"package.json", `
import { is } from "#lib/is";
import { app } from "lodash";
[is(3), app]
-- package.json --
{"name": "lodash", "exports": "./app.ts", "dependencies": {"is-odd": "^3.0.0", "never-imported-and-not-there-zq": "1"}, "imports": {"#lib/*": "./src/*.ts"}, "scripts": {"postinstall": "false"}}
-- app.ts --
export const app = "mine";
-- src/is.ts --
import isOdd from "is-odd"; export const is = isOdd;
`, `[ true, "mine" ]`, "is-number@6.0.0 is-odd@3.0.1"},
		{"workspace", `
import a from "zod";
a
-- package.json --
{"workspaces": ["packages/*"]}
-- packages/a/package.json --
{"name": "zod", "main": "./index.js"}
-- packages/a/index.js --
export default "mine";
`, `"mine"`, ""},
		{"compiler options", `
function d(...args: unknown[]) { console.log(args.length) }
class A { @d m() {} }
1
-- deno.json --
{"compilerOptions": {"experimentalDecorators": true, "emitDecoratorMetadata": true, "paths": {"a": ["/etc/passwd"]}}}
`, "1", ""},
		{"nobody imports it", `
console.log("runs"); 2
-- other.ts --
import "coderunner-no-such-package-zq";
`, "2", ""},
		{"caught", `
let said;
try { await import("coderunner-no-such-package-zq/x") } catch (e) { said = e.message }
try { require("coderunner-no-such-package-zq") } catch (e) { said += " " + e.code }
said
`, `"coderunner-no-such-package-zq/x: not found in the npm registry MODULE_NOT_FOUND"`, ""},
		{"types only", `
import type { A } from "coderunner-no-such-package-zq";
const a: A = 1; a
`, "1", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			archive := txtar.Parse([]byte(tt.files))
			req := runners.Request{Code: string(archive.Comment)}
			for _, f := range archive.Files {
				req.Files = append(req.Files, runners.File{Path: f.Name, Data: f.Data})
			}
			if tt.name == "import map" {
				req.Code = strings.Replace(req.Code, `import { is } from "odd";`, `import is from "odd";`, 1)
				tt.result, tt.packages = `[ 1, 2, "function", true, "number" ]`, "is-number@6.0.0 is-odd@3.0.1"
			}
			for range 2 {
				o := run(t, r, req)
				if o.Result == nil || o.Result.Text != tt.result {
					t.Fatalf("result %+v, want %s; %s %+v\n%s", o.Result, tt.result, o.Status, o.Error, o.Stderr)
				}
				var names []string
				for _, p := range o.Packages {
					names = append(names, p.Name+"@"+p.Version)
				}
				if got := strings.Join(names, " "); got != tt.packages {
					t.Errorf("packages %s, want %s", got, tt.packages)
				}
			}
		})
	}
}

// TestConfigurationGrantsNothing has a configuration that asks for more than the
// policy allows.
func TestConfigurationGrantsNothing(t *testing.T) {
	r := open(t, "", nil)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cr3t"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := `{"imports": {"a": "` + secret + `", "b": "file://` + secret + `", "c/": "../../../", "d": "https://host.invalid/x.ts", "/": "/", "file:///": "./"},
		"permissions": {"default": {"read": true, "net": true, "env": true, "run": true}}, "unstable": ["ffi"], "nodeModulesDir": "auto", "vendor": true, "lock": "` + secret + `", "links": ["../.."]}`
	for _, code := range []string{
		`import x from "a" with { type: "text" }; x`, `(await import("b", { with: { type: "text" } })).default`,
		`(await import("c/secret", { with: { type: "text" } })).default`, `import "d"; 1`, `Deno.readTextFileSync("` + secret + `")`,
		`(await import("` + secret + `", { with: { type: "text" } })).default`,
	} {
		o := run(t, r, runners.Request{Code: code, Files: []runners.File{{Path: "deno.json", Data: []byte(config)}}})
		if all := fmt.Sprint(o, o.Result, o.Error); strings.Contains(all, "s3cr3t") || o.Status == runners.Succeeded && !strings.Contains(all, "the program's configuration maps it to") {
			t.Errorf("%s: %s", code, all)
		}
	}
}

// TestOnlyItsPackages wants that a program reads the packages that its lock
// names, and cannot list or read others.
func TestOnlyItsPackages(t *testing.T) {
	r := open(t, "", nil)
	run(t, r, runners.Request{Code: "import 'npm:is-odd@3.0.1'"})
	code := `import { z } from "npm:zod@3.25.76";
const npm = "` + filepath.Join(r.DenoDir, "npm") + `", found: string[] = [];
const walk = (dir: string) => { for (const e of Deno.readDirSync(dir)) { found.push(dir + "/" + e.name); if (e.isDirectory) walk(dir + "/" + e.name) } };
for (const what of [npm, npm + "/registry.npmjs.org", npm + "/registry.npmjs.org/is-odd/3.0.1"]) try { walk(what) } catch {}
try { found.push(Deno.readTextFileSync(npm + "/registry.npmjs.org/is-odd/3.0.1/index.js")) } catch {}
walk(npm + "/registry.npmjs.org/zod/3.25.76");
[z.string().parse("x"), found.length > 10, found.filter((f) => !f.includes("/zod/3.25.76"))]`
	if o := run(t, r, runners.Request{Code: code}); o.Result == nil || o.Result.Text != `[ "x", true, [] ]` {
		t.Errorf("result %+v, %s %+v", o.Result, o.Status, o.Error)
	}
}

// TestManyImports has files that import more than a program may, and wants an
// answer soon.
func TestManyImports(t *testing.T) {
	r := open(t, "", nil)
	var b strings.Builder
	for i := range 60_000 {
		b.WriteString("import('coderunner-p" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + string(rune('a'+i/17576)) + "');")
	}
	begun := runnertest.ProcessorTime(t)
	_, err := r.Run(t.Context(), runners.Request{Language: runners.TypeScript, Code: "1", Files: []runners.File{{Path: "a.ts", Data: []byte(b.String())}}})
	if _, ok := err.(*runners.RequestError); !ok || !strings.Contains(err.Error(), "more than 500 packages") {
		t.Errorf("60,000 imports: %v", err)
	}
	if took := runnertest.ProcessorTime(t) - begun; took > 2*time.Second {
		t.Errorf("it took %v of processor time", took)
	}
}
