package shell

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindPython(t *testing.T) {
	for code, want := range map[string]*Python{
		"ls | grep python": nil,
		"python3 (":        nil,
		"python3 x.py":     {Programs: map[string]string{}},
		"if true; then /usr/bin/python3.14 -u -c 'import six\nprint(1)'; fi": {Programs: map[string]string{"script_1.py": "import six\nprint(1)"}},
		"python3 - a <<'EOF' | cat\nimport attr\nEOF":                        {Programs: map[string]string{"script_1.py": "import attr\n"}},
		"cat > lib/a.py <<EOF\nimport six\nEOF\npython lib/a.py":             {Programs: map[string]string{"lib/a.py": "import six\n"}},
		"pip install -q 'six>=1' attrs && python3 -m pip install x":          {Programs: map[string]string{}, Commands: [][]string{{"pip", "install", "-q", "six>=1", "attrs"}, {"pip", "install", "x"}}},
		"pytest -q tests; python -m http.server 80 &":                        {Programs: map[string]string{}, Commands: [][]string{{"pytest"}, {"python", "-m", "http.server"}}},
		"python -m coverage run -m pytest -m slow":                           {Programs: map[string]string{}, Commands: [][]string{{"python", "-m", "coverage"}, {"python", "-m", "pytest"}}},
		"coverage run --branch -m pytest && coverage report -m":              {Programs: map[string]string{}, Commands: [][]string{{"coverage"}, {"python", "-m", "pytest"}, {"coverage"}}},
		"A=1 timeout -k 1 30s python3 -X dev -m pytest -m slow":              {Programs: map[string]string{}, Commands: [][]string{{"python", "-m", "pytest"}}},
		"python x.py -m pytest":                                              {Programs: map[string]string{}},
		"env -i timeout":                                                     nil,
	} {
		if diff := cmp.Diff(want, FindPython(code)); diff != "" {
			t.Errorf("%s: %s", code, diff)
		}
	}
}

// The text is looked at before it runs, in the server: one that nests without end must
// not fill the stack there.
func TestFindPythonNested(t *testing.T) {
	for _, opening := range []string{"$(", "{ ", ": $((" + strings.Repeat("(", 1000)} {
		code := "python3 -c 1\n" + strings.Repeat(opening, (1<<20)/len(opening))
		if found := FindPython(code); found != nil {
			t.Errorf("%.10s…: %+v", opening, found)
		}
	}
}
