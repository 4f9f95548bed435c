package deno

import (
	"os"
	"strings"
	"testing"

	"coderunner/internal/sample"
	"coderunner/runners"
	"coderunner/runners/runnertest"
)

// load reads programs and what they come to, in the format of package runnertest.
func load(t *testing.T, set string) []*runnertest.Case {
	t.Helper()
	cases, err := runnertest.Load(os.DirFS("testdata"), set)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// check runs a case's program, with what change makes of its request.
func check(t *testing.T, r *Runner, c *runnertest.Case, change func(*runners.Request)) {
	t.Helper()
	for _, l := range c.Languages() {
		req := c.Request(l)
		change(&req)
		o := run(t, r, req)
		wrong, err := c.Check(l, o)
		if err != nil {
			t.Fatal(err)
		}
		if o.Error != nil && (strings.Contains(o.Error.Traceback, r.RunDirs.Path) || strings.Contains(o.Error.Traceback, "bootstrap")) {
			wrong = append(wrong, "the traceback shows more than the program")
		}
		if len(wrong) > 0 {
			t.Errorf("%s\n%s\nthe outcome: %s, error %+v, result %+v, note %q\nstdout: %s\nstderr: %s", c.Promise, strings.Join(wrong, "\n"), o.Status, o.Error, o.Result, o.Note, o.Stdout, o.Stderr)
		}
	}
}

func checkAll(t *testing.T, r *Runner, cases []*runnertest.Case) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { check(t, r, c, func(*runners.Request) {}) })
	}
}

func TestPrograms(t *testing.T) { checkAll(t, openParked(t, 1), load(t, "programs")) }

// TestIdioms has programs in the forms that bundlers, Node and compilers take.
func TestIdioms(t *testing.T) { checkAll(t, openParked(t, 1), sample.Of(t, 3, load(t, "idioms"))) }
