package dylink

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// part is one of a split library.
type part struct {
	of *library
	n  uint32
}

// LoadPart instantiates a part of the split library whose instance the caller is. A part
// imports what the library does, and from the library's instance as the module primary. It has
// no start function and no names, and is not part of the linker's state: another instance of
// the library gets its parts when it calls for them.
func (l *Linker) LoadPart(ctx context.Context, caller api.Module, primary string, n uint32) error {
	d := l.starting
	for _, o := range l.order {
		if o.mod == caller {
			d = o
		}
	}
	if d == nil || d.Parts == nil {
		return fmt.Errorf("no library here has parts")
	}
	id := part{d, n}
	if l.parts[id] != nil {
		return fmt.Errorf("%s: part %d is there", d.path, n)
	}
	code, err := d.Parts.Part(ctx, n)
	if err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	m, err := l.c.Instantiate(l.libraryResolver(ctx, d, map[string]api.Module{envModule: d.envMod, primary: caller}), code)
	if err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	if l.parts == nil {
		l.parts = map[part]api.Module{}
	}
	l.parts[id] = m
	return nil
}
