package python

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coderunner/pyodide"
	"coderunner/runners"

	"coderunner/runners/python/resolver"
)

func TestScanImports(t *testing.T) {
	for code, want := range map[string]string{
		"1 + 1":                                "",
		"import a":                             "a",
		"import a.b as c, d ; import e":        "a.b d",
		"\tfrom x.y import (\n z)":             "x.y",
		"import a # , b\r\nfrom b import *":    "a b",
		"import\nimported = 1\nfrom a\nimport": "",
		"raise E from e":                       "",
		"import b\nimport a\nimport b":         "a b",
	} {
		if got := strings.Join(scanImports(code), " "); got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}

func TestPlans(t *testing.T) {
	var p plans
	program := func(code string) *job { return &job{req: runners.Request{Code: code}} }
	a, b := &plan{recipe: "a"}, &plan{recipe: "a and b"}
	p.note(program("import a"), []pyodide.Import{{Name: "a"}}, a)
	p.note(program("import a, b"), []pyodide.Import{{Name: "a"}, {Name: "b"}}, b)
	p.note(program("exec('import a')"), []pyodide.Import{{Name: "a"}}, a)
	p.wrong(program("'''\nimport a\n'''"))
	for code, want := range map[string]*plan{
		"import a":                  a,
		"import json\nimport a\n1":  a,
		"import b\nfrom a import c": b,
		"import b":                  nil,
		"exec('import a')":          a,
		"exec('import a') ":         nil,
		"'''\nimport a\n'''":        nil,
	} {
		if got := p.find(program(code)); got != want {
			t.Errorf("%q: %v, want %v", code, got, want)
		}
	}
	locked := program("import a")
	locked.locked = &resolver.Locked{}
	if got := p.find(locked); got != nil {
		t.Errorf("with a lock: %v", got)
	}
	for i := range 2 * maxPlans {
		p.note(program(fmt.Sprint(i)), nil, a)
	}
	if len(p.byKey) != maxPlans || p.order.Len() != maxPlans || p.find(program("1")) != nil {
		t.Errorf("%d plans and %d in order, %d allowed", len(p.byKey), p.order.Len(), maxPlans)
	}
}

// TestGuess runs programs that begin on the snapshot of an earlier one, rightly
// or wrongly. Either is seen in nothing but time.
func TestGuess(t *testing.T) {
	r := registryRunner(t)
	outcome := func(code string) *runners.Outcome {
		o, err := r.Run(context.Background(), runners.Request{Language: runners.Python, Code: code})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	guessed := func(code string) bool {
		j, err := r.job(runners.Request{Language: runners.Python, Code: code})
		if err == nil {
			err = j.prepare(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
		j.guess(context.Background())
		defer j.forgetSnapshot()
		return j.frozen != nil
	}
	const had = "import sys\nhad = 'attrs' in sys.modules\n"
	for range 2 { // after which there is a snapshot
		outcome("import attrs")
	}
	for _, test := range []struct {
		name, code, value, packages string
		once, again                 bool // a guess is made, the first time and later
	}{
		{"the same imports", had + "import attrs\nhad", "True", "attrs", true, true},
		{"more of the standard library", had + "import attrs, json\nhad", "True", "attrs", true, true},
		{"another package as well", had + "import six\nimport attrs\nhad, six.__name__", "", "attrs six", true, true},
		{"in a string", had + "'''\nimport attrs\n'''\nhad", "False", "", true, false},
		{"in a function", had + "def f():\n import attrs\nhad", "False", "attrs", true, false},
		{"does not compile", "import attrs\n1 +", "", "", true, true},
		{"a warning", "\"\"\"\nimport attrs\n\"\"\"\n'\\d'", `'\\d'`, "", true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := guessed(test.code); got != test.once {
				t.Errorf("a guess: %v, want %v", got, test.once)
			}
			for range 2 {
				o := outcome(test.code)
				value := ""
				if o.Result != nil {
					value = o.Result.Text
				}
				if test.value != "" && value != test.value {
					t.Errorf("result %q, want %q; %+v", value, test.value, o.Error)
				}
				var names []string
				for _, p := range o.Packages {
					names = append(names, p.Name)
				}
				if diff := cmp.Diff(test.packages, strings.Join(names, " ")); diff != "" {
					t.Error(diff)
				}
				if n := strings.Count(o.Stderr, "SyntaxWarning"); n > 1 || n == 0 && test.name == "a warning" {
					t.Errorf("%d warnings: %s", n, o.Stderr)
				}
			}
			if got := guessed(test.code); got != test.again {
				t.Errorf("a guess, later: %v, want %v", got, test.again)
			}
		})
	}
}
