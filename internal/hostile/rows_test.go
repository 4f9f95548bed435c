//go:build linux

package hostile

import (
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
	"strings"
	"testing"
)

// lastRow is the number of kinds of attack and fault that there are; escapes
// are beyond them.
const lastRow = 70

// covers says which rows the tests have that are no tables of programs.
var covers = map[string][]int{
	"TestCalls":             {12, 14, 25, 26, 62},
	"TestCancel":            {59},
	"TestEnd":               {60, 61},
	"TestClientKilled":      {60},
	"TestProtocolAbuse":     {65},
	"TestBeforeHandshake":   {65},
	"TestDeno":              {64},
	"TestSecrets":           {31},
	"TestGrantedFolders":    {28},
	"TestGrantedNetwork":    {34},
	"TestWheels":            {37, 38, 39, 40, 41, 42, 43, 45},
	"TestSideModules":       {44},
	"TestSilentFailure":     {46},
	"TestRegistries":        {47},
	"TestRegistryRedirects": {47},
	"TestSlowRegistry":      {48},
	"TestLargeIndex":        {49},
	"TestTLS":               {50},
	"TestNPM":               {52},
	"TestHammer":            {53},
	"TestFlippedBytes":      {54},
	"TestDisk":              {51, 55, 56},
	"TestSharedCache":       {57},
	"TestCacheGoes":         {58},
	"TestClocks":            {67},
	"TestPoorKernel":        {68},
}

// beyond are tests of what has no row.
var beyond = []string{"TestMain", "TestRows", "TestPromises", "TestHostile", "TestLimits", "TestExports", "TestSystemCalls", "TestInherited", "TestWaiting"}

// notToday has the rows that have no case, and why.
var notToday = map[int]string{
	70: "side channels between programs are not promised: SECURITY.md says so",
}

// allPrograms are those of all tables.
var allPrograms = [][]attack{cpu, memory, stack, output, ends, isolation, files, environment, network, oddities, escapes}

// rowsByTable are those that tables of programs have.
func rowsByTable() map[int]bool {
	rows := map[int]bool{}
	for _, group := range allPrograms {
		for _, a := range group {
			if n := rowNumber(a.row); n <= lastRow {
				rows[n] = true
			}
		}
	}
	return rows
}

// TestRows has every row of the list either covered or explained.
func TestRows(t *testing.T) {
	covered := rowsByTable()
	tests := ownTests(t)
	for name, rows := range covers {
		if !slices.Contains(tests, name) {
			t.Errorf("%s is not there", name)
		}
		for _, n := range rows {
			covered[n] = true
		}
	}
	for n := 1; n <= lastRow; n++ {
		if why := notToday[n]; covered[n] == (why != "") {
			t.Errorf("row %d: covered %v, and the reason not to be is %q", n, covered[n], why)
		}
	}
	for n, what := range notYet {
		if !covered[n] {
			t.Errorf("row %d has no case at all, and so is not only in want of %s", n, what)
		}
	}
	for _, name := range tests {
		if _, ok := covers[name]; !ok && !slices.Contains(beyond, name) {
			t.Errorf("%s has no rows", name)
		}
	}
	seen := map[string]string{}
	for _, group := range allPrograms {
		for _, a := range group {
			if other := seen[a.row]; other != "" {
				t.Errorf("row %s is both %q and %q", a.row, other, a.name)
			}
			seen[a.row] = a.name
		}
	}
}

// TestPromises looks for each test that SECURITY.md names.
func TestPromises(t *testing.T) {
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var have strings.Builder
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return nil // others may be at work in other folders
		}
		b, err := os.ReadFile(path)
		have.Write(b)
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
		if !strings.Contains(have.String(), "func "+name+"(") {
			t.Errorf("SECURITY.md names %s, which is not there", name)
		}
	}
}

// ownTests are the names of this package's tests.
func ownTests(t *testing.T) []string {
	t.Helper()
	packages, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool { return strings.HasSuffix(f.Name(), "_test.go") }, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range packages {
		for _, f := range p.Files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
					names = append(names, fn.Name.Name)
				}
			}
		}
	}
	return names
}

// notYet are the parts of rows that have cases which wait for something that is
// not there, by row.
var notYet = map[int]string{
	36: "a server that listens on a port, and the headers it must check",
	65: "batches and ids of other clients over HTTP",
}

// rowNumber is the number of a row like "27b"; escapes and limits are last.
func rowNumber(row string) int {
	n := 0
	for _, c := range strings.TrimLeft(row, "ELlimt") {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	if row == "" || row[0] < '0' || row[0] > '9' {
		n += 1000
	}
	return n
}

// missing are the rows that a whole run of the suite has no verdict on.
func (r *table) missing() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := rowsByTable()
	for _, rows := range covers {
		for _, n := range rows {
			want[n] = true
		}
	}
	for _, row := range r.rows {
		delete(want, rowNumber(row))
	}
	var missing []string
	for _, n := range slices.Sorted(maps.Keys(want)) {
		missing = append(missing, fmt.Sprint(n))
	}
	return missing
}
