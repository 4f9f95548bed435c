package jsparse

import (
	"strings"
	"testing"
)

// TestNamespaced takes a default import that a module does not have for all of its names.
func TestNamespaced(t *testing.T) {
	for source, want := range map[string]string{
		"import yaml from 'js-yaml';\nyaml.load(a) + yaml?.dump": "import * as yaml from 'js-yaml'",
		"import yaml from 'js-yaml'; yaml(1); yaml.load(a)":      "",
		"import yaml from 'js-yaml'; new yaml":                   "",
		"import yaml from 'other'; yaml.load(a)":                 "",
	} {
		p := main(source).Namespaced("js-yaml")
		if (p == nil) != (want == "") || p != nil && (!strings.Contains(p.Edited(), want) || p.Namespaced("js-yaml") != nil) {
			t.Errorf("%s: %+v, want %q", source, p, want)
		}
	}
}

// TestBraced takes a default import that a module does not have for its export of that name.
func TestBraced(t *testing.T) {
	for source, want := range map[string]string{
		"let a; import LRUCache from 'lru-cache'; new LRUCache()": "import {LRUCache} from 'lru-cache'",
		"import LRU from 'lru-cache'; new LRU()":                  "",
	} {
		p := main(source).Braced("lru-cache", func(name string) bool { return name == "LRUCache" })
		if (p == nil) != (want == "") || p != nil && !strings.Contains(p.Edited(), want) {
			t.Errorf("%s: %+v, want %q", source, p, want)
		}
	}
}

func TestImportPlace(t *testing.T) {
	source := "// a\nimport d, { x as y,\n  b } from 'm'; import { c } from \"n\";\nimport * as o from 'o'\nexport { q } from 'm'; import e from 'n'"
	for _, tt := range []struct {
		specifier, name string
		line, column    int
	}{
		{"m", "b", 3, 3}, {"m", "x", 2, 13}, {"m", "q", 5, 10}, {"n", "c", 3, 26}, {"n", "default", 5, 31}, {"m", "default", 2, 8}, {"m", "c", 0, 0}, {"x", "b", 0, 0},
	} {
		if line, column := main(source).ImportPlace(tt.specifier, tt.name); line != tt.line || column != tt.column {
			t.Errorf("%s of %s: %d:%d, want %d:%d", tt.name, tt.specifier, line, column, tt.line, tt.column)
		}
	}
}
