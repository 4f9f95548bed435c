package deps

import (
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

// resolveAll resolves the static imports of main.ts among files.
func resolveAll(t *testing.T, files []runners.File, specs []string, pins []Package) Dependencies {
	t.Helper()
	p, err := ReadProject(files, "main.ts")
	if err != nil {
		t.Fatal(err)
	}
	m := Module{Path: "main.ts"}
	for _, s := range specs {
		m.Imports = append(m.Imports, jsparse.Import{Specifier: s, Static: true})
	}
	d, err := Resolve([]Module{m}, p, pins)
	if err != nil {
		t.Fatal(err)
	}
	return d
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
		"left-pad": "npm:left-pad", "left-pad/": "npm:/left-pad/", "npm:left-pad": "npm:left-pad", "lodash": "npm:lodash",
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
