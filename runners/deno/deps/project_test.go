package deps

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"coderunner/runners"
	"coderunner/runners/deno/jsparse"
	frameworks "coderunner/runners/deno/testing"

	"golang.org/x/tools/txtar"
)

// files reads a project in txtar form.
func files(archive string) (list []runners.File) {
	for _, f := range txtar.Parse([]byte(archive)).Files {
		list = append(list, runners.File{Path: f.Name, Data: f.Data})
	}
	return list
}

// meaning returns what Deno makes of a specifier in a file, and a + if it is
// fetched.
func meaning(d Dependencies, spec, file string) string {
	address, ok := d.Map.lookup(spec, file)
	if !ok {
		address = spec
	}
	if why, ok := strings.CutPrefix(address, throwing); ok {
		text, _ := url.PathUnescape(why[:strings.Index(why, "),")])
		var message string
		_ = json.Unmarshal([]byte(text), &message)
		return "throw " + message
	}
	if m := frameworks.For(spec); m != nil && m.Address == address {
		return "ours"
	}
	if p, ok := Split(address); ok {
		address = p.String()
	}
	for _, t := range d.Targets {
		if t.Specifier == address {
			return address + " +"
		}
	}
	return address
}

// TestProject has what names mean in programs that bring something along. The
// import is the main program's unless a file is named.
func TestProject(t *testing.T) {
	for _, tt := range []struct{ name, files, want string }{
		{"files", `
-- utils.ts --
-- lib/index.js --
-- src/mathlib.ts --
-- src/use.ts --
-- data.json --
-- vendor/left-pad/package.json --
{"main": "./lib/pad"}
-- vendor/left-pad/lib/pad.js --
-- zod --
-- react.ts --
`, `
utils: ./work/utils.ts
utils.ts: ./work/utils.ts
main: npm:main +
react: ./work/react.ts
react.ts react: npm:react +
react.ts react/jsx: npm:react/jsx +
lib: ./work/lib/index.js
src/mathlib: ./work/src/mathlib.ts
src/use.ts mathlib: ./work/src/mathlib.ts
mathlib: npm:mathlib +
data.json: ./work/data.json
zod: npm:zod +
npm:utils: npm:utils
utils/x: npm:utils/x
`},
		{"import map", `
-- deno.json --
{
  // as Deno reads it
  "imports": {
    "zod": "npm:zod@^3.20", "@std/assert": "jsr:@std/assert@1", "lodash": "./own/lodash.ts", "@/": "./src/", "/": "./src/",
    "fs": "./own/fs.ts", "up": "../../etc/passwd", "abs": "/etc/passwd", "url": "file:///etc/passwd", "bare": "lodash@4", "far": "https://host.invalid/x.ts", "os2": "node:os",
    "./a.ts": "./b.ts",
  },
  "scopes": { "./src/": { "zod": "npm:zod@4" }, "https://host.invalid/": { "zod": "npm:other" } },
  /* no effect */ "permissions": {"default": {"read": true}}, "lock": "../x", "unstable": ["ffi"], "nodeModulesDir": "auto", "links": ["../y"], "tasks": {"zod": "rm"},
}
-- own/lodash.ts --
-- src/use.ts --
`, `
zod: npm:zod@^3.20 +
zod/v4: npm:zod@^3.20/v4 +
src/use.ts zod: npm:zod@4 +
@std/assert/equals: jsr:@std/assert@1/equals +
lodash: ./work/own/lodash.ts
lodash/fp: npm:lodash/fp +
@/x.ts: ./work/src/x.ts
/y.ts: ./work/src/y.ts
fs: ./work/own/fs.ts
up: throw up: the program's configuration maps it to "../../etc/passwd", which is neither a package nor one of its files
abs: throw abs: the program's configuration maps it to "/etc/passwd", which is neither a package nor one of its files
url: throw url: the program's configuration maps it to "file:///etc/passwd", which is neither a package nor one of its files
bare: throw bare: the program's configuration maps it to "lodash@4", which is neither a package nor one of its files
far: https://host.invalid/x.ts +
os2: node:os
./a.ts: ./a.ts
`},
		{"import map file", `
-- deno.jsonc --
{"importMap": "./maps/all.json"}
-- maps/all.json --
{"imports": {"a": "../a.ts", "b": "npm:b@1"}}
-- a.ts --
`, `
a: ./work/a.ts
b: npm:b@1 +
`},
		{"frameworks of tests", `
-- app/package.json --
{"devDependencies": {"vitest": "^3", "@jest/globals": "^30", "vite": "^6"}}
-- app/src/a.test.ts --
-- b.test.ts --
`, `
app/src/a.test.ts vitest: ours
app/src/a.test.ts @jest/globals: ours
app/src/a.test.ts vite: npm:vite@^6 +
b.test.ts vitest: ours
`},
		{"package.json", `
-- package.json --
{"name": "app", "exports": {".": "./main.ts", "./util/*": {"types": "./x.d.ts", "import": "./src/*.ts"}},
 "dependencies": {"zod": "^3.25.0", "lodash": ">=4.17 <5", "react": "17 || 18", "any": "*", "new": ">=2", "tag": "next", "alias": "npm:left-pad@1", "std": "jsr:@std/assert@1", "local": "file:./vendor/local",
  "git": "git+https://host.invalid/x.git", "hub": "user/repo", "below": "<2", "outside": "file:../../x"},
 "devDependencies": {"zod": "4", "vite": "1.x"},
 "imports": {"#db": {"node": "./src/db.ts"}, "#lib/*": "./src/*.ts", "#dep": "zod", "#dir/*": "./src/*"},
 "scripts": {"postinstall": "rm -rf /"}}
-- vendor/local/index.js --
-- src/db.ts --
`, `
zod: npm:zod@^3.25.0 +
lodash/fp: npm:lodash@^4.17/fp +
react: npm:react@18 +
any: npm:any@* +
new: npm:new@* +
tag: npm:tag@next +
alias: npm:left-pad@1 +
std: jsr:@std/assert@1 +
local: ./work/vendor/local/index.js
git: throw git: package.json asks for it as "git+https://host.invalid/x.git"; write a version of npm's registry, such as ^1.2.3, or a directory among the files
hub/x: throw hub: package.json asks for it as "user/repo"; write a version of npm's registry, such as ^1.2.3, or a directory among the files
below: npm:below +
outside: throw outside: package.json asks for it as "file:../../x"; write a version of npm's registry, such as ^1.2.3, or a directory among the files
vite: npm:vite@1.x +
app: ./work/main.ts
app/util/a: ./work/src/a.ts
app/none: throw app/none: the package is the program's own, in ., and does not export it
#db: ./work/src/db.ts
#lib/a: ./work/src/a.ts
#dir/a.ts: ./work/src/a.ts
#dep: npm:zod@^3.25.0 +
other: npm:other +
`},
		{"workspaces", `
-- package.json --
{"name": "zod", "workspaces": ["packages/*"], "dependencies": {"left-pad": "1"}}
-- packages/lodash/package.json --
{"name": "lodash", "main": "src/main.js", "dependencies": {"left-pad": "2", "b": "workspace:*"}}
-- packages/lodash/src/main.js --
-- packages/b/deno.json --
{"name": "b", "exports": {".": "./mod.ts", "./sub": "./sub.ts"}, "imports": {"zod": "npm:zod@3"}}
-- packages/b/mod.ts --
-- packages/b/sub.ts --
`, `
lodash: ./work/packages/lodash/src/main.js
lodash/src/main: ./work/packages/lodash/src/main.js
b/sub: ./work/packages/b/sub.ts
left-pad: npm:left-pad@1 +
packages/lodash/src/main.js left-pad: npm:left-pad@2 +
packages/lodash/src/main.js b: ./work/packages/b/mod.ts
packages/b/mod.ts zod: npm:zod@3 +
zod: npm:zod +
`},
		{"node_modules", `
-- node_modules/zod/package.json --
{"name": "zod", "exports": {".": {"import": "./i.mjs", "require": "./r.cjs"}}, "dependencies": {"deep": "1"}}
-- node_modules/zod/i.mjs --
-- node_modules/@a/b/index.js --
-- node_modules/lodash/lodash.js --
-- node_modules/lodash/package.json --
{"main": "lodash.js"}
-- node_modules/lodash/fp.js --
`, `
zod: ./work/node_modules/zod/i.mjs
@a/b: ./work/node_modules/@a/b/index.js
lodash/fp: ./work/node_modules/lodash/fp.js
deep: npm:deep +
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ReadProject(files(tt.files), "main.ts")
			if err != nil {
				t.Fatal(err)
			}
			modules := []Module{module("main.ts")}
			ask := func(line string) (file, spec string) {
				what, _, _ := strings.Cut(line, ": ")
				if file, spec, ok := strings.Cut(what, " "); ok {
					return file, spec
				}
				return "main.ts", what
			}
			lines := strings.Split(strings.TrimSpace(tt.want), "\n")
			for _, line := range lines {
				file, spec := ask(line)
				modules = append(modules, module(file, jsparse.Import{Specifier: spec}))
			}
			d, err := Resolve(modules, p, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines {
				file, spec := ask(line)
				if got, _, _ := strings.Cut(line, ": "); got+": "+meaning(d, spec, file) != line {
					t.Errorf("got  %s: %s\nwant %s", got, meaning(d, spec, file), line)
				}
			}
		})
	}
}

func TestProjectRefused(t *testing.T) {
	var many strings.Builder
	for i := range maxEntries + 1 {
		fmt.Fprintf(&many, `%q: "1",`, fmt.Sprint("p", i))
	}
	for archive, want := range map[string]string{
		"-- deno.json --\n{":                                              `"files" has deno.json, but it is not a JSON object`,
		"-- package.json --\n[]":                                          `"files" has package.json, but it is not a JSON object`,
		"-- deno.json --\n{\"importMap\": \"./x.json\"}":                  "its import map x.json is not among the files",
		"-- package.json --\n{\"dependencies\": {" + many.String() + "}}": "more than 5000 entries",
	} {
		_, err := ReadProject(files(archive), "main.ts")
		var refused *runners.RequestError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", archive, err, want)
		}
	}
}

// TestNeeded has which packages keep a program from being loaded.
func TestNeeded(t *testing.T) {
	p, err := ReadProject(files("-- a.ts --\n-- b.ts --\n-- c.ts --\n-- deno.json --\n{\"imports\": {\"own\": \"./b.ts\", \"bad\": \"/x\"}}"), "main.ts")
	if err != nil {
		t.Fatal(err)
	}
	static := func(s string) jsparse.Import { return jsparse.Import{Specifier: s, Static: true} }
	d, err := Resolve([]Module{
		module("main.ts", static("./a"), static("in-main"), jsparse.Import{Specifier: "dynamic"}, jsparse.Import{Specifier: "./c.ts"}, static("bad")),
		module("a.ts", static("own"), static("in-a")),
		module("b.ts", static("in-b"), static("./a.js")),
		module("c.ts", static("in-c"), static("dynamic")),
	}, p, []Package{{Registry: "npm", Name: "pinned"}})
	if err != nil {
		t.Fatal(err)
	}
	var needed, other []string
	for _, x := range d.Targets {
		if x.Needed {
			needed = append(needed, x.Asked)
		} else {
			other = append(other, x.Asked)
		}
	}
	if fmt.Sprint(needed, other) != "[in-a in-b in-main npm:pinned] [dynamic in-c]" || len(d.Broken) != 1 || d.Broken[0].Target.Asked != "bad" {
		t.Errorf("needed %q, others %q, broken %+v", needed, other, d.Broken)
	}
	all := make([]Failure, len(d.Targets))
	for i, x := range d.Targets {
		all[i] = Failure{x, "gone"}
	}
	rest := d.Without(all)
	if len(rest.Targets) != 0 || len(rest.Broken) != 5 || len(rest.Missing) != 2 {
		t.Errorf("without all: %+v", rest)
	}
	if got := meaning(rest, "dynamic", "main.ts"); got != "throw dynamic: gone" || meaning(d, "dynamic", "main.ts") != "npm:dynamic +" {
		t.Errorf("dynamic is %s, and was %s", got, meaning(d, "dynamic", "main.ts"))
	}
}

func TestTooManyTargets(t *testing.T) {
	var modules []Module
	for i := range maxTargets + 1 {
		modules = append(modules, module(fmt.Sprint("f", i, ".ts"), jsparse.Import{Specifier: fmt.Sprint("p", i)}))
	}
	p, err := ReadProject(nil, "main.ts")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Resolve(modules, p, nil); err == nil || !strings.Contains(err.Error(), "more than 500 packages") {
		t.Errorf("%d packages: %v", len(modules), err)
	}
	if _, err := Resolve(modules[1:], p, nil); err != nil {
		t.Errorf("%d packages: %v", maxTargets, err)
	}
}

// FuzzProject wants that no configuration leads out of the working directory.
func FuzzProject(f *testing.F) {
	f.Add(`{"imports": {"a": "./a.ts", "b/": "../b/"}, "scopes": {"./x/": {"a": "npm:a@1"}}, // c
	}`, `{"name": "x", "exports": {"./*": "./src/*.ts"}, "imports": {"#*": "./*"}, "dependencies": {"a": "file:../x", "b": ">=1 <2"}}`, "a/b")
	f.Fuzz(func(t *testing.T, deno, pkg, spec string) {
		p, err := ReadProject([]runners.File{{Path: "d/deno.json", Data: []byte(deno)}, {Path: "package.json", Data: []byte(pkg)}, {Path: "d/a.ts"}}, "main.ts")
		if err != nil {
			return
		}
		d, err := Resolve([]Module{module("d/a.ts", jsparse.Import{Specifier: spec}), module("main.ts", jsparse.Import{Specifier: spec})}, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		check := func(entries map[string]string) {
			for key, address := range entries {
				if name, ok := strings.CutPrefix(address, Work); ok && (strings.HasPrefix(name, "../") || strings.Contains(name, "/../")) ||
					strings.HasPrefix(address, "/") || strings.HasPrefix(address, "file:") || strings.HasPrefix(key, "/") && !strings.HasPrefix(spec, "/") {
					t.Errorf("%q is %q", key, address)
				}
			}
		}
		check(d.Map.Imports)
		for _, entries := range d.Map.Scopes {
			check(entries)
		}
	})
}
