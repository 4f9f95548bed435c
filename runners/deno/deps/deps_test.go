package deps

import (
	"fmt"
	"strings"
	"testing"

	"coderunner/runners"
	"coderunner/runners/deno/jsparse"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	for spec, want := range map[string]string{
		"zod": "npm:zod", "zod@3": "npm:zod@3", "zod/v4": "npm:zod/v4", "npm:zod@^3.1/v4/x.js": "npm:zod@^3.1/v4/x.js",
		"@a/b": "npm:@a/b", "@a/b@1.0.0-rc.1": "npm:@a/b@1.0.0-rc.1", "npm:@a/b/c": "npm:@a/b/c", "npm:/zod@3": "npm:zod@3", "npm:/zod@3/": "npm:zod@3",
		"jsr:@std/assert@1/equals": "jsr:@std/assert@1/equals", "NPM:x": "npm:x", "x@latest": "npm:x@latest", "lodash.merge": "npm:lodash.merge",
	} {
		if p, ok := Split(spec); !ok || p.String() != want {
			t.Errorf("Split(%s) = %v, %v, want %s", spec, p, ok, want)
		}
	}
	for _, spec := range []string{"", "@", "@a", "@a/", "/", ".", "..", "./x", "../x", "/etc/passwd", "npm:", "npm:@a", "npm:x@", "npm:x@file:../y", "x@1 2",
		"jsr:std", "git:x", "https://a/b", "a b", "a\nb", "x/../../y/..", "-", "--x", "#x", "~", "x@1\"", "pydantic>=2", "x//y", "x/../y\x00", "é"} {
		if p, ok := Split(spec); ok && spec != "x/../../y/.." && spec != "~" {
			t.Errorf("Split(%q) = %v, want nothing", spec, p)
		}
	}
}

// module returns a file with imports.
func module(path string, imports ...jsparse.Import) Module {
	return Module{Path: path, Program: &jsparse.Program{Imports: imports}}
}

// resolveAll resolves the static imports of main.ts among files.
func resolveAll(t *testing.T, files []runners.File, specs []string, pins []Package) Dependencies {
	t.Helper()
	p, err := ReadProject(files, "main.ts")
	if err != nil {
		t.Fatal(err)
	}
	m := module("main.ts")
	for _, s := range specs {
		m.Imports = append(m.Imports, jsparse.Import{Specifier: s, Static: true})
	}
	d, err := Resolve([]Module{m}, p, pins)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCompanions has packages that nothing imports, and some that others stand for.
func TestCompanions(t *testing.T) {
	for _, tt := range []struct {
		source, imports, want string
		native                bool
	}{
		{`presets: ["@babel/preset-env", 'babel-plugin-x', "./@babel/preset-y"]`, "npm:@babel/core@7", "npm:@babel/core@7 npm:@babel/preset-env npm:babel-plugin-x", false},
		{`app.set("view engine", "pug")`, "express", "npm:express npm:pug", false},
		{`app.set("view engine", "pug")`, "lodash", "npm:lodash", false},
		{`await NestFactory.create(App)`, "@nestjs/core", "npm:@nestjs/core npm:@nestjs/platform-express", false},
		{`app.useGlobalPipes(new ValidationPipe())`, "@nestjs/common", "npm:@nestjs/common npm:class-transformer npm:class-validator", false},
		{``, "typescript", "npm:typescript@6", false},
		{``, "js-yaml", "npm:js-yaml@4", false},
		{``, "msw/node", "npm:msw@2/node", false},
		{``, "npm:typescript@5", "npm:typescript@5", false},
		{``, "tsup", "npm:tsup npm:typescript@6", false},
		{``, "bcrypt", "npm:bcryptjs", false},
		{``, "bcrypt", "npm:bcrypt", true},
		{``, "rollup/parseAst", "npm:@rollup/wasm-node/parseAst", false},
		{``, "npm:rollup@^3.2", "npm:rollup@^3.2", false},
		{``, "npm:rollup@4", "npm:@rollup/wasm-node@4", false},
		{``, "npm:rollup@4", "npm:rollup@4", true},
		{``, "npm:bcrypt@5", "npm:bcrypt@5", false},
		{``, "npm:esbuild@latest", "npm:esbuild-wasm@latest", false},
		{``, "esbuild", "npm:esbuild-wasm", true}, // a program of its own
		{``, "lightningcss", "npm:lightningcss-wasm", false},
		{``, "vite", "npm:vite@7", false},
		{``, "vite", "npm:vite", true},
	} {
		p, err := ReadProject(nil, "main.ts")
		if err != nil {
			t.Fatal(err)
		}
		p.Native = tt.native
		m := module("main.ts", jsparse.Import{Specifier: tt.imports, Static: true})
		m.Source = tt.source
		d, err := Resolve([]Module{m}, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range d.Targets {
			got = append(got, x.Specifier)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s, %s, native %t: %s, want %s", tt.imports, tt.source, tt.native, got, tt.want)
		}
	}
}

func TestResolve(t *testing.T) {
	pins, err := ParsePackages([]string{"npm:zod@3", "jsr:@std/assert@1", "left-pad"})
	if err != nil {
		t.Fatal(err)
	}
	specs := []string{"zod/v4", "npm:zod", "npm:zod@4", "@std/assert", "fs", "node:os", "./x.ts", "lodash", "https://host.invalid/x.json", "weird name"}
	d := resolveAll(t, nil, specs, pins)
	var got []string
	for _, x := range d.Targets {
		got = append(got, x.Specifier+" "+x.Asked)
	}
	want := []string{
		"https://host.invalid/x.json https://host.invalid/x.json", "jsr:@std/assert@1 jsr:@std/assert@1", "npm:left-pad npm:left-pad", "npm:lodash lodash",
		"npm:zod@3 npm:zod@3", "npm:zod@3/v4 zod/v4", "npm:zod@4 npm:zod@4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	wantMap := map[string]string{
		"zod": "npm:zod@3", "zod/": "npm:/zod@3/", "npm:zod": "npm:zod@3",
		"@std/assert": "jsr:@std/assert@1", "@std/assert/": "jsr:/@std/assert@1/", "jsr:@std/assert": "jsr:@std/assert@1",
		"left-pad": "npm:left-pad", "left-pad/": "npm:/left-pad/", "npm:left-pad": "npm:left-pad", "lodash": "npm:lodash", "node:os": osModule,
	}
	if diff := cmp.Diff(wantMap, d.Map.Imports); diff != "" {
		t.Errorf("import map (-want +got):\n%s", diff)
	}
	if !strings.Contains(d.Module(), `import "https://host.invalid/x.json" with { type: "json" };`) {
		t.Errorf("module:\n%s", d.Module())
	}
}

func TestParseLock(t *testing.T) {
	l, err := ParseLock([]byte(`{"version":"5","specifiers":{"npm:react-dom@18":"18.3.1_react@18.3.1","npm:asked@*":"1.0.0"},
		"jsr":{"@std/assert@1.0.13":{"integrity":"ae0d"}},
		"npm":{"react-dom@18.3.1_react@18.3.1":{"integrity":"sha512-a"},"react-dom@18.3.1_react@17.0.0":{"integrity":"sha512-a"},"@a/b_c@2.0.0-x.1":{"integrity":"sha512-b"},
			"elsewhere@1.0.0":{"integrity":"sha512-c","dependencies":["only-there","both@1.0.0"],"os":["aix"],"cpu":["ppc64"]},"only-there@1.0.0":{"integrity":"x","dependencies":["deeper"]},"deeper@1.0.0_both@1.0.0":{"integrity":"x"},
			"asked@1.0.0":{"integrity":"sha512-e"},"also-elsewhere@1.0.0":{"os":["!"],"cpu":["ppc64"],"dependencies":["asked","renamed@npm:both@1.0.0"]},
			"both@1.0.0":{"integrity":"sha512-f"},"anywhere@1.0.0":{"integrity":"sha512-d","optionalDependencies":["elsewhere","both"],"os":["!aix"]}},
		"remote":{"https://u:p@host.invalid/x.ts":"beef"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []runners.Package{
		{Name: "@std/assert", Version: "1.0.13", Source: "jsr", SHA256: "ae0d"},
		{Name: "@a/b_c", Version: "2.0.0-x.1", Source: "npm", Integrity: "sha512-b"},
		{Name: "anywhere", Version: "1.0.0", Source: "npm", Integrity: "sha512-d"},
		{Name: "asked", Version: "1.0.0", Source: "npm", Integrity: "sha512-e"},
		{Name: "both", Version: "1.0.0", Source: "npm", Integrity: "sha512-f"},
		{Name: "react-dom", Version: "18.3.1", Source: "npm", Integrity: "sha512-a"},
		{Name: "https://host.invalid/x.ts", Source: "url", SHA256: "beef"},
	}
	if diff := cmp.Diff(want, l.Packages()); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte(`{"version":"5","npm":{"a@1_b@2":{"integrity":"x"}},"remote":{"https://a/b":"c"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := ParseLock(b); err == nil {
			l.Packages()
		}
	})
}

// TestLiterals reads an answer of Deno 2.9 about a file with characters of all
// sizes before its imports.
func TestLiterals(t *testing.T) {
	source := "\ufeff/* 😀é */ import \"npm:a\";\r\nimport 'npm:b'; import(\"npm:c\\u0061\"); import q = require(\"npm:k\"); import (  \"npm:d\")\n// @deno-types=\"npm:t\"\nrequire( \"npm:r\")"
	var modules []string
	for _, d := range [][4]string{{"npm:a", "0", "16", "23"}, {"npm:b", "1", "7", "14"}, {"npm:ca", "1", "23", "36"}, {"npm:k", "1", "58", "65"}, {"npm:d", "1", "78", "85"}, {"npm:t", "2", "15", "22"}, {"npm:r", "3", "9", "16"}, {"npm:far", "9", "0", "2"}, {"npm:long", "0", "16", "999"}} {
		modules = append(modules, fmt.Sprintf(`{"specifier": %q, "code": {"span": {"start": {"line": %s, "character": %s}, "end": {"line": %s, "character": %s}}}}`, d[0], d[1], d[2], d[1], d[3]))
	}
	info, err := ParseInfo([]byte(`{"roots": ["file:///m.ts"], "modules": [{"specifier": "file:///n.ts", "error": "x"}, {"specifier": "file:///m.ts", "dependencies": [` + strings.Join(modules, ",") + `]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	list, err := info.Literals(source)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range list {
		got = append(got, source[l.Start:l.End])
	}
	if want := "npm:a npm:b npm:d"; strings.Join(got, " ") != want {
		t.Errorf("literals %q, want %s", got, want)
	}
}

func TestPin(t *testing.T) {
	lock, err := ParseLock([]byte(`{"version":"5","specifiers":{"npm:zod@3":"3.25.76","npm:zod@*":"4.1.0","npm:react@18":"18.3.1_x@1.0.0","jsr:@std/path@^1":"1.1.2","npm:odd@1":"1.2.3"},
		"npm":{"zod@3.25.76":{},"zod@4.1.0":{},"react@18.3.1_x@1.0.0":{},"odd@1.2.3":{}},"jsr":{"@std/path@1.1.2":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	d := resolveAll(t, []runners.File{{Path: "utils.ts"}}, []string{"zod", "utils", "odd"}, []Package{{Registry: "npm", Name: "odd", Version: "1.x"}})
	for specifier, want := range map[string]string{
		"npm:zod@3/v4": "npm:zod@3.25.76/v4", "zod": "npm:zod@4.1.0", "npm:zod@1.0.0": "npm:zod@1.0.0", "npm:react@18/jsx": "npm:react@18.3.1/jsx",
		"jsr:@std/path@^1/posix": "jsr:@std/path@1.1.2/posix", "odd": "npm:odd@1.2.3", "npm:zod@^3.1": "", "utils": "utils", "./x.ts": "./x.ts", "fs": "fs", "node:fs": "node:fs",
		"https://host.invalid/x": "https://host.invalid/x", "npm:nowhere": "npm:nowhere",
	} {
		got, err := lock.Pin(d, specifier)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Pin(%q) = %q, %v, want %q", specifier, got, err, want)
		}
	}
}

// TestNoBuiltin has a path of a module of Node's that is not one.
func TestNoBuiltin(t *testing.T) {
	for name, want := range map[string]string{"npm:fs/x": "Node has no such module", "npm:lodahs/x": "it"} {
		if got := Reason(Target{Specifier: name}, "error: it", false); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestMisspelt has names that npm does not have and are near to one that it has, and others.
func TestMisspelt(t *testing.T) {
	for name, want := range map[string]string{
		"momnet": "moment", "lodahs": "lodash", "axois": "axios", "expresss": "express", "mongose": "mongoose", "@prisma/clinet": "@prisma/client", "node-ftech": "node-fetch",
		"pq": "", "moment": "", "my-own-thing": "", "utils": "", "helpers": "", "config": "",
	} {
		if want != "" {
			want = ": did you mean " + want + "?"
		}
		if got := Reason(Target{Specifier: name}, "npm package '"+name+"' does not exist", false); got != "not found in the npm registry"+want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := Reason(Target{Specifier: "momnet"}, "Could not find npm package 'momnet' matching '*'", false); got != "the npm registry has no released version of it: did you mean moment?" {
		t.Errorf("a held name: %q", got)
	}
}

// TestInstead has modules from servers, and the npm packages to write for them.
func TestInstead(t *testing.T) {
	for address, want := range map[string]string{
		"https://esm.sh/react@18.2.0/jsx-runtime": "npm:react@18.2.0", "https://esm.sh/v135/@preact/signals@^1.2": "npm:@preact/signals@^1.2", "https://esm.sh/zod": "npm:zod",
		"https://esm.sh/*preact@10": "npm:preact@10", "https://cdn.skypack.dev/lodash": "npm:lodash", "https://unpkg.com/three@0.160.0/build/three.module.js": "npm:three@0.160.0",
		"https://cdn.jsdelivr.net/npm/dayjs@1/+esm": "npm:dayjs@1", "https://cdnjs.cloudflare.com/ajax/libs/lodash.js/4.17.21/lodash.min.js": "npm:lodash.js@4.17.21",
		"https://cdn.jsdelivr.net/gh/a/b@1/c.js": "", "https://example.com/x@1": "", "npm:zod": "",
		"https://deno.land/std@0.224.0/path/mod.ts": "",
	} {
		reason := Reason(Target{Specifier: address}, "error: Import failed\n  client error (Connect)", false)
		if _, got, _ := strings.Cut(reason, "; write "); strings.TrimSuffix(got, " instead") != want || !strings.Contains(reason, "cannot be reached") {
			t.Errorf("%s: %q, want %q", address, reason, want)
		}
	}
}
