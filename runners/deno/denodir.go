package deno

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"coderunner/internal/procdir"
	"coderunner/internal/sandbox"
	"coderunner/runners/deno/codecache"

	"go.uber.org/zap"
)

// The trusted phase fills Deno's cache (Runner.denoDir), and a program's process
// writes nothing there. It has a DENO_DIR of its own, with links to what it may
// read, and to where it may write, which is the run's own directory:
//
//	<base>/deno/r0/                 the process can only read it
//	├── npm, remote, gen/https      ──> the same in Deno's cache
//	├── gen/file/<base>/r0/work     ──> <base>/r0/gen
//	└── v8_code_cache_v2, …         ──> <base>/r0/code/v8_code_cache_v2, …

// fetched are the directories that the trusted phase fills.
var fetched = []string{"npm", "remote", filepath.Join("gen", "https"), filepath.Join("gen", "http")}

// link makes the DENO_DIR of a run's directory, of links into the shared one.
func (f *runDir) link(shared string) error {
	if f.linked {
		return nil
	}
	dir := f.denoDir()
	gen := genIn(dir, f.work())
	links := map[string]string{gen: f.gen()}
	for _, name := range fetched {
		links[filepath.Join(dir, name)] = filepath.Join(shared, name)
	}
	for _, name := range codecache.Names {
		links[filepath.Join(dir, name)] = filepath.Join(f.code(), name)
	}
	err := procdir.RemoveAll(dir)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(gen), 0o700)
	}
	for name, target := range links {
		if err == nil {
			err = os.Symlink(target, name)
		}
	}
	if err == nil {
		err = closeStorage(dir)
	}
	f.linked = err == nil
	return err
}

// closeStorage closes the place in a DENO_DIR where localStorage and the Cache
// API would keep things from run to run.
func closeStorage(dir string) error {
	name := filepath.Join(dir, "location_data")
	if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
		return nil
	}
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	return os.WriteFile(name, []byte("A file, so that programs cannot keep anything in a directory of this name.\n"), 0o400)
}

// guarded reports whether the kernel keeps the process from writing in its
// DENO_DIR, so that it can be used again.
func (in *instance) guarded() bool {
	p := in.policy()
	return !unconfined(p) && sandbox.Probe().ABI > 0 && !p.CanWrite(in.r.runDirs.base)
}

// arrange makes the DENO_DIR of the instance.
func (in *instance) arrange() error {
	r, ready := in.r, in.variant.ready
	for name, wanted := range map[string]bool{mapName: ready.own, configName: ready.config} {
		if !wanted {
			continue
		}
		// Its addresses of the program's files are relative to where it is.
		text, err := os.ReadFile(filepath.Join(ready.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(in.dir.path, name), text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("copy what was prepared: %w", err)
		}
	}
	if err := in.dir.link(r.denoDir); err != nil {
		// Some systems let only few make links. Deno then keeps what it makes in
		// its cache, if nothing forbids that.
		r.log.Debug("Deno has no directory of its own for a run", zap.Error(err))
		in.denoDir, in.coded = r.denoDir, true
		return nil
	}
	in.denoDir = in.dir.denoDir()
	master := ""
	if !in.variant.making { // which fills new ones
		if master = r.codes.find(in.variant); master == "" {
			return nil // Deno has its databases in memory
		}
	}
	if err := codecache.Copy(master, in.dir.code()); err != nil {
		return fmt.Errorf("copy Deno's databases: %w", err)
	}
	in.coded = true
	return nil
}

// genIn is where, in a DENO_DIR, Deno keeps what it makes of the TypeScript in a
// directory.
func genIn(denoDir, dir string) string {
	return filepath.Join(denoDir, "gen", "file", trimVolume(dir))
}

// genDir is that where the run has no DENO_DIR of its own.
func (t *tool) genDir(dir string) string { return genIn(t.denoDir, dir) }

// sweepGen removes what Deno made in the directories of runs that have none of
// their own and are gone: those of base when a Runner ends, and of processes
// that were killed.
func (t *tool) sweepGen(base string) {
	made, _ := filepath.Glob(t.genDir(filepath.Join(filepath.Dir(base), basePrefix+"*")))
	for _, dir := range made {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(base), filepath.Base(dir))); errors.Is(err, fs.ErrNotExist) {
			_ = os.RemoveAll(dir) // the next one tries again
		}
	}
}
