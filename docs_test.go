package coderunner_test

import (
	"flag"
	"go/build"
	"go/doc"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLimitsAreTested wants behind each line of docs/limits.md the names of tests
// that there are: TestName, or TestName/case, where the case is a name in the
// test's package, with "_" for a space, or a file of its testdata.
func TestLimitsAreTested(t *testing.T) {
	text, err := os.ReadFile("docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testFunctions(t)
	names := regexp.MustCompile(`\((Test[^()]*)\)$`)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		m := names.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("no test holds %.80q", line)
			continue
		}
		for name := range strings.SplitSeq(m[1], ", ") {
			name, sub, _ := strings.Cut(name, "/")
			if !hasCase(tests[name], sub) {
				t.Errorf("there is no test %s/%s: %.80q", name, sub, line)
			}
		}
	}
}

// testFunctions returns the directories that have a test of a name.
func testFunctions(t *testing.T) map[string][]string {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		for _, m := range function.FindAllSubmatch(text, -1) {
			found[string(m[1])] = append(found[string(m[1])], filepath.Dir(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// hasCase reports whether the tests or the testdata of one of dirs have a case, or
// those of the runner contract.
func hasCase(dirs []string, name string) bool {
	if name == "" {
		return len(dirs) > 0
	}
	for _, dir := range append(dirs, "runners/runnertest") {
		for _, pattern := range []string{"testdata/" + name + ".*", "testdata/*/" + name + ".*"} {
			if files, _ := filepath.Glob(filepath.Join(dir, pattern)); len(files) > 0 {
				return true
			}
		}
		sources, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
		for _, source := range sources {
			if text, err := os.ReadFile(source); err == nil && strings.Contains(string(text), `"`+strings.ReplaceAll(name, "_", " ")+`"`) || strings.Contains(string(text), `"`+name+`"`) {
				return true
			}
		}
	}
	return false
}

var updateDocs = flag.Bool("update", false, "write the generated parts of docs anew")

// TestPackageTable compares the table in docs/architecture.md with the packages'
// comments.
func TestPackageTable(t *testing.T) {
	const page, begin, end = "docs/architecture.md", "<!-- generated: packages (just docs) -->\n", "<!-- end -->"
	want := "| package | |\n|---|---|\n"
	for _, dir := range slices.Sorted(maps.Keys(packages(t))) {
		p, err := build.ImportDir(dir, build.ImportComment)
		if err != nil {
			t.Fatal(err)
		}
		first := new(doc.Package).Synopsis(p.Doc)
		first = strings.TrimSuffix(first[strings.IndexByte(first, ' ')+1:], ".")
		want += "| `" + dir + "` | " + strings.TrimPrefix(first, path.Base(dir)+" ") + " |\n"
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, closed := strings.Cut(rest, end)
	switch {
	case !ok || !closed:
		t.Errorf("%s lacks %q and %q", page, begin, end)
	case got == want:
	case *updateDocs:
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s does not have the packages' comments; just docs writes it anew", page)
	}
}

// TestNamedFiles wants the files and directories that the documents name to be there.
func TestNamedFiles(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:cmd|internal|runners|pyodide|cache)(?:/[\\w.-]+)+)`")
	for _, page := range append(pages, "README.md", "SECURITY.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			if _, err := os.Stat(string(m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
