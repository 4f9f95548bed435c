package hint_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
	"coderunner/runners/deno"
	"coderunner/runners/hint"
	"coderunner/runners/python"
)

var update = flag.Bool("update", false, "write what the programs of testdata get")

// languages are the languages that have rows, and the ending of their programs.
var languages = map[string]string{"python": "py", "javascript": "js"}

// cases are a language's: sections NAME.py or NAME.js, which is the program, NAME.error, its
// error without rows, and NAME.text, the error that it gets. NAME/PATH is a file
// of the program. A case without a program has an error that no program can have here.
func cases(t *testing.T, language string) (name string, a *txtar.Archive) {
	t.Helper()
	name = filepath.Join("testdata", language+".txtar")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return name, txtar.Parse(data)
}

func section(a *txtar.Archive, name string) *txtar.File {
	if i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name }); i >= 0 {
		return &a.Files[i]
	}
	return nil
}

// TestRows has the form of each row, and a case that it matches.
func TestRows(t *testing.T) {
	placeholder := regexp.MustCompile(`\{(\w+)\}`)
	for language := range languages {
		if err := hint.Strict(language); err != nil {
			t.Fatal(err)
		}
		table := hint.For(language)
		_, a := cases(t, language)
		names := map[string]bool{}
		for _, r := range table.Rows {
			where := language + ": " + r.Name
			if names[r.Name] || r.Name == "" {
				t.Errorf("%s is there twice, or has no name", where)
			}
			names[r.Name] = true
			recorded := section(a, r.Name+".error")
			if recorded == nil {
				t.Errorf("%s has no case", where)
				continue
			}
			kind, message, _ := strings.Cut(strings.TrimSuffix(string(recorded.Data), "\n"), ": ")
			if !r.Replaces {
				message = table.Restate(hint.Failure{Type: kind, Message: message})
			}
			if !r.Head(kind, message) {
				t.Errorf("%s does not match its case, %q: %q", where, kind, message)
			}
			for _, m := range placeholder.FindAllStringSubmatch(r.Says, -1) {
				captured := strings.Contains(r.Like+r.Traceback+r.Last+r.Source, "?P<"+m[1]+">")
				if table.Texts[m[1]] == "" && len(r.Needs) == 0 && !captured {
					t.Errorf("%s: nothing sets %s", where, m[0])
				}
			}
		}
		for _, f := range a.Files {
			if name, ending := f.Name, filepath.Ext(f.Name); ending == ".error" && !names[strings.TrimSuffix(name, ending)] {
				t.Errorf("%s: the case %s has no row", language, name)
			}
		}
	}
}

// TestCaptures has texts and forms that they may have.
func TestCaptures(t *testing.T) {
	for _, tt := range []struct {
		text, form string
		want       []string
	}{
		{"Could not find 'a' matching '^1'.", "find '*' matching '*'", []string{"a", "^1"}},
		{"so: find 'a'", "^find '*'", nil},
		{"find 'a", "find '*'", nil},
		{"package not found: @a/b\n  at c", "not found: *", []string{"@a/b"}},
		{"a imports b, which", "^* imports *, which", []string{"a", "b"}},
		{"as it is", "as it is", []string{}},
	} {
		if got := hint.Captures(tt.text, tt.form); !slices.Equal(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("%q in %q: %q, want %q", tt.form, tt.text, got, tt.want)
		}
	}
}

// TestCases runs the program of each case: with its row it gets the text, and without it
// another one, or the row is needed no more.
func TestCases(t *testing.T) {
	c := pyodidetest.Cache(t)
	py, err := python.New(python.Config{Cache: c, Index: os.Getenv("PIP_INDEX_URL"), PackageBase: os.Getenv("PYODIDE_PACKAGE_BASE_URL"), NPMRegistry: os.Getenv("NPM_CONFIG_REGISTRY")})
	if err != nil {
		t.Fatal(err)
	}
	defer py.Close()
	js, err := deno.New(deno.Config{Cache: c, Binary: os.Getenv("CODE_RUNNER_DENO"), NPMRegistry: os.Getenv("NPM_CONFIG_REGISTRY"), Ahead: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer js.Close()
	for language, r := range map[string]runners.Runner{"python": py, "javascript": js} {
		name, a := cases(t, language)
		for _, row := range hint.For(language).Rows {
			program := section(a, row.Name+"."+languages[language])
			if program == nil {
				continue
			}
			t.Run(language+"/"+row.Name, func(t *testing.T) {
				run := func(skips func(*hint.Row) bool) string {
					defer hint.Skip(language, skips)()
					return outcome(t, r, language, row.Name, program, a)
				}
				got := run(func(*hint.Row) bool { return false })
				without := run(func(r *hint.Row) bool { return r.Name == row.Name })
				if got == without {
					t.Errorf("it gets the same without its row:\n%s", got)
				}
				if *update {
					set(a, row.Name+".error", run(func(*hint.Row) bool { return true }))
					set(a, row.Name+".text", got)
				} else if want := section(a, row.Name+".text"); want == nil || string(want.Data) != got {
					t.Errorf("it gets\n%s\nand should get\n%s", got, want.Data)
				}
			})
		}
		if *update {
			if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// outcome returns the error that a program gets, without what differs from run to run.
func outcome(t *testing.T, r runners.Runner, language, name string, program *txtar.File, a *txtar.Archive) string {
	t.Helper()
	req := runners.Request{Language: runners.Language(language), Code: string(program.Data), Limits: runners.Limits{Timeout: time.Minute}}
	for _, f := range a.Files {
		if path, ok := strings.CutPrefix(f.Name, name+"/"); ok {
			req.Files = append(req.Files, runners.File{Path: path, Data: f.Data})
		}
	}
	if limit := section(a, name+".limit"); limit != nil {
		req.Limits.Timeout, _ = time.ParseDuration(strings.TrimSpace(string(limit.Data)))
	}
	o, err := r.Run(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	if o.Error == nil {
		t.Fatalf("%s: it came to %s", name, o.Status)
	}
	text := fmt.Sprintf("%s: %s\n", o.Error.Type, o.Error.Message)
	return newest.ReplaceAllString(text, "${1}VERSION$2")
}

// newest matches the version of a package of which a program names none.
var newest = regexp.MustCompile(`( |@)\d+(?:\.\d+\.\d+)?( here\.|: if | is an |")`)

// set adds a section after those of the same case.
func set(a *txtar.Archive, name, text string) {
	if f := section(a, name); f != nil {
		f.Data = []byte(text)
		return
	}
	base := strings.TrimSuffix(name, filepath.Ext(name))
	at := len(a.Files)
	for i, f := range a.Files {
		if strings.HasPrefix(f.Name, base+".") || strings.HasPrefix(f.Name, base+"/") {
			at = i + 1
		}
	}
	a.Files = slices.Insert(a.Files, at, txtar.File{Name: name, Data: []byte(text)})
}
