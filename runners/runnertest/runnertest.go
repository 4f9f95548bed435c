// Package runnertest is the runner contract as tests: every promise is one
// txtar file in testdata, with each language's program in the same file, and
// [Run] holds a runner to all of them. What is promised of a runner's conduct
// rather than of a program is in conduct.go. The runners' own tests call it.
//
// # Format
//
// The comment of a file is the promise. Then come
//
//	-- py --, -- ts --, -- js --   the program; JavaScript takes ts when there is no js
//	-- sh --, -- rb --, -- php --, -- pl --, -- qjs --  of bash, Ruby, PHP, Perl, QuickJS
//	-- main.tsx --, -- main.js --  instead of ts, for a program in a file of that name
//	-- before.py --, -- before.ts --  a program to run first, which must succeed
//	-- stdin --                    without its last newline when it ends in "<EOF>"
//	-- args --                     one argument a line
//	-- files/NAME --               a file for the working directory
//	-- case.json --                the rest of the request, as [Case] has it
//	-- want.json --                the outcome
//	-- want.py.json --, …          what is different in one language
//
// Program texts may hold the escapes of [unescape], for bytes that a text file
// cannot show.
//
// In want.json only the fields that are named are compared. "*" stands for
// anything but null, "/…/" is a regular expression, an object of one key
// "contains" or "not" looks for a text, and everything else is exact. An empty
// object takes any object.
//
// # Testing
//
// The comparison has tests of its own.
package runnertest

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"coderunner/internal/sample"
	"coderunner/runners"
)

// Options say which cases to leave out.
type Options struct {
	Part  int  // run one in so many of the cases (package sample)
	Cases bool // only programs, and nothing of the runner's conduct
}

// hostSecret is in the environment of the runner and must not be seen by
// programs.
const hostSecret = "CODERUNNER_TEST_SECRET"

// Run holds a runner to every promise in every language given, each as a
// subtest CASE/LANGUAGE. The runner must have the zero policy. Run sets an
// environment variable, so the test that calls it must not be parallel.
func Run(t *testing.T, r runners.Runner, languages []runners.Language) {
	t.Helper()
	RunWith(t, r, languages, Options{})
}

// RunWith is [Run] without some of the cases.
func RunWith(t *testing.T, r runners.Runner, languages []runners.Language, o Options) {
	t.Setenv(hostSecret, "s3cret")
	cases, err := Load(promises, "testdata")
	if err != nil {
		t.Fatal(err)
	}
	if o.Part > 1 {
		cases = sample.Of(t, o.Part, cases)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			for _, l := range languages {
				if _, ok := c.program(l); ok {
					t.Run(string(l), func(t *testing.T) { c.run(t, r, l) })
				}
			}
		})
	}
	if o.Cases {
		return
	}
	for _, c := range conducts {
		t.Run(c.name, func(t *testing.T) {
			for _, l := range languages {
				t.Run(string(l), func(t *testing.T) { c.run(t, r, l) })
			}
		})
	}
}

// run runs one case in one language.
func (c *Case) run(t *testing.T, r runners.Runner, l runners.Language) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if before, ok := c.before(l); ok {
		first := c.Request(l)
		first.Code = before
		out, err := r.Run(ctx, first)
		if err != nil {
			t.Fatalf("the program before: %v", err)
		}
		if out.Status != runners.Succeeded {
			t.Fatalf("the program before ended with %s: %+v", out.Status, out.Error)
		}
	}
	began := time.Now()
	out, err := r.Run(ctx, c.Request(l))
	took := time.Since(began)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	checkShape(t, out)
	took -= time.Duration(out.Usage.PrepareMS) * time.Millisecond
	if within := time.Duration(c.WithinMS) * time.Millisecond; within > 0 && took > within {
		t.Errorf("took %v, want at most %v", took, within)
	}
	if c.Differs {
		again, err := r.Run(ctx, c.Request(l))
		if err != nil {
			t.Fatalf("Run again: %v", err)
		}
		if out.Result != nil && again.Result != nil && out.Result.Text == again.Result.Text {
			t.Errorf("%s\ntwice the same: %s", c.Promise, out.Result.Text)
		}
	}
	diffs, err := c.Check(l, out)
	if err != nil {
		t.Fatal(err)
	}
	if len(diffs) > 0 {
		t.Errorf("%s\n%s\nthe outcome:\n%s", c.Promise, strings.Join(diffs, "\n"), show(out))
	}
}

// checkShape holds every outcome to what is true of all of them.
func checkShape(t *testing.T, out *runners.Outcome) {
	t.Helper()
	if (out.Status == runners.Succeeded) != (out.ExitCode == 0 && out.Error == nil) {
		t.Errorf("status %s with exit code %d and error %+v", out.Status, out.ExitCode, out.Error)
	}
	if out.Usage.RunMS < 0 || out.Usage.PrepareMS < 0 || out.Usage.PeakMemoryBytes < 0 {
		t.Errorf("usage %+v", out.Usage)
	}
	if out.Error != nil && out.Error.Type == "" {
		t.Errorf("an error without a type: %+v", out.Error)
	}
}

// Load reads the cases of a directory, in the order of their names.
func Load(fsys fs.FS, dir string) ([]*Case, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("load cases: there are none in %s", dir)
	}
	var cases []*Case
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		c, err := Parse(strings.TrimSuffix(path.Base(name), ".txtar"), data)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", name, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}
