package lockfile_test

import (
	"strings"
	"testing"

	"coderunner/runners/python/lockfile"
)

const text = `{"info": {"abi_version": "2026_0", "python": "3.14.2"}, "packages": {
 "beautifulsoup4": {"name": "beautifulsoup4", "version": "4.14.3", "file_name": "b.whl", "sha256": "ab", "depends": ["Soup_Sieve"], "imports": ["bs4"], "package_type": "package"},
 "google-x": {"name": "google-x", "version": "1", "file_name": "g.whl", "imports": ["google.x"]}}}`

func TestParse(t *testing.T) {
	l, err := lockfile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for module, want := range map[string]string{
		"bs4": "beautifulsoup4", "bs4.element": "beautifulsoup4", "google.x.y": "google-x", "google": "", "json": "",
	} {
		if got := l.ByImport(module); got != want {
			t.Errorf("ByImport(%q) = %q, want %q", module, got, want)
		}
	}
	if got := l.ByName["beautifulsoup4"].Depends[0]; got != "soup-sieve" {
		t.Errorf("depends on %q", got)
	}
	if l.Python != "3.14.2" || l.ABI != "2026_0" || len(l.Digest) != 64 {
		t.Errorf("got %+v", l)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, bad := range []string{"", "[]", strings.Replace(text, "b.whl", "../b.whl", 1)} {
		if _, err := lockfile.Parse([]byte(bad)); err == nil {
			t.Errorf("Parse(%.30q) succeeded", bad)
		}
	}
}
