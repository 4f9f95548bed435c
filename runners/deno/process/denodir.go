package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"coderunner/internal/procdir"
	"coderunner/runners/deno/codecache"
)

// The trusted phase fills Deno's cache (tool.denoDir), and a program's process
// writes nothing there. Its own DENO_DIR has links to what it may read, and into
// the run's directory for what it may write:
//
//	<base>/deno/<name of base>      ──> .
//	<base>/deno/r0/                 the process can only read it
//	├── gen                         ──> .
//	├── npm, remote, https          ──> the same in Deno's cache, the last in its gen
//	├── file/<parent of base>       ──> <base>/deno
//	├── work                        ──> <base>/r0/gen
//	├── location_data               ──> <base>/r0/gen
//	└── v8_code_cache_v2, …         ──> <base>/r0/code/v8_code_cache_v2, …
//
// So gen/file/<base>/r0/work, where Deno puts compiled TypeScript, is <base>/r0/gen. Each directory
// on that path would be one to make and to remove, which takes up to 1 ms on a disk.

// fetched are the directories that the trusted phase fills.
var fetched = []string{"npm", "remote", filepath.Join("gen", "https"), filepath.Join("gen", "http")}

// link makes the run's DENO_DIR, of links into the shared one if the run has packages. What else
// Deno would write there is refused, and not missed, but for compiled TypeScript: see linkGen.
func (f *RunDir) link(shared string, packages bool) error {
	if f.linked && (f.packages || !packages) {
		return nil
	}
	dir := f.denoDir()
	links := map[string]string{filepath.Join(dir, storageName): f.gen()} // emptied after each run
	if packages {
		for _, name := range fetched {
			links[filepath.Join(dir, name)] = filepath.Join(shared, name)
		}
		for _, name := range codecache.Names {
			links[filepath.Join(dir, name)] = filepath.Join(f.Code(), name)
		}
	}
	f.linked, f.packages = false, packages
	err := procdir.RemoveAll(dir)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err == nil {
		err = os.Symlink(".", filepath.Join(dir, "gen"))
	}
	for name, target := range links {
		if err == nil {
			err = os.Symlink(target, name)
		}
	}
	return err
}

// linkGen completes what link made, before there is a program. Without a place for its compiled
// TypeScript Deno tries ten times to write it, for 100 ms, and panics where require() has to
// compile it again.
func (f *RunDir) linkGen() error {
	if f.linked {
		return nil
	}
	private, parent := f.of.Private(), genIn(f.denoDir(), filepath.Dir(f.of.Path))
	err := os.Symlink(".", filepath.Join(private, filepath.Base(f.of.Path)))
	if err == nil || errors.Is(err, fs.ErrExist) { // made for another run
		err = os.MkdirAll(filepath.Dir(parent), 0o700)
	}
	if err == nil {
		err = os.Symlink(private, parent)
	}
	if err == nil {
		err = os.Symlink(f.gen(), filepath.Join(f.denoDir(), filepath.Base(f.Work())))
	}
	f.linked = err == nil
	return err
}

// storageName is where Deno keeps localStorage and the Cache API's data.
const storageName = "location_data"

// closeStorage puts a file into the shared DENO_DIR where data would stay from run
// to run.
func closeStorage(dir string) error {
	name := filepath.Join(dir, storageName)
	if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
		return nil
	}
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	return os.WriteFile(name, []byte("A file, so that programs cannot keep anything in a directory of this name.\n"), 0o400)
}

// genIn returns where a DENO_DIR has the compiled TypeScript of a directory.
func genIn(denoDir, dir string) string {
	return filepath.Join(denoDir, "gen", "file", strings.ReplaceAll(dir, ":", "")) // of a volume
}

// GenDir returns genIn for the shared DENO_DIR.
func (t *Tool) GenDir(dir string) string { return genIn(t.DenoDir, dir) }

// SweepGen removes from the shared DENO_DIR the compiled TypeScript of run
// directories that are gone: those of base when a Runner closes, and those of
// processes that were killed.
func (t *Tool) SweepGen(base string) {
	made, _ := filepath.Glob(t.GenDir(filepath.Join(filepath.Dir(base), BasePrefix+"*")))
	for _, dir := range made {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(base), filepath.Base(dir))); errors.Is(err, fs.ErrNotExist) {
			_ = os.RemoveAll(dir) // the next one tries again
		}
	}
}

// MakeDenoDir makes Deno's cache directory.
func MakeDenoDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make Deno's cache: %w", err)
	}
	TrimCaches(dir)
	if err := closeStorage(dir); err != nil && !os.IsPermission(err) {
		return fmt.Errorf("make Deno's cache: %w", err)
	}
	return nil
}

// MaxCache bounds each of Deno's databases, in bytes.
const MaxCache = 256 << 20

// TrimCaches removes the trusted phase's databases of module analysis that are
// larger than maxCache.
func TrimCaches(dir string) {
	databases, _ := filepath.Glob(filepath.Join(dir, "*_cache_v*"))
	for _, name := range databases {
		if info, err := os.Lstat(name); err != nil || info.Size() < MaxCache {
			continue
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(name + suffix) // the next one tries again
		}
	}
}
