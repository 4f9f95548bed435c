package deps

import (
	"strings"
	"testing"

	"coderunner/runners"
	"coderunner/runners/deno/jsparse"
)

// TestSlips has a program import names that are one letter from well-known ones: they are
// fetched only where the packages argument or the program's configuration has them.
func TestSlips(t *testing.T) {
	resolve := func(spec, config string, pinned ...Package) Dependencies {
		t.Helper()
		var files []runners.File
		if config != "" {
			files = append(files, runners.File{Path: "package.json", Data: []byte(config)})
		}
		p, err := ReadProject(files, "main.ts")
		if err != nil {
			t.Fatal(err)
		}
		d, err := Resolve([]Module{module("main.ts", jsparse.Import{Specifier: spec, Static: true})}, p, pinned)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, spec := range []string{"lodahs", "npm:lodahs", "npm:lodahs@4", "lodahs/fp"} {
		d := resolve(spec, "")
		if len(d.Targets) > 0 || len(d.Broken) != 1 || !strings.Contains(d.Broken[0].Reason, "its name is one letter from lodash") {
			t.Errorf("%s: %+v", spec, d)
		}
		lodahs, _ := Split("npm:lodahs")
		if d := resolve(spec, "", lodahs); len(d.Targets) == 0 || len(d.Broken) > 0 {
			t.Errorf("%s, which packages has: %+v", spec, d)
		}
		if d := resolve(spec, `{"dependencies":{"lodahs":"4"}}`); strings.HasPrefix(spec, "lodahs") && (len(d.Targets) == 0 || len(d.Broken) > 0) {
			t.Errorf("%s, which package.json has: %+v", spec, d)
		}
	}
	for _, spec := range []string{"lodash", "preact", "npm:left-pad", "jsr:@std/asert"} {
		if d := resolve(spec, ""); len(d.Targets) != 1 || len(d.Broken) > 0 {
			t.Errorf("%s: %+v", spec, d)
		}
	}
}
