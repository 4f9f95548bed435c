// Package sample chooses a sample of what takes too long for the default test run: the same
// sample for the same sources, another one when a package that the test is built from
// changes. Only tests import it.
//
// # Testing
//
// CODERUNNER_LONG=1 takes all (`just long`), and so does a -run that names a
// subtest.
package sample

import (
	"flag"
	"hash/fnv"
	"os"
	"strings"
	"testing"
)

// All reports whether tests are to do everything that they take samples of.
var All = os.Getenv("CODERUNNER_LONG") != ""

// Long skips a test of more seconds than its value for the default run.
func Long(t testing.TB) {
	t.Helper()
	if !All && !named() {
		t.Skip("long; CODERUNNER_LONG=1 or a -run that names a subtest runs it")
	}
}

// Of returns the cases, or one n-th of them, in the same order.
func Of[T any](t testing.TB, n int, cases []T) (part []T) {
	t.Helper()
	if All || named() {
		return cases
	}
	part = every(n, first(t.Name(), n), cases)
	t.Logf("%d of %d cases; CODERUNNER_LONG=1 takes all", len(part), len(cases))
	return part
}

// named reports whether -run names a subtest.
func named() bool { return strings.Contains(flag.Lookup("test.run").Value.String(), "/") }

// first returns the number of the case that a test's sample begins with, below n.
func first(test string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(test))
	h.Write(sources())
	return int(h.Sum64() % uint64(n))
}

func every[T any](n, first int, cases []T) (part []T) {
	for i := first; i < len(cases); i += n {
		part = append(part, cases[i])
	}
	return part
}
