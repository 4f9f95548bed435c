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

// The trusted phase fills Deno's cache (tool.denoDir), and a program's process
// writes nothing there. Its own DENO_DIR has links to what it may read, and into
// the run's directory for what it may write:
//
//	<base>/deno/r0/                 the process can only read it
//	├── npm, remote, gen/https      ──> the same in Deno's cache
//	├── gen/file/<base>/r0/work     ──> <base>/r0/gen
//	└── v8_code_cache_v2, …         ──> <base>/r0/code/v8_code_cache_v2, …

// fetched are the directories that the trusted phase fills.
var fetched = []string{"npm", "remote", filepath.Join("gen", "https"), filepath.Join("gen", "http")}

// link makes the run's DENO_DIR, of links into the shared one.
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

// closeStorage puts a file where localStorage and the Cache API would keep data
// from run to run.
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

// guarded reports whether the kernel denies the process writes to its DENO_DIR, so
// that the next run can use it.
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
		// The addresses in it are relative to its own path.
		text, err := os.ReadFile(filepath.Join(ready.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(in.dir.path, name), text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("copy the prepared %s: %w", name, err)
		}
	}
	if err := in.dir.link(r.denoDir); err != nil {
		// Some systems restrict symbolic links. Deno then writes to its cache, where
		// that is allowed.
		r.log.Debug("Deno has no directory of its own for a run", zap.Error(err))
		in.denoDir, in.coded = r.denoDir, true
		return nil
	}
	in.denoDir = in.dir.denoDir()
	master := ""
	if !in.variant.making { // that one fills new databases
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

// genIn returns where a DENO_DIR has the compiled TypeScript of a directory.
func genIn(denoDir, dir string) string {
	return filepath.Join(denoDir, "gen", "file", trimVolume(dir))
}

// genDir returns genIn for the shared DENO_DIR.
func (t *tool) genDir(dir string) string { return genIn(t.denoDir, dir) }

// sweepGen removes from the shared DENO_DIR the compiled TypeScript of run
// directories that are gone: those of base when a Runner closes, and those of
// processes that were killed.
func (t *tool) sweepGen(base string) {
	made, _ := filepath.Glob(t.genDir(filepath.Join(filepath.Dir(base), basePrefix+"*")))
	for _, dir := range made {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(base), filepath.Base(dir))); errors.Is(err, fs.ErrNotExist) {
			_ = os.RemoveAll(dir) // the next one tries again
		}
	}
}
