package requirement_test

import (
	"cmp"
	"testing"

	"coderunner/runners/python/requirement"
)

// The answers are those of the library packaging 26.4.

func TestVersion(t *testing.T) {
	// From the oldest to the newest, each row one version in its normal form and others.
	rows := [][]string{
		{"0.9"},
		{"1.0.dev1", "1.dev1", "1.0-DEV.1", "1.0.0dev01"},
		{"1.0a1.dev2", "1.0.ALPHA.1_dev2"},
		{"1.0a1", "1.0-alpha_1", "v1a01"},
		{"1.0a1.post2.dev3"},
		{"1.0a1.post2", "1.0a1-2", "1.0a1.r2"},
		{"1.0b0", "1.0beta", "1.0b-"},
		{"1.0rc1", "1.0c1", "1.0.pre.1", "1.0-preview-1"},
		{"1.0", "1", " 1.0.0\n", "V01.0", "0!1"},
		{"1.0+abc.7", "1.0+ABC-007"},
		{"1.0+abc.8"},
		{"1.0+abc.8.x", "1+ABC_8_x"},
		{"1.0+9"},
		{"1.0+10.a"},
		{"1.0+99999999999999999999"},
		{"1.0.post0.dev1"},
		{"1.0.post0", "1.0post", "1.0-0", "1.0.rev"},
		{"1.0.post1.dev2+x"},
		{"1.0.post1", "1.0-1", "1.0-r.1"},
		{"1.0.post1+a"},
		{"1.0.post1+b"},
		{"1.9"},
		{"1.10"},
		{"2013b0", "2013b"},
		{"300!0.5", "300!0.5.0"},
	}
	var all []requirement.Version
	var places []int
	for i, row := range rows {
		for _, text := range row {
			v, err := requirement.ParseVersion(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := v.String(); text == row[0] && got != text {
				t.Errorf("%q became %s", text, got)
			}
			all, places = append(all, v), append(places, i)
		}
	}
	for i, v := range all {
		for j, w := range all {
			if got, want := v.Compare(w), cmp.Compare(places[i], places[j]); got != want {
				t.Errorf("%s to %s: %d, want %d", v, w, got, want)
			}
		}
	}
	for _, text := range []string{
		"", "v", "vv1", "1.", ".1", "1..2", "1.*", "!1", "1!", "1.0foo", "1.0a1b2", "1.0.dev1.post1", "1.0-1-1", "1.0+", "1.0+a..b", "1.0+a+b", "1.0+\u212a", "2013d", "1 .0", "1,0",
	} {
		if v, err := requirement.ParseVersion(text); err == nil {
			t.Errorf("%q is %s", text, v)
		}
	}
}

func FuzzVersion(f *testing.F) {
	f.Add("1!2.3-ALPHA_4.post5.dev6+x-7")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := requirement.ParseVersion(text)
		if err != nil {
			return
		}
		again, err := requirement.ParseVersion(v.String())
		if err != nil || again.Compare(v) != 0 || again.String() != v.String() {
			t.Errorf("%q became %s, that %s: %v", text, v, again, err)
		}
	})
}

func TestRange(t *testing.T) {
	for specifier, versions := range map[string]map[string]bool{
		"":             {"1.0": true, "1.0.dev1": true},
		"<2":           {"1.9": true, "2.0rc1": false, "2.0.dev1": false, "1.0+local": true, "1!1.0": false},
		"<2.0rc2":      {"2.0rc1": true, "2.0rc2.dev1": true, "2.0": false},
		"<2.0.post1":   {"2.0": true, "2.0rc1": true, "2.0.post0": true, "2.0.post1.dev1": false},
		"<=2.0":        {"2.0+local": true, "2.0.post1": false, "2.0rc1": true},
		">1.0":         {"1.0.1": true, "1.0+local": false, "1.0.post1": false, "1.0.post1.dev1": false, "1!0": true},
		">1.0a1":       {"1.0": true, "1.0+local": true, "1.0.post1": true, "1.0a1.post1": false, "1.0a2.dev1": true},
		">1.0.post1":   {"1.0.post1+local": false, "1.0.post2.dev1": true},
		">=1.0":        {"1!0.1": true, "1.0rc1": false, "1.0+local": true},
		"==1.0":        {"1.0.0": true, "1.0+local": true, "1.0.post1": false},
		"==1.0+LOCAL":  {"1.0+local": true, "1.0": false},
		"==1.0.*":      {"1": true, "1.0.dev6": true, "1.0rc1": true, "1.0.post1+x": true, "1.1": false, "1.00.7": true, "1.10": false, "1!1.0": false},
		"== v1!1.*":    {"1!1.2": true, "2!1.2": false, "1.2": false},
		"!=1.0":        {"1.0.post1": true, "1.0": false, "1.0+local": false},
		"!=1.0.*":      {"1": false, "1.0a1": false, "1.1": true},
		"~=1.0":        {"1.9": true, "2.0": false, "2.0.dev1": false, "1.0rc1": false},
		"~=1.0.0":      {"1": true, "1+local": true, "1.0.post1": true, "1.1": false},
		"~=1.0rc1":     {"1.0rc1": true, "1.5": true, "2.0": false},
		"===1.0":       {"1.0": true, "1.0.0": false},
		"===anything":  {"1.0": false},
		">=1,<2,!=1.5": {"1.5": false, "1.6": true},
		" >= 1 , < 2,": {"1.5": true, "2": false},
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
	for specifier, want := range map[string]bool{
		">=3.0rc1": true, "<1.1.dev2": true, "!=2.0rc1": false, ">=1": false, "===1.0rc1": true, "===rc": false, ">1.0.post1": false,
	} {
		if r, err := requirement.ParseRange(specifier); err != nil || r.Pre() != want {
			t.Errorf("%s names a pre-release: %v, %v", specifier, !want, err)
		}
	}
	for _, text := range []string{
		"1.0", "=1.0", "^1", "~1.0", "*", ">", ">=1 <2", ">=1||<0.5", ">=3.6.*", "~=1", "~=1.*", "==1.*.*", "==1.0a1.*", "==1.0.post1.*", "==1.0+x.*", ">=1.0+x", "~=1.0+x", "===", "=== a b", "(>=1)",
	} {
		if _, err := requirement.ParseRange(text); err == nil {
			t.Errorf("%q is taken for a range", text)
		}
	}
}
