package site

import (
	"slices"
	"strings"
	"testing"
)

func TestEntryPoints(t *testing.T) {
	for text, want := range map[string][]entryPoint{
		"":                                  nil,
		"a = b:c":                           nil, // of no section
		"[console_scripts]\r\na = b:c\r\n":  {{"a", "b", "c"}},
		"[ console_scripts ]\na=b.c:d.e[x]": {{"a", "b.c", "d.e"}},
		"[gui_scripts]\na: b:c\n[pytest11]\nd = e:f":                                                {{"a", "b", "c"}},
		"[console_scripts]\na = b\n..=b:c\n.=b:c\na/b=c:d\n# a=b:c\n;a=b:c\na=b:c()\na = b;c : d\n": nil,
		"[console_scripts]\na=b:c\nd=" + strings.Repeat("e", 1<<17):                                 {{"a", "b", "c"}},
	} {
		if got, err := entryPoints(strings.NewReader(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("entryPoints(%.60q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func FuzzEntryPoints(f *testing.F) {
	f.Add("[console_scripts]\na = b:c\n")
	f.Fuzz(func(t *testing.T, text string) {
		points, err := entryPoints(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range points {
			if strings.ContainsAny(p.name, "/\x00") || strings.Count(p.script(), "\n") != 5 {
				t.Errorf("%q: %q", p.name, p.script())
			}
		}
	})
}
