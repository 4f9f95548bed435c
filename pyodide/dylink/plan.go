package dylink

import (
	"context"
	"fmt"
	"path"
	"strings"
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
