package pyodide

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/wasmbin"
)

// machineCode lets one wazero runtime take machine code out of many files of
// the store. wazero knows one cache folder for all modules, and writes what it
// compiles into it; here that folder is a private one. It is there only while a
// module is compiled or loaded, with a link to the module's machine code in it,
// and is removed with what wazero wrote. So the code that is generated for each
// interpreter leaves nothing on the disk.
type machineCode struct {
	mu    sync.Mutex // held while the folder is there
	dir   string
	inner string // the folder in it that wazero uses
	cache wazero.CompilationCache
}

// openMachineCode chooses the private folder. The caller calls close.
func openMachineCode() (_ *machineCode, err error) {
	sweepTemp()
	c := &machineCode{}
	if c.dir, err = tempDir(); err != nil {
		return nil, err
	}
	defer os.RemoveAll(c.dir)
	if c.cache, err = wazero.NewCompilationCacheWithDir(c.dir); err != nil {
		return nil, fmt.Errorf("open machine code: %w", err)
	}
	if c.inner, err = only(c.dir); err != nil {
		return nil, err
	}
	return c, nil
}

const (
	sharedMemory = "/dev/shm"
	tempPrefix   = "coderunner-code-"
	// tempAge is how old a folder is that a killed process has left.
	tempAge = time.Hour
)

// sweepTemp removes the folders of processes that were killed while they loaded
// code. One that cannot be removed is somebody else's.
func sweepTemp() {
	for _, parent := range []string{sharedMemory, os.TempDir()} {
		old, _ := filepath.Glob(filepath.Join(parent, tempPrefix+"*")) // the pattern is good
		for _, dir := range old {
			if info, err := os.Lstat(dir); err == nil && info.IsDir() && time.Since(info.ModTime()) > tempAge {
				os.RemoveAll(dir)
			}
		}
	}
}

// tempDir makes a folder for machine code, in memory where there is such a
// thing: wazero waits until what it writes is on the disk.
func tempDir() (string, error) {
	dir, err := os.MkdirTemp(sharedMemory, tempPrefix)
	if err != nil {
		dir, err = os.MkdirTemp("", tempPrefix)
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for machine code: %w", err)
	}
	return dir, nil
}

// stamp names all that machine code depends on beside its module, in wazero's
// own words: the folder that it makes is called after its version and the
// system, and the file in it after the module and the processor.
func (c *machineCode) stamp(ctx context.Context, wz wazero.Runtime) (stamp string, err error) {
	err = c.within(func() error {
		code, err := wz.CompileModule(ctx, []byte(wasmbin.Header))
		if err != nil {
			return err
		}
		defer code.Close(ctx)
		file, err := only(c.inner)
		stamp = filepath.Base(c.inner) + " " + filepath.Base(file)
		return err
	})
	return stamp, err
}

// compile compiles a module.
func (c *machineCode) compile(ctx context.Context, wz wazero.Runtime, wasm []byte) (code wazero.CompiledModule, err error) {
	err = c.within(func() error {
		code, err = wz.CompileModule(ctx, wasm)
		return err
	})
	return code, err
}

// errNotTaken is why machine code is not used that is in the store.
var errNotTaken = errors.New("wazero does not take the machine code")

// load gives wazero a module of which there is machine code in a file, under the
// name that wazero will look for. It is an error if wazero compiles the module
// instead.
func (c *machineCode) load(ctx context.Context, wz wazero.Runtime, wasm []byte, name, file string) (code wazero.CompiledModule, err error) {
	err = c.within(func() error {
		link := filepath.Join(c.inner, name)
		if err := os.Symlink(file, link); err != nil {
			return err
		}
		if code, err = wz.CompileModule(ctx, wasm); err != nil {
			return err
		}
		// It would have written what it compiled.
		if left, err := only(c.inner); err == nil && left == link {
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

// within makes the private folder for as long as do takes.
func (c *machineCode) within(do func() error) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Not MkdirAll: what is there already is not ours.
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		return fmt.Errorf("make a folder for machine code: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	if err := os.Mkdir(c.inner, 0o700); err != nil {
		return fmt.Errorf("make a folder for machine code: %w", err)
	}
	return do()
}

// compileInto has wazero compile a module into an empty folder and gives the
// file that it makes there.
func compileInto(ctx context.Context, dir string, wasm []byte) (file string, err error) {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return "", err
	}
	defer cache.Close(ctx)
	wz := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features).WithCompilationCache(cache))
	defer wz.Close(ctx)
	if _, err = wz.CompileModule(compileContext(ctx), wasm); err != nil {
		return "", err
	}
	inner, err := only(dir)
	if err != nil {
		return "", err
	}
	return only(inner)
}

// only gives the path of the one thing that wazero has put into a folder.
func only(dir string) (string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(list) != 1 {
		return "", fmt.Errorf("look for machine code: wazero has made %d files in %s", len(list), dir)
	}
	return filepath.Join(dir, list[0].Name()), nil
}

func (c *machineCode) close(ctx context.Context) error { return c.cache.Close(ctx) }
