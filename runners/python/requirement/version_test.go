package requirement_test

import (
	"testing"

	"coderunner/runners/python/requirement"
)

// What the library packaging says of each pair.
func TestRange(t *testing.T) {
	for specifier, versions := range map[string]map[string]bool{
		"<2":           {"1.9": true, "2.0rc1": false, "2.0.dev1": false, "1.0+local": true, "1!1.0": false},
		"<2.0rc2":      {"2.0rc1": true, "2.0": false},
		"==1.0":        {"1.0.0": true, "1.0+local": true, "1.0.post1": false},
		"==1.0.*":      {"1.0.dev6": true, "1.0rc1": true, "1.1": false},
		"!=1.0":        {"1.0.post1": true, "1.0": false},
		"~=1.0":        {"1.9": true, "2.0": false},
		">=1.0":        {"1!0.1": true, "1.0rc1": false},
		"===1.0":       {"1.0": true, "1.0.0": false},
		">=1,<2,!=1.5": {"1.5": false, "1.6": true},
	} {
		r, err := requirement.ParseRange(specifier)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range versions {
			v, err := requirement.ParseVersion(text)
			if err != nil || r.Contains(v) != want {
				t.Errorf("%s contains %s: %v, %v", specifier, text, !want, err)
			}
		}
	}
	for specifier, want := range map[string]bool{">=3.0rc1": true, "<1.1.dev2": true, "!=2.0rc1": false, ">=1": false} {
		if r, err := requirement.ParseRange(specifier); err != nil || r.Pre() != want {
			t.Errorf("%s names a pre-release: %v, %v", specifier, !want, err)
		}
	}
}
