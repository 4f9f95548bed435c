package pyodide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/dylink"
)

// machineCode lets one wazero runtime take machine code out of many folders of
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
	made, err := filepath.Glob(filepath.Join(c.dir, "*"))
	if err != nil || len(made) != 1 {
		return nil, fmt.Errorf("open machine code: wazero made the folders %q: %w", made, errors.Join(err))
	}
	c.inner = made[0]
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

// compile compiles a module, or loads its machine code if it is in the folder
// from, which may be "".
func (c *machineCode) compile(ctx context.Context, wz wazero.Runtime, wasm []byte, from string) (code wazero.CompiledModule, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Not MkdirAll: what is there already is not ours.
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("load machine code: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	if err := os.Mkdir(c.inner, 0o700); err != nil {
		return nil, fmt.Errorf("load machine code: %w", err)
	}
	if from != "" {
		if err := c.link(from); err != nil {
			return nil, err
		}
	}
	return wz.CompileModule(ctx, wasm)
}

// link shows the files of a folder that wazero has filled in ours.
func (c *machineCode) link(from string) error {
	files, err := filepath.Glob(filepath.Join(from, filepath.Base(c.inner), "*"))
	for _, f := range files {
		err = errors.Join(err, os.Symlink(f, filepath.Join(c.inner, filepath.Base(f))))
	}
	if err != nil {
		return fmt.Errorf("load machine code: %w", err)
	}
	return nil
}

func (c *machineCode) close(ctx context.Context) error { return c.cache.Close(ctx) }

// glueCost is what the code of a generated module takes at least, in bytes.
const glueCost = 16 << 10

// compileGlue compiles a small module that is generated. Interpreters that do
// the same share it.
func (in *Interp) compileGlue(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	r := in.rt
	lib, err := r.link.shared.use("glue "+digest(wasm), &in.used, func() (*dylink.Library, int, error) {
		var code wazero.CompiledModule
		var err error
		if r.code == nil {
			code, err = r.wz.CompileModule(ctx, wasm)
		} else {
			code, err = r.code.compile(ctx, r.wz, wasm, "")
		}
		return &dylink.Library{Code: code}, len(wasm) + glueCost, err
	})
	if err != nil {
		return nil, err
	}
	return lib.Code, nil
}
