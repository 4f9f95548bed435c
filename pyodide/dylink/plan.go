package dylink

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"coderunner/pyodide/wasmbin"
)

// maxDepth bounds how far libraries may need one another.
const maxDepth = 32

// load is one dlopen in the making.
type load struct {
	l     *Linker
	libs  []*library // to be loaded, those that are needed first
	found map[string]*library
	scope map[string]symbol // what the libraries of this load see of one another
	bound map[*library][]binding
	got   map[*library][]gotBinding
	glue  int // of l when the load began
}

// binding is a function import and what it becomes.
type binding struct {
	name  string
	thunk thunk
	symbol
}

// thunk is how an import reaches its function.
type thunk byte

const (
	noThunk   thunk = iota // directly
	slotThunk              // through its slot: the function is not there yet
	trapThunk              // not at all: a weak symbol that nobody defines
)

// gotBinding is a GOT entry and what it becomes; in is nil for a weak symbol
// that nobody defines.
type gotBinding struct {
	name string
	symbol
}

// plan reads a library and all that it needs, and resolves their symbols.
// Nothing of the interpreter is changed.
func (l *Linker) plan(ctx context.Context, name string) (*load, *library, error) {
	p := &load{l: l, found: map[string]*library{}, scope: map[string]symbol{},
		bound: map[*library][]binding{}, got: map[*library][]gotBinding{}, glue: len(l.glue)}
	file, ok, err := l.find(ctx, name, "", nil)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, fmt.Errorf("%s: file not found", name)
	}
	root, err := p.add(ctx, file, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := p.resolve(); err != nil {
		return nil, nil, err
	}
	return p, root, nil
}

// add plans one library, after those that it needs.
func (p *load) add(ctx context.Context, file string, depth int) (*library, error) {
	if d := p.l.libs[file]; d != nil {
		p.see(d, map[*library]bool{})
		return d, nil
	}
	if d := p.found[file]; d != nil {
		return d, nil
	}
	switch {
	case depth > maxDepth:
		return nil, fmt.Errorf("%s: libraries need one another more than %d deep", file, maxDepth)
	case len(p.l.order)+len(p.found) >= maxLibraries:
		return nil, fmt.Errorf("%s: more than %d libraries", file, maxLibraries)
	}
	lib, err := p.l.c.Open(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	d := &library{Library: lib, path: file,
		object: object{static: lib.Image.slots, added: map[uint32]uint32{}}}
	d.object.lib = d
	p.found[file] = d
	for _, name := range lib.Image.Needed {
		f, ok, err := p.l.find(ctx, name, file, lib.Image.RuntimePath)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("%s: needs %s: file not found", file, name)
		}
		n, err := p.add(ctx, f, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: needs %s: %w", file, name, err)
		}
		d.needs = append(d.needs, n)
	}
	p.libs = append(p.libs, d)
	for name := range lib.Image.exports {
		p.define(d, name)
	}
	return d, nil
}

// define makes a symbol seen by the libraries of this load, unless one of that
// name is.
func (p *load) define(d *library, name string) {
	if s, ok := d.symbol(name); ok {
		if _, taken := p.scope[name]; !taken {
			p.scope[name] = s
		}
	}
}

// see adds what a library that is loaded already, and those that it needs,
// define.
func (p *load) see(d *library, seen map[*library]bool) {
	if seen[d] {
		return
	}
	seen[d] = true
	for _, n := range d.needs {
		p.see(n, seen)
	}
	for name := range d.Image.exports {
		p.define(d, name)
	}
}

// find searches a library as the C library does: in the runtime path of the
// one that needs it, then in LD_LIBRARY_PATH. A name with a slash is a file. A
// name found nowhere may be that of a library which is loaded.
func (l *Linker) find(ctx context.Context, name, parent string, runtimePath []string) (file string, ok bool, err error) {
	if strings.Contains(name, "/") {
		if file, ok := l.c.Find(name); ok || path.IsAbs(name) {
			return file, ok, nil
		}
	}
	dirs := make([]string, len(runtimePath))
	for i, dir := range runtimePath {
		for _, origin := range []string{"$ORIGIN", "${ORIGIN}"} {
			if rest, ok := strings.CutPrefix(dir, origin); ok {
				dir = path.Dir(parent) + rest
			}
		}
		dirs[i] = dir
	}
	if file, ok, err = l.search(ctx, name, strings.Join(dirs, ":")); ok || err != nil {
		return file, ok, err
	}
	for _, d := range l.order {
		if path.Base(d.path) == name {
			return d.path, true, nil
		}
	}
	return "", false, nil
}

// search asks libc, which knows the environment.
func (l *Linker) search(ctx context.Context, name, dirs string) (file string, ok bool, err error) {
	const size = maxPathLen
	if len(name) > maxPathLen || len(dirs) > maxNeeded*maxPathLen {
		return "", false, fmt.Errorf("a library's name is too long")
	}
	buf, err := l.call(ctx, "malloc", uint32(size+len(name)+len(dirs)+2))
	if err != nil {
		return "", false, err
	}
	if buf == 0 {
		return "", false, errNoMemory
	}
	nameAt := buf + size
	dirsAt := nameAt + uint32(len(name)) + 1
	if !l.c.Mem.Put(nameAt, append([]byte(name), 0)) || !l.c.Mem.Put(dirsAt, append([]byte(dirs), 0)) {
		return "", false, errOutOfRange
	}
	found, err := l.call(ctx, "_emscripten_find_dylib", buf, dirsAt, nameAt, size)
	if err != nil {
		return "", false, err
	}
	if found != 0 {
		s, _, ok := l.c.Mem.CString(found, size)
		if !ok {
			return "", false, errOutOfRange
		}
		file, ok = l.c.Find(s)
		if !ok {
			found = 0
		}
	}
	_, err = l.call(ctx, "free", buf)
	return file, found != 0, err
}

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
