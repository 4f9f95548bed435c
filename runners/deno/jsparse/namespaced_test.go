package jsparse

import (
	"fmt"
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

func TestReferences(t *testing.T) {
	source := "// a\nimport d, { x as y,\n  b } from 'm'; import { c } from \"n\";\nimport * as o from 'o'\nexport { q } from 'm'; import e from 'n'\n" +
		"const r = require('r'), { s, t: u } = require(`s`); require('t')(1); const v = await import('v'); import 'w'; x.require('x'); import f = require('y'); '\U0001f600'; import('z')"
	got := ""
	for _, r := range Scan(source).References() {
		got += fmt.Sprintf("%s %d:%d %t %t", r.Specifier, r.Line, r.Column, r.Required, r.Used)
		for _, n := range r.Names {
			got += fmt.Sprintf(" %s=%s %d:%d", n.As, n.Of, n.Line, n.Column)
		}
		got += "\n"
	}
	if want := `m 3:12 false false d=default 2:8 y=x 2:13 b=b 3:3
n 3:35 false false c=c 3:26
o 4:20 false false o=* 4:8
m 5:19 false false q=q 5:10
n 5:38 false false e=default 5:31
r 6:19 true false r= 6:7
s 6:47 true false s=s 6:27 u=t 6:30
t 6:61 true true
v 6:93 false false v= 6:76
w 6:106 false false
y 6:146 true false f= 6:134
z 6:165 false false
`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
