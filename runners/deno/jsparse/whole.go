package jsparse

import (
	"regexp"
	"slices"
	"strings"
)

// wholeImport is an import of all that a module exports: import * as name from "specifier".
type wholeImport struct {
	specifier, name string
	as              token
}

// Whole returns the modules all of which a file imports by one name.
func (p *Program) Whole() (specifiers []string) {
	for _, w := range p.wholes {
		specifiers = append(specifiers, w.specifier)
	}
	return specifiers
}

// Exporting returns the program with each import * as x from a CommonJS module taken for
// one of its default, which is what the module exports, unless the program uses x.default.
// It returns p if that changes nothing.
func (p *Program) Exporting(specifier string) *Program {
	changed := p
	for _, w := range p.wholes {
		at, found := w.star(p.Source)
		if !found || w.specifier != specifier || p.edited(at) || w.defaultUsed(p.Source) {
			continue
		}
		changed = changed.with(edit{offset: at, cut: 1, text: " ", form: true}, edit{offset: w.as.start, cut: len("as"), text: "  ", form: true})
	}
	return changed
}

// Unexporting returns the program without what Exporting has changed, nil if that is nothing.
func (p *Program) Unexporting(specifier string) *Program {
	changed := *p
	for _, w := range p.wholes {
		at, _ := w.star(p.Source)
		if w.specifier == specifier && p.edited(w.as.start) {
			changed.edits = slices.DeleteFunc(slices.Clone(changed.edits), func(e edit) bool { return e.offset == at || e.offset == w.as.start })
		}
	}
	if len(changed.edits) == len(p.edits) {
		return nil
	}
	return &changed
}

// star returns the place of the asterisk.
func (w wholeImport) star(source string) (at int, found bool) {
	before, found := strings.CutSuffix(strings.TrimRight(source[:w.as.start], " \t\r\n"), "*")
	return len(before), found
}

// defaultUsed reports whether a program uses the default export by the name for all.
func (w wholeImport) defaultUsed(source string) bool {
	name := `(?:^|[^.\w$])` + regexp.QuoteMeta(w.name)
	return regexp.MustCompile(name + `(?:\s+as\s+\w+\))?(?:\s*\??\.\s*default\b|\s*(?:\?\.)?\[\s*["']default)|\bdefault\s*:[^;]*=\s*` + regexp.QuoteMeta(w.name) + `\b|["']default["']\s+in\s+` + regexp.QuoteMeta(w.name) + `\b`).MatchString(source)
}
