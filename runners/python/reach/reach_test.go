package reach

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestScan(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"import a, b.c as d # e\nimport f;import g", "a b.c f g"},
		{"from a import b as c, d\nfrom . import e\nfrom .f import *", "a:b,d .:e .f"},
		{"from a import (b, # x\n  c,\n)\nfrom d \\\n import e", "a:b,c d:e"},
		{"try:\n  import a\nexcept ImportError:\n  import b\nif x: pass\nelse:\n  from c import d", "a b c:d"},
		{"try: import a\nexcept E: pass", "a"},
		{"class C:\n  import a\n  def f():\n    import no\n  import b", "a b"},
		{"def f(\n x,\n):\n  import no\n\n# import no\n  import no\nimport a", "a"},
		{"async def f():\n  import no\nif TYPE_CHECKING:\n  import no\nif __name__ == '__main__':\n  import no\nimport a", "a"},
		{"def f(): import no\n\n\n)\nimport a", "a"},
		{"\"\"\"\nimport no\n\"\"\"\nx = 'import no'; y = '''\nimport no'''\nimport a", "a"},
		{"x = 'it\\'s\\\nimport no'\nimport a\ns = \"not closed\nimport b", "a b"},
		{"x = [\nimport no\n]\nimport a\r\nimport b\r\n", "a b"},
		{"from a import b\nimported = from_ = 1\nfrom x in y\nimport", "a:b"},
		{"x = '''not closed\nimport no", ""},
		{"(", ""}, {"\\", ""}, {"'", ""}, {"#", ""},
	} {
		var got []string
		for _, s := range scan([]byte(test.source)) {
			text := s.module
			if s.names != nil {
				text += ":" + strings.Join(s.names, ",")
			}
			got = append(got, text)
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%q: %s, want %s", test.source, got, test.want)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("from a import (b,\n'''c''') \\\n#"))
	f.Fuzz(func(_ *testing.T, source []byte) { scan(source) })
}

// TestFrom has two directories with parts of a namespace, a cycle, a library that hides
// a source, and names that lead elsewhere.
func TestFrom(t *testing.T) {
	var trees []string
	for _, files := range []map[string]string{{
		"pkg/__init__.py":                "from . import a\nfrom .sub.deep import x\n",
		"pkg/a.py":                       "import pkg, pkg.fast, other, ns.one, ns.two\nfrom .. import no\ndef f(): import pkg.late\n",
		"pkg/late.py":                    "",
		"pkg/fast.cpython-314-wasm32.so": "",
		"pkg/fast.py":                    "import pkg.late",
		"pkg/sub/__init__.py":            "from ..b import *",
		"pkg/sub/deep.py":                "from pkg.c import y",
		"pkg/b.py":                       "import pkg/late, pkg..late, .late",
		"pkg/c.py":                       strings.Repeat(" ", MaxSource) + "\nimport pkg.late",
		"ns/one.py":                      "",
		"twice.py":                       "",
	}, {
		"ns/two.py": "import twice",
		"twice.py":  "import pkg.late",
		"other.txt": "",
	}} {
		dir := t.TempDir()
		for name, text := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		trees = append(trees, dir)
	}
	sources, libraries := From(trees, []string{"pkg", "nowhere", "", ".."})
	var got []string
	for _, f := range slices.Concat(sources, libraries) {
		got = append(got, fmt.Sprintf("%d:%s", f.Tree, f.Name))
	}
	slices.Sort(got)
	want := "0:ns/one.py 0:pkg/__init__.py 0:pkg/a.py 0:pkg/b.py 0:pkg/fast.cpython-314-wasm32.so 0:pkg/sub/__init__.py 0:pkg/sub/deep.py 0:twice.py 1:ns/two.py"
	if got := strings.Join(got, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
