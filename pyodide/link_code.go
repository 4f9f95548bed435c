package pyodide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/tetratelabs/wazero"
)

// machineCode lets one wazero runtime take machine code out of many folders of
// the store. wazero knows one cache folder for all modules, and writes what it
// compiles into it; here that folder is a private one, in which a module's
// file lies (as a link) only while the module is loaded, and from which what
// wazero wrote is removed at once. So the code that is generated for each
// interpreter leaves nothing on the disk.
type machineCode struct {
	mu    sync.Mutex
	dir   string
	cache wazero.CompilationCache
}

// openMachineCode makes the private folder. The caller calls close.
func openMachineCode() (_ *machineCode, err error) {
	c := &machineCode{}
	if c.dir, err = os.MkdirTemp(memoryBacked, "coderunner-"); err != nil {
		if c.dir, err = os.MkdirTemp("", "coderunner-"); err != nil {
			return nil, fmt.Errorf("make a folder for machine code: %w", err)
		}
	}
	if c.cache, err = wazero.NewCompilationCacheWithDir(c.dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open machine code: %w", err), os.RemoveAll(c.dir))
	}
	return c, nil
}

// memoryBacked is where files are kept in memory, on systems that have it:
// wazero waits until what it writes is on the disk.
const memoryBacked = "/dev/shm"

// compile compiles a module, or loads its machine code if it is in the folder
// from, which may be "".
func (c *machineCode) compile(ctx context.Context, wz wazero.Runtime, wasm []byte, from string) (wazero.CompiledModule, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from != "" {
		if err := c.link(from); err != nil {
			return nil, err
		}
	}
	code, err := wz.CompileModule(ctx, wasm)
	if err = errors.Join(err, c.clear()); err != nil {
		return nil, err
	}
	return code, nil
}

// link shows the files of a folder, which has wazero's structure, in ours.
func (c *machineCode) link(from string) error {
	files, err := filepath.Glob(filepath.Join(from, "*", "*"))
	if err != nil {
		return err
	}
	for _, f := range files {
		rel, err := filepath.Rel(from, f)
		if err != nil {
			return err
		}
		to := filepath.Join(c.dir, rel)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return fmt.Errorf("link machine code: %w", err)
		}
		if err := os.Symlink(f, to); err != nil {
			return fmt.Errorf("link machine code: %w", err)
		}
	}
	return nil
}

// clear removes all files, but not the folders, which wazero made once.
func (c *machineCode) clear() error {
	files, err := filepath.Glob(filepath.Join(c.dir, "*", "*"))
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}

func (c *machineCode) close(ctx context.Context) error {
	return errors.Join(c.cache.Close(ctx), os.RemoveAll(c.dir))
}

// compileGlue compiles a small module that is generated.
func (r *Runtime) compileGlue(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	if r.code == nil {
		return r.wz.CompileModule(ctx, wasm)
	}
	return r.code.compile(ctx, r.wz, wasm, "")
}
