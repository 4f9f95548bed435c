//go:build linux

package hostile

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/ROWS.md anew")

// lastRow is the number of kinds of attack and fault that there are.
const lastRow = 70

// uncovered has the rows that have no case, and why.
var uncovered = map[int]string{
	70: "side channels between programs are not promised: SECURITY.md says so",
}

// rowNames says what the rows are about, from each of these on.
var rowNames = map[int]string{
	1: "CPU", 7: "memory", 13: "stack", 15: "output", 21: "ends", 23: "isolation of calls", 27: "host files", 30: "environment and secrets",
	33: "network", 37: "wheels", 47: "registries", 53: "cache", 59: "lifecycle", 66: "oddities",
}

var rowsOf = regexp.MustCompile(`(?m)^Rows? ([0-9]+(?:, [0-9]+)*)[.:]`)

// rowsIn returns the rows that a comment names.
func rowsIn(comment string) []int {
	var rows []int
	for _, m := range rowsOf.FindAllStringSubmatch(comment, -1) {
		for _, field := range strings.Split(m[1], ", ") {
			n, _ := strconv.Atoi(field)
			rows = append(rows, n)
		}
	}
	return rows
}

// TestRows writes a table of all rows and their cases from the comments of cases
// and tests. Each row has a case, or a reason not to have one.
func TestRows(t *testing.T) {
	covered := map[int][]string{}
	add := func(name, comment string) {
		for _, n := range rowsIn(comment) {
			if n < 1 || n > lastRow {
				t.Errorf("%s: there is no row %d", name, n)
			}
			covered[n] = append(covered[n], name)
		}
	}
	for _, c := range cases(t) {
		add(c.Name, c.Promise)
		if rowsIn(c.Promise) == nil && !strings.HasPrefix(c.Promise, "Escape: ") {
			t.Errorf("%s does not begin with its rows, or Escape: %s", c.Name, c.Promise)
		}
	}
	for name, doc := range ownTests(t) {
		add(name, doc)
	}
	var table strings.Builder
	fmt.Fprint(&table, "<!-- Written by go test ./internal/hostile -short -run TestRows -update -->\n\n| row | about | cases and tests |\n|---|---|---|\n")
	for n, about := 1, ""; n <= lastRow; n++ {
		if name := rowNames[n]; name != "" {
			about = name
		}
		slices.Sort(covered[n])
		why := uncovered[n]
		if (why == "") == (covered[n] == nil) {
			t.Errorf("row %d: the cases are %q, and the reason not to have one is %q", n, covered[n], why)
		}
		fmt.Fprintf(&table, "| %d | %s | %s%s |\n", n, about, strings.Join(covered[n], ", "), why)
	}
	const golden = "testdata/ROWS.md"
	if *update {
		if err := os.WriteFile(golden, []byte(table.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), table.String()); diff != "" {
		t.Errorf("the table is not up to date (run with -update):\n%s", diff)
	}
}

// TestPromises looks for each test and case that SECURITY.md names.
func TestPromises(t *testing.T) {
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return nil // somebody else may be at work in another directory
		}
		b, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(b, -1) {
			have[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w*`).FindAllString(string(text), -1)
	if len(named) < 20 {
		t.Fatalf("only %q", named)
	}
	for _, name := range named {
		if !have[name] {
			t.Errorf("SECURITY.md names %s, which is not there", name)
		}
	}
	for _, m := range regexp.MustCompile("`((?:[0-9]{2}|escape)_[a-z0-9_*]+)`").FindAllStringSubmatch(string(text), -1) {
		if cases, err := filepath.Glob("testdata/" + m[1] + ".txtar"); err != nil || len(cases) == 0 {
			t.Errorf("SECURITY.md names %s, which no case is called", m[1])
		}
	}
}

// ownTests returns this package's tests with their comments.
func ownTests(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				tests[fn.Name.Name] = fn.Doc.Text()
			}
		}
	}
	if len(tests) < 20 {
		t.Fatalf("only %q", slices.Sorted(maps.Keys(tests)))
	}
	return tests
}
