package pypi

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"coderunner/runners/python/wheel"
)

var (
	module = regexp.MustCompile(`^[A-Za-z]\w*(\.\w+)*$`)
	major  = regexp.MustCompile(`^<\d+$`)
)

// TestFacts checks the form of each row, and that it says what is not so without it.
func TestFacts(t *testing.T) {
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(new(Facts)); err != nil {
		t.Fatal(err)
	}
	f := Known()
	project := func(where, name string) {
		t.Helper()
		if wheel.Normalize(name) != name || name == "" {
			t.Errorf("%s: %q is no normalized name of a project", where, name)
		}
	}
	for name, in := range f.Modules {
		p, version, bounded := strings.Cut(in, "<")
		project("modules", p)
		if !module.MatchString(name) || bounded && !major.MatchString("<"+version) {
			t.Errorf("modules: %s = %q is malformed", name, in)
		}
		if in == wheel.Normalize(name) && !strings.Contains(name, ".") {
			t.Errorf("modules: %s needs no row: its project has its name", name)
		}
		if f.Removed[name] != "" {
			t.Errorf("modules: %s is among the removed ones, too", name)
		}
	}
	for name, parts := range f.Namespaces {
		if n := 1 + strings.Count(name, "."); !module.MatchString(name) || parts < n || parts == n && parts == 1 {
			t.Errorf("namespaces: %s = %d is the default, or less than its own parts", name, parts)
		}
	}
	for name, why := range f.Removed {
		if !module.MatchString(name) || !strings.HasPrefix(why, "it was removed from Python in 3.") {
			t.Errorf("removed: %s = %q is malformed", name, why)
		}
	}
	for name, other := range f.Instead {
		project("instead", name)
		seen := map[string]bool{name: true}
		for ; other != ""; other = f.Instead[other] {
			if seen[other] {
				t.Errorf("instead: %s comes back to itself", name)
				break
			}
			seen[other] = true
		}
	}
	for _, list := range [][]string{f.Own, f.PythonOnly, f.GeneralExtras} {
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("%v is not sorted, or has something twice", list)
		}
	}
	for _, name := range f.PythonOnly {
		project("python_only", name)
	}
	for name, words := range f.Words {
		project("words", name)
		for word, extra := range words {
			if word == extra {
				t.Errorf("words: %s needs no row for %s: the extra has its name", name, word)
			}
		}
	}
	for name, names := range f.Names {
		project("names", name)
		for word, projects := range names {
			if _, twice := f.Words[name][word]; twice && slices.Contains(projects, f.Words[name][word]) {
				t.Errorf("names: %s has %s among words, too", name, word)
			}
			for _, p := range projects {
				project("names", p)
			}
		}
	}
	for name, texts := range f.Texts {
		project("texts", name)
		for _, p := range slices.Sorted(maps.Values(texts)) {
			project("texts", p)
		}
	}
	for name, late := range f.Late {
		for _, member := range late {
			if strings.Count(member, ":") != 1 {
				t.Errorf("late: %s of %s is no MODULE:NAME", member, name)
			}
		}
	}
}
