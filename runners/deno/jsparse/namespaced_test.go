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

// TestExporting takes an import of all of a module for one of its default.
func TestExporting(t *testing.T) {
	for source, want := range map[string]string{
		"import * as _ from 'lodash'; _.chunk(a)":                              "import      _ from 'lodash'",
		"import*as _ from 'lodash'; const s = `\nimport * as _ from 'lodash'`": "import    _ from 'lodash'; const s = `\nimport * as _",
		"import * as _ from 'lodash'; (_ as any).default(a)":                   "",
		"import * as _ from 'lodash'; const { default: chunk } = _":            "",
		"import * as _ from 'other'; _.chunk(a)":                               "",
		"import type * as _ from 'lodash'; let a: _.A":                         "",
		"const s = `\nimport * as _ from 'lodash'`; _.chunk(a)":                "",
	} {
		p := main(source)
		changed := p.Exporting("lodash")
		if (changed == p) != (want == "") || want != "" && !strings.Contains(changed.Edited(), want) || changed.Exporting("lodash") != changed || want != "" && changed.Unexporting("lodash").Edited() != p.Edited() {
			t.Errorf("%s: %s, want %q", source, changed.Edited(), want)
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

// TestTypeOnly takes an import of a name that a module does not have for one of a type.
func TestTypeOnly(t *testing.T) {
	for source, want := range map[string]string{
		"import { Column, Relation } from 'typeorm'; class A { @Column() b!: Relation<B> }": "{ Column, type Relation }",
		"import { Relation as R } from 'typeorm'; @D() class A { a: R }":                    "{ type Relation as R }",
		"import { Relation } from 'typeorm'; @D() class A { a: Relation }; Relation(1)":     "",
		"import { Relation } from 'typeorm'; @D() class A { a: Relation }; new Relation":    "",
		"import { Relation } from 'typeorm'; @D() class A { a: Relation }; Relation.of(1)":  "",
		"import { type Relation } from 'typeorm'; @D() class A { a: Relation }":             "",
		"import { Column } from 'typeorm'; @D() class A { a: Relation }":                    "",
		"import { Relation } from 'typeorm'; @D() class A {}; Relation":                     "",
		"import { Relation } from 'typeorm'; const a: Relation = 1; Relation":               "",
	} {
		p := main(source).TypeOnly("typeorm", "Relation")
		if (p == nil) != (want == "") || p != nil && !strings.Contains(p.Edited(), want) {
			t.Errorf("%s: %+v, want %q", source, p, want)
		}
		if p != nil && p.TypeOnly("typeorm", "Relation") != nil {
			t.Errorf("%s: it is changed again", source)
		}
		if p == nil {
			continue
		}
		if all := p.Destructured("typeorm", "Column", true); all != nil && strings.Contains(all.Edited(), "type ") {
			t.Errorf("%s: %s", source, all.Edited())
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
