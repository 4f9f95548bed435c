package wasi_test

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"coderunner/internal/sample"
	"coderunner/runners"
)

// otherwise are programs that end otherwise, and why.
var otherwise = map[string]string{
	"php numbers": "integers have 32 bits", "php recursion": "integers have 32 bits",
}

// TestTutorial has programs of the order of a language's tutorial, with what the real one has
// printed of them: of Ruby 3.1, Perl 5.36, PHP 8.2, SQLite 3.40 and, for QuickJS, Node.
func TestTutorial(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	rs := newRunners(t)
	for lang, ending := range map[runners.Language]string{runners.Ruby: ".rb", runners.Perl: ".pl", runners.PHP: ".php", runners.SQL: ".sql", runners.QuickJS: ".js"} {
		t.Run(string(lang), func(t *testing.T) {
			if lang == runners.PHP {
				sample.Long(t)
			}
			a, err := txtar.ParseFile(path.Join("testdata/tutorial", string(lang)+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			texts := map[string]string{}
			for _, f := range a.Files {
				texts[f.Name] = string(f.Data)
				if name, ok := strings.CutSuffix(f.Name, ending); ok {
					names = append(names, name)
				}
			}
			for _, name := range sample.Of(t, 4, names) {
				o, err := rs[lang].Run(t.Context(), runners.Request{Language: lang, Code: texts[name+ending], Stdin: strings.NewReader("2\n1 2\n3 4\nrest one\nrest two\n")})
				if err != nil {
					t.Fatal(err)
				}
				got := strings.ReplaceAll(o.Stdout, "/home/user/", "")
				diff := cmp.Diff(texts[name+".out"], strings.TrimSuffix(got, "\n")+"\n")
				switch why := otherwise[string(lang)+" "+name]; {
				case why != "" && diff == "":
					t.Errorf("%s is as elsewhere, although %s", name, why)
				case why == "" && diff != "":
					t.Errorf("%s: %s (-real +here):\n%s\n%s", name, o.Status, diff, o.Stderr)
				}
			}
		})
	}
}
