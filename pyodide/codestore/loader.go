// Package codestore keeps compiled modules such that loading one decodes
// nothing: 30 ms instead of 150 for CPython.
//
// wazero decodes and validates a module before it looks for its machine code,
// which for large modules takes longer than the rest of a start; with machine code
// it never reads the functions' bodies. So it is given a stub module, whose
// functions only trap, and finds the whole one's machine code under the stub's
// name. [Build] makes both, a [Loader] loads them.
//
// The caller decides where files are kept, and what is in a module.
//
// # Sources
//
// wazero 1.12, internal/filecache and internal/engine/wazevo/engine_cache.go. No
// layout or name of theirs is relied on: wazero itself names its files, when it
// compiles an empty module and the stub one.
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

// Load loads a stub module with the machine code in a file. The error is
// errNotTaken if wazero compiles the stub instead: nothing may run with its
// bodies.
func (l *Loader) Load(ctx context.Context, s *Stub, file string) (code wazero.CompiledModule, err error) {
	err = l.within(ctx, func() error {
		link := filepath.Join(l.inner, s.code)
		if err := os.Symlink(file, link); err != nil {
			return err
		}
		if code, err = l.wz.CompileModule(ctx, s.Wasm); err != nil {
			return err
		}
		// wazero would have written what it compiled.
		if left, err := only(l.inner); err == nil && left == link {
			if info, err := os.Lstat(link); err == nil && info.Mode()&fs.ModeSymlink != 0 {
				return nil
			}
		}
		return errors.Join(errNotTaken, code.Close(ctx))
	})
	if err != nil {
		return nil, fmt.Errorf("load machine code: %w", err)
	}
	return code, nil
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
