package python

import (
	"slices"
	"strings"
	"testing"

	"coderunner/runners"
)

// TestSlips imports modules whose names are one letter from others: a stranger's project of
// such a name is installed only where packages has it, and nobody is asked about it.
func TestSlips(t *testing.T) {
	x := newIndex(t)
	for _, name := range []string{"jsn", "padnas", "six"} {
		x.module(name, "6.6.6")
	}
	r := x.newRunner(base{}, false, t.TempDir())
	for module, means := range map[string]string{"jsn": "json", "padnas": "pandas"} {
		o, asked := runFiles(t, x, r, "print('begun')\nimport six\nimport "+module+"\n", nil)
		refused(t, o, module, "is one letter from "+means, "give its name in packages")
		if o.Stdout != "begun\n" || slices.Contains(asked, module) {
			t.Errorf("stdout %q, asked for %v", o.Stdout, asked)
		}
		value(t, run(t, r, "import "+module+"\n"+module+".version", module), "'6.6.6'")
	}
	// A file of the program's is its own business.
	o, asked := runFiles(t, x, r, "import jsn\njsn.version", map[string]string{"jsn.py": "version = 1"})
	value(t, o, "1")
	if len(asked) > 0 {
		t.Errorf("asked for %v", asked)
	}
}

// TestFetched has the outcome say what was downloaded, the first time.
func TestFetched(t *testing.T) {
	x := newIndex(t)
	x.module("six", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	for _, want := range []string{"Fetched for the first time: six 1.0 (pypi).", ""} {
		o := run(t, r, "import six")
		if got := o.Fetched(); o.Status != runners.Succeeded || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
