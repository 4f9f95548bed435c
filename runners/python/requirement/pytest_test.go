package requirement

import (
	"slices"
	"testing"
)

func TestPythonPath(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"pytest.ini", "[pytest]\naddopts = -q\npythonpath = src lib\n", []string{"src", "lib"}},
		{"setup.cfg", "[tool:pytest]\npythonpath:\n  src\n\tlib\ntestpaths = t\n", []string{"src", "lib"}},
		{"tox.ini", "[tox]\npythonpath = src\n", nil},
		{"pytest.ini", "", nil},
		{"pyproject.toml", "[tool.pytest.ini_options]\npythonpath = ['a b', 'c']", []string{"a b", "c"}},
		{"pyproject.toml", "[tool.pytest.ini_options]\npythonpath = 'a b'", []string{"a", "b"}},
		{"pyproject.toml", "[tool.pytest.ini_options]\npythonpath = 7", nil},
		{"pyproject.toml", "[tool", nil},
	} {
		if got := PythonPath(tt.name, []byte(tt.text)); !slices.Equal(got, tt.want) {
			t.Errorf("%s %q: %q, want %q", tt.name, tt.text, got, tt.want)
		}
	}
}
