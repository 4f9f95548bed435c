// Package codestore keeps compiled modules so that loading one neither decodes nor copies
// anything: 10 ms instead of 150 for CPython.
//
// wazero decodes and validates a module before it looks for its machine code,
// which for large modules takes longer than the rest of a start; with machine code
// it never reads the functions' bodies. So it is given a stub module, whose
// functions only trap, and finds the whole one's machine code under the stub's
// name. [Build] makes both, a [Loader] loads them.
//
// On Linux the code is mapped from a file (pack.go, map_linux.go), so that processes share
// its memory and read what they use of it: see "Why is machine code mapped?" in pyodide's
// RATIONALE.md.
//
// A stub also has where each part of the machine code is from, if its source can tell: [Trace]
// makes lines of that.
//
// The caller decides where files are kept, and what is in a module.
//
// # Sources
//
// wazero 1.12, internal/filecache and internal/engine/wazevo/engine_cache.go. wazero itself
// names its files, when it compiles an empty module and the stub one. Only packed files rely
// on the layout of wazero's, and mapped code on names of fields; without them a file is
// loaded as wazero wrote it.
//
// # Locking
//
// A Loader is safe for concurrent use: mu is held while a module is compiled or
// loaded. Build has a wazero runtime of its own.
package codestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/tetratelabs/wazero"

	"coderunner/internal/procdir"
	"coderunner/pyodide/wasmbin"
)

// Loader is a wazero runtime that loads machine code from many files. wazero has
// one cache directory for all modules, and writes what it compiles there; here it
// is a private one. While a module is loaded it has a link to the module's machine
// code, and afterwards it is emptied. So code generated for one interpreter leaves
// nothing on disk.
type Loader struct {
	temp  *procdir.Dir
	wz    wazero.Runtime
	cache wazero.CompilationCache
	turn  chan struct{} // holds a token while inner exists
	inner string        // the directory that wazero uses
	stamp func() (string, error)
}

const (
	sharedMemory = "/dev/shm"
	tempPrefix   = "coderunner-code-"
)

// NewLoader returns a loader with a directory of its own, in memory where
// possible: wazero syncs the files it writes. The caller closes it.
func NewLoader(ctx context.Context) (_ *Loader, err error) {
	growHeap()
	l := &Loader{turn: make(chan struct{}, 1)}
	if l.temp, err = procdir.Make(sharedMemory, tempPrefix); err != nil {
		if l.temp, err = procdir.Make(os.TempDir(), tempPrefix); err != nil {
			return nil, fmt.Errorf("open machine code: %w", err)
		}
	}
	dir := filepath.Join(l.temp.Path(), "wazero")
	if l.cache, err = wazero.NewCompilationCacheWithDir(dir); err == nil {
		l.inner, err = only(dir)
	}
	if err == nil {
		err = os.RemoveAll(l.inner)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open machine code: %w", err), l.temp.Remove())
	}
	l.wz = wazero.NewRuntimeWithConfig(ctx, config().WithCompilationCache(l.cache))
	l.stamp = sync.OnceValues(func() (string, error) { return l.findStamp(context.WithoutCancel(ctx)) })
	return l, nil
}

// Runtime returns the wazero runtime. It is closed with the loader.
func (l *Loader) Runtime() wazero.Runtime { return l.wz }

// TempDir makes a directory for a build, which lasts until the loader is closed
// at most.
func (l *Loader) TempDir() (string, error) { return os.MkdirTemp(l.temp.Path(), "build-") }

// findStamp returns all that machine code depends on besides its module, as wazero
// names it: its directory has the version and the system in its name, and the file
// in it the module and the processor.
func (l *Loader) findStamp(ctx context.Context) (stamp string, err error) {
	err = l.within(ctx, func() error {
		code, err := l.wz.CompileModule(ctx, []byte(wasmbin.Header))
		if err != nil {
			return err
		}
		defer code.Close(ctx)
		file, err := only(l.inner)
		stamp = filepath.Base(l.inner) + " " + filepath.Base(file)
		return err
	})
	return stamp, err
}

// Compile compiles a module and keeps nothing of it.
func (l *Loader) Compile(ctx context.Context, wasm []byte) (code wazero.CompiledModule, err error) {
	const large = 1 << 20
	if len(wasm) > large {
		ctx = withWorkers(ctx)
	}
	err = l.within(ctx, func() error {
		code, err = l.wz.CompileModule(ctx, wasm)
		return err
	})
	return code, err
}

// errNotTaken is the error of machine code that wazero ignores.
var errNotTaken = errors.New("wazero does not take the machine code")

// errNotAdopted is the error of code that was mapped and cannot be put into a module.
var errNotAdopted = errors.New("the machine code cannot be mapped")

// Load loads a stub module with the machine code in a file. The error is
// errNotTaken if wazero compiles the stub instead: nothing may run with its
// bodies. Where code is mapped, the module lists no exported functions; its instances
// have them.
func (l *Loader) Load(ctx context.Context, s *Stub, file string) (code wazero.CompiledModule, err error) {
	if code, err = l.load(ctx, s, file, packs); errors.Is(err, errNotAdopted) {
		code, err = l.load(ctx, s, file, false)
	}
	if err != nil {
		return nil, fmt.Errorf("load machine code: %w", err)
	}
	return code, nil
}

func (l *Loader) load(ctx context.Context, s *Stub, file string, mapped bool) (code wazero.CompiledModule, err error) {
	err = l.within(ctx, func() error {
		place := filepath.Join(l.inner, s.code)
		m, err := put(file, place, mapped)
		var before fs.FileInfo
		if err == nil {
			before, err = os.Lstat(place)
		}
		if err == nil {
			code, err = l.wz.CompileModule(ctx, s.Wasm)
		}
		if err != nil {
			return errors.Join(err, m.unmap())
		}
		// wazero would have written what it compiled.
		left, err := only(l.inner)
		if now, nerr := os.Lstat(place); err != nil || left != place || nerr != nil || !os.SameFile(before, now) {
			return errors.Join(errNotTaken, code.Close(ctx), m.unmap())
		}
		if err := m.adoptBy(code); err != nil {
			return errors.Join(err, code.Close(ctx))
		}
		return nil
	})
	return code, err
}

// put puts into place what wazero reads for the machine code in a file: the file itself if it
// is not packed, what it would have written, or an empty module, for which put returns the
// code.
func put(file, place string, mapped bool) (*mapping, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := readPacked(f)
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return nil, os.Symlink(file, place)
	}
	if mapped {
		if m, err := mapCode(f, p); err == nil {
			return m, p.writeEmpty(place)
		}
	}
	return nil, p.unpack(f, place)
}

// within makes the directory that wazero uses, calls do and removes it. Another
// module may be there, which takes minutes where it is compiled: the wait ends with
// ctx.
func (l *Loader) within(ctx context.Context, do func() error) (err error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := os.Mkdir(l.inner, 0o700); err != nil {
		return fmt.Errorf("make a directory for machine code: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(l.inner)) }()
	return do()
}

// Close closes the runtime and removes the directory. No instance may be in use.
func (l *Loader) Close(ctx context.Context) error {
	return errors.Join(l.wz.Close(ctx), l.cache.Close(ctx), l.temp.Remove())
}
