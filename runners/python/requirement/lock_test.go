package requirement

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	sumA = strings.Repeat("a", 64)
	sumB = strings.Repeat("b", 64)
)

func TestWriteLock(t *testing.T) {
	lock := []Locked{{"attrs", "26.1.0", "pyodide", sumB}, {"six", "1.17.0", "pypi", sumA}}
	entries := `# lock = [
#   {name = "attrs", version = "26.1.0", source = "pyodide", sha256 = "` + sumB + `"},
#   {name = "six", version = "1.17.0", source = "pypi", sha256 = "` + sumA + `"},
# ]
`
	for _, test := range []struct{ name, code, want string }{
		{"none", "import six\n", "# /// script\n# [tool.coderunner]\n" + entries + "# ///\nimport six\n"},
		{"empty program", "", "# /// script\n# [tool.coderunner]\n" + entries + "# ///\n"},
		{"first lines", "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nimport six",
			"#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# /// script\n# [tool.coderunner]\n" + entries + "# ///\nimport six"},
		{"a block", "x = 1\n# /// script\n# dependencies = [\"six\"]\n# ///\n",
			"x = 1\n# /// script\n# dependencies = [\"six\"]\n#\n# [tool.coderunner]\n" + entries + "# ///\n"},
		{"another table", "# /// script\n# [tool.coderunner]\n# colour = \"red\"\n# [tool.uv]\n# x = 1\n# ///\n",
			"# /// script\n# [tool.coderunner]\n" + entries + "# colour = \"red\"\n# [tool.uv]\n# x = 1\n# ///\n"},
		{"carriage returns", "# /// script\r\n# ///\r\nimport six\r\n",
			strings.ReplaceAll("# /// script\n# [tool.coderunner]\n"+entries+"# ///\nimport six\n", "\n", "\r\n")},
	} {
		got, err := WriteLock(test.code, lock)
		if err != nil || got != test.want {
			t.Errorf("%s: %v\n%s", test.name, err, cmp.Diff(test.want, got))
		}
		s, err := ParseScript(got)
		if err != nil || !slices.Equal(s.Lock, lock) {
			t.Errorf("%s: read back: %+v, %v", test.name, s.Lock, err)
		}
		if again, err := WriteLock(got, lock); err != nil || again != got {
			t.Errorf("%s: written twice: %v\n%s", test.name, err, cmp.Diff(got, again))
		}
		if emptied, err := WriteLock(got, []Locked{}); err != nil || !strings.Contains(emptied, "# lock = [") || strings.Contains(emptied, sumA) {
			t.Errorf("%s: emptied: %v\n%s", test.name, err, emptied)
		}
	}
}

func TestLockRefuses(t *testing.T) {
	entry := func(name, version, sum string) string {
		return `{name = "` + name + `", version = "` + version + `", source = "pypi", sha256 = "` + sum + `"},`
	}
	for lock, want := range map[string]string{
		entry("six", "1", sumA) + entry("six", "2", sumB): "twice",
		entry("six", "1", "abc"):                          "SHA-256",
		entry("six", "", sumA):                            "no version",
		entry("Six", "1", sumA):                           "not a package's",
		entry("six>1", "1", sumA):                         "not a package's",
		"1":                                               "TOML",
		strings.Repeat(entry("six", "1", sumA), maxLock+1): "are allowed",
	} {
		code := "# /// script\n# [tool.coderunner]\n# lock = [" + lock + "]\n# ///\n"
		if _, err := ParseScript(code); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", lock, err, want)
		}
	}
	own := "# /// script\n# tool.coderunner.lock = []\n# ///\n"
	if got, err := WriteLock(own, []Locked{{Name: "six", Version: "1", SHA256: sumA}}); err == nil {
		t.Errorf("another form was replaced by\n%s", got)
	}
}

func FuzzWriteLock(f *testing.F) {
	f.Add("# /// script\n# dependencies = []\n# [tool.coderunner]\n# lock = [\n# ]\n# ///\n")
	f.Add("#!/x\n# coding: latin-1\n# /// script\n# ///\nx\n")
	f.Fuzz(func(t *testing.T, code string) {
		lock := []Locked{{Name: "six", Version: "1", SHA256: sumA}}
		got, err := WriteLock(code, lock)
		if err != nil {
			return
		}
		if s, err := ParseScript(got); err != nil || !slices.Equal(s.Lock, lock) {
			t.Errorf("%q became %q: %v", code, got, err)
		}
	})
}
