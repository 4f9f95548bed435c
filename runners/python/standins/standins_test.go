package standins

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/runners/python/requirement"
	"coderunner/runners/python/wheel"
)

// TestKnown has what each stand-in says of itself.
func TestKnown(t *testing.T) {
	for project, a := range Known() {
		if wheel.Normalize(project) != project || !strings.HasSuffix(a.Why, ".") || a.Result == "" {
			t.Errorf("%s: %+v", project, a)
		}
		if _, err := requirement.Parse(project + a.Versions); err != nil || a.Versions == "" {
			t.Errorf("%s: versions %q: %v", project, a.Versions, err)
		}
		if u, err := url.Parse(a.Upstream); err != nil || u.Scheme != "https" {
			t.Errorf("%s: upstream %q", project, a.Upstream)
		}
		if _, err := os.Stat(filepath.Join(project, "test.py")); err != nil || Key(project) == "" {
			t.Errorf("%s: %v, or no files", project, err)
		}
	}
}

// TestReplace puts a stand-in into a version that has its file, into one that has not, and
// in the place of an extension module.
func TestReplace(t *testing.T) {
	if Key("urllib3") == "" || Key("six") != "" {
		t.Errorf("keys %q, %q", Key("urllib3"), Key("six"))
	}
	dir := t.TempDir()
	if err := Replace("urllib3", dir, false); err != nil {
		t.Fatal(err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("files were added: %v", list)
	}
	name := filepath.Join(dir, "urllib3", "contrib", "emscripten", "__init__.py")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("import js"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replace("urllib3", dir, false); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || strings.Contains(string(b), "import js") {
		t.Errorf("%q, %v", b, err)
	}
	if err := Replace("ujson", dir, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ujson.py")); err != nil {
		t.Errorf("no module was added: %v", err)
	}
}
