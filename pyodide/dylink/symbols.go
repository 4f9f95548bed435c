package dylink

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/pyodide/wasmbin"
)

// resolve finds the symbols of all libraries, and reports all that are missing
// at once.
func (p *load) resolve() error {
	missing := map[string]bool{}
	var wrong []string
	for i, d := range p.libs {
		for _, g := range d.Image.globals {
			if !slices.Contains(p.l.c.Globals, g.name) || g.typ != wasmbin.I32 || !g.mutable {
				return fmt.Errorf("%s: it imports the global %s, which does not exist", d.path, g.name)
			}
		}
		done := map[string]bool{}
		for _, f := range d.Image.funcs {
			if done[f.name] {
				continue
			}
			done[f.name] = true
			b := p.bind(i, f)
			switch {
			case b.in == nil && !f.weak:
				missing[f.name] = true
			case b.in != nil && !b.typ.Equal(f.typ):
				wrong = append(wrong, fmt.Sprintf("%s (%v wanted, %v defined)", f.name, typeText(f.typ), typeText(b.typ)))
			}
			p.bound[d] = append(p.bound[d], b)
		}
		for _, g := range d.Image.got {
			s, ok := p.gotSymbol(g.name)
			if !ok && !g.weak {
				missing[g.name] = true
			}
			p.got[d] = append(p.got[d], gotBinding{g.name, s})
		}
	}
	root := p.path()
	switch {
	case len(missing) > 0:
		return fmt.Errorf("%s: undefined %s", root, list(missing))
	case len(wrong) > 0:
		return fmt.Errorf("%s: functions of another type: %s", root, strings.Join(wrong[:min(len(wrong), maxListed)], ", "))
	}
	return nil
}

func (p *load) path() string {
	if len(p.libs) == 0 {
		return ""
	}
	return p.libs[len(p.libs)-1].path
}

// bind resolves one function import of the library at place i.
func (p *load) bind(i int, f funcImport) binding {
	s, ok := p.l.lookup(f.name)
	if !ok && !f.host {
		s, ok = p.scope[f.name]
	}
	if !ok {
		return binding{f.name, trapThunk, symbol{definition: definition{typ: f.typ}}}
	}
	b := binding{name: f.name, symbol: s}
	switch {
	case s.kind != wasmbin.KindFunc:
		b.symbol = symbol{definition: definition{typ: f.typ}}
		b.thunk = trapThunk
	case s.export == "", s.in.lib != nil && !s.in.lib.ready && slices.Index(p.libs, s.in.lib) >= i:
		b.thunk = slotThunk
	}
	return b
}

// gotSymbol resolves a GOT entry: one table by name over all libraries.
func (p *load) gotSymbol(name string) (symbol, bool) {
	if internal(name) {
		return symbol{}, false
	}
	if d, ok := p.l.c.Main.symbols[name]; ok {
		return symbol{d, p.l.main}, true
	}
	if s, ok := p.l.defs[name]; ok {
		return s, true
	}
	for _, d := range p.libs {
		if s, ok := d.symbol(name); ok {
			return s, true
		}
	}
	s, ok := p.l.host[name]
	return s, ok
}

// maxListed bounds the symbols that a message names.
const maxListed = 40

// list names symbols in order.
func list(names map[string]bool) string {
	all := make([]string, 0, len(names))
	for n := range names {
		all = append(all, n)
	}
	slices.Sort(all)
	noun := "symbol "
	if len(all) > 1 {
		noun = fmt.Sprintf("%d symbols: ", len(all))
	}
	more := ""
	if len(all) > maxListed {
		more = fmt.Sprintf(" and %d more", len(all)-maxListed)
		all = all[:maxListed]
	}
	return noun + strings.Join(all, ", ") + more
}

// typeText writes a function type as "(i32, i64) -> f64".
func typeText(t wasmbin.FuncType) string {
	text := func(ts []wasmbin.ValType) string {
		s := make([]string, len(ts))
		for i, v := range ts {
			s[i] = v.String()
		}
		return "(" + strings.Join(s, ", ") + ")"
	}
	return text(t.Params) + " -> " + text(t.Results)
}
