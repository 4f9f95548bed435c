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
