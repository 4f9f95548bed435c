package npm

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

var (
	packageName = regexp.MustCompile(`^(@[a-z0-9-]+/)?[a-z0-9][a-z0-9._-]*$`)
	version     = regexp.MustCompile(`^\d+(\.\d+)?$`)
)

// TestFacts checks the form of each row, and that no other says the same.
func TestFacts(t *testing.T) {
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(new(Facts)); err != nil {
		t.Fatal(err)
	}
	f := Known()
	named := func(where string, names ...string) {
		t.Helper()
		for _, name := range names {
			if !packageName.MatchString(name) {
				t.Errorf("%s: %q is no name of a package", where, name)
			}
		}
	}
	for _, versions := range []map[string]string{f.Majors, f.PureMajors} {
		for name, v := range versions {
			named("majors", name)
			if !version.MatchString(v) || f.Majors[name] != "" && f.PureMajors[name] != "" {
				t.Errorf("majors: %s = %q is malformed, or there twice", name, v)
			}
		}
	}
	for name, other := range f.Substitutes {
		named("substitutes", name, other)
		if f.Substitutes[other] != "" || name == other {
			t.Errorf("substitutes: %s has one, too", other)
		}
	}
	for name, first := range f.Twins {
		found := false
		for _, other := range f.Substitutes {
			found = found || other == name
		}
		if !found || first < 0 {
			t.Errorf("twins: %s = %d is no substitute", name, first)
		}
	}
	for n, c := range f.Companions {
		named("companion", c.Of)
		where := "companion " + strconv.Itoa(n) + " of " + c.Of
		expr, err := regexp.Compile(c.Text)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if c.Name != "" {
			named(where, c.Name)
		}
		if (c.Name == "") != (expr.NumSubexp() == 1) || slices.Index(f.Companions, c) != n {
			t.Errorf("%s has a name and a group, neither, or is there twice", where)
		}
	}
	var before []Native
	for _, n := range f.Natives {
		for _, word := range n.Names {
			for _, other := range before {
				if other.Like(word) {
					t.Errorf("native: %s comes after %v, which has it", word, other.Names)
				}
			}
		}
		if len(n.Names) == 0 || n.Instead == "" {
			t.Errorf("native: %+v is incomplete", n)
		}
		before = append(before, n)
	}
}
