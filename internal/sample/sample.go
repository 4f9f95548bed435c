// Package sample takes a part of what is too long for the default test run:
// another part each day, until all of it was taken. Only tests import it.
//
// # Testing
//
// CODERUNNER_LONG=1 takes all (`just long`), and so does a -run that names a
// subtest; CODERUNNER_DAY=N takes the part of a day whose failure is to be
// repeated.
package sample

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// All reports whether tests are to do everything that they take samples of.
var All = os.Getenv("CODERUNNER_LONG") != ""

// Of returns the cases, or one n-th of them. The order must be the same each day.
func Of[T any](t testing.TB, n int, cases []T) (part []T) {
	t.Helper()
	if All || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return cases
	}
	day := int(time.Now().Unix() / (24 * 60 * 60))
	if fixed, err := strconv.Atoi(os.Getenv("CODERUNNER_DAY")); err == nil {
		day = fixed
	}
	for i := day % n; i < len(cases); i += n {
		part = append(part, cases[i])
	}
	t.Logf("%d of %d cases, those of day %d; CODERUNNER_LONG=1 takes all", len(part), len(cases), day)
	return part
}
