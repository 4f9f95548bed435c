package dylink

import (
	"context"
	"fmt"
	"path"

	"coderunner/internal/lazyregexp"
	"coderunner/pyodide/hostfn"
)

// Offsets in libc's struct dso and flags of dlopen.
const (
	dsoFlags        = 4
	dsoMemAllocated = 8
	dsoMemAddr      = 12
	dsoMemSize      = 16
	dsoTableAddr    = 20
	dsoTableSize    = 24
	dsoName         = 36

	rtldGlobal = 256
)

// systemLibrary matches the names that a system's own libraries have elsewhere, which
// are in the main module.
var systemLibrary = lazyregexp.New(`^(?:(?:/usr)?/lib(?:64)?/(?:x86_64-linux-gnu/)?)?lib(?:c|m|dl|rt|pthread|System(?:\.B)?)\.(?:so(?:\.\d+)?|dylib)$`)

// maxHandles bounds the handles that are remembered.
const maxHandles = 1 << 14

// Dlopen loads the library of a struct dso, whose name and flags are filled
// in. After an error that is a [hostfn.Trap] the guest must be unwound; any other is
// for dlerror.
func (l *Linker) Dlopen(ctx context.Context, handle uint32) error {
	l.changes++
	name, long, ok := l.c.Mem.CString(handle+dsoName, maxPathLen)
	flags, ok2 := l.c.Mem.Uint32(handle + dsoFlags)
	if !ok || !ok2 || long {
		return fmt.Errorf("could not load dynamic lib: a bad name")
	}
	if path.Clean(name) == "__main__" || systemLibrary.MatchString(name) {
		return l.remember(handle, nil)
	}
	d, err := l.open(ctx, name, flags&rtldGlobal != 0)
	if err != nil {
		return fmt.Errorf("could not load dynamic lib: %s\n%w", name, err)
	}
	if err := l.remember(handle, d); err != nil {
		return err
	}
	m := l.c.Mem
	m.Put(handle+dsoMemAllocated, []byte{1})
	m.PutUint32(handle+dsoMemAddr, d.memory)
	m.PutUint32(handle+dsoMemSize, d.Image.memorySize)
	m.PutUint32(handle+dsoTableAddr, d.base)
	m.PutUint32(handle+dsoTableSize, d.Image.tableSize)
	return nil
}

// remember notes whose handle it is; nil is the main module.
func (l *Linker) remember(handle uint32, d *library) error {
	if _, ok := l.handles[handle]; !ok && len(l.handles) >= maxHandles {
		return fmt.Errorf("too many handles of libraries")
	}
	l.handles[handle] = d
	return nil
}

// Dlsym returns the address of a datum or the slot of a function. The handle of
// the main module, and 0, stand for it and the libraries loaded with
// RTLD_GLOBAL. The host's own functions are not found.
func (l *Linker) Dlsym(ctx context.Context, handle uint32, nameAt uint32) (uint32, error) {
	name, long, ok := l.c.Mem.CString(nameAt, maxPathLen)
	if !ok || long {
		//lint:ignore ST1005 the words are upstream's
		return 0, fmt.Errorf("Tried to lookup a symbol with a bad name")
	}
	if l.loading || l.closed {
		return 0, errBusy
	}
	s, lib, ok := l.dlsym(handle, name)
	if !ok {
		//lint:ignore ST1005 the words are upstream's
		return 0, fmt.Errorf("Tried to lookup unknown symbol %q in dynamic lib: %s", name, lib)
	}
	v, err := l.address(ctx, s)
	if err == nil {
		err = l.flush(ctx)
	}
	if err != nil && !hostfn.Trapped(err) {
		l.dropPending()
	}
	return v, err
}

func (l *Linker) dlsym(handle uint32, name string) (s symbol, lib string, ok bool) {
	d, known := l.handles[handle]
	switch {
	case d != nil:
		s, ok = d.symbol(name)
		return s, d.path, ok
	case !known && handle != 0:
		return s, fmt.Sprintf("handle %#x", handle), false
	}
	l.names()
	if def, ok := l.c.Main.symbols[name]; ok {
		return symbol{def, l.main}, "__main__", true
	}
	s, ok = l.global[name]
	return s, "__main__", ok
}
