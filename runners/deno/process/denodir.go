package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/internal/procdir"
	"coderunner/runners/deno/codecache"
)

// The trusted phase fills Deno's cache (tool.denoDir), and a program's process
// writes nothing there. Its own DENO_DIR has links to what it may read, and into
// the run's directory for what it may write:
//
//	<base>/d0/                      the process can only read it
//	├── gen, file, tmp, …, r0       ──> .
//	├── work, location_data         ──> <base>/r0/gen
//	├── npm, remote, https          ──> the same in Deno's cache, the last in its gen
//	└── v8_code_cache_v2, …         ──> the same in the cache or, to be written, in <base>/r0/code
//
// The first are the parts of gen/file/<base>/r0, so gen/file/<base>/r0/work, where Deno puts
// compiled TypeScript, is <base>/r0/gen. Each directory on that path would be one to make and
// to remove, which takes up to 1 ms on a disk. Where a part is one of the other names, or there
// are too many, they are directories.

// fetched are the directories that the trusted phase fills.
var fetched = []string{"npm", "remote", filepath.Join("gen", "https"), filepath.Join("gen", "http")}

// taken are the names in a DENO_DIR that lead elsewhere.
var taken = append([]string{"npm", "remote", "https", "http", "work", storageName}, codecache.Names...)

// maxParts bounds how many links a path leads through: Linux follows 40, other systems 32.
const maxParts = 24

// link makes the run's DENO_DIR, of links into the shared one if the run has packages. What else
// Deno would write there is refused, and not missed, but for compiled TypeScript: see linkGen.
func (f *RunDir) link(shared string, packages bool) error {
	if f.linked && (f.packages || !packages) {
		return nil
	}
	if err := errors.Join(f.unlink(), os.Mkdir(f.denoDir(), 0o700)); err != nil {
		return err
	}
	f.linked, f.packages = true, packages
	err := f.symlink(".", "gen")
	if packages {
		for _, name := range fetched {
			err = errors.Join(err, f.symlink(filepath.Join(shared, name), name))
		}
	}
	if err != nil {
		err = errors.Join(err, f.unlink())
	}
	return err
}

// linkCode has the DENO_DIR lead to databases in a directory, "" if there are none.
func (f *RunDir) linkCode(code string) (err error) {
	if f.code == code {
		return nil
	}
	if f.code != "" {
		for _, name := range codecache.Names {
			if gone := os.Remove(filepath.Join(f.denoDir(), name)); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}
	if f.code = code; code != "" {
		for _, name := range codecache.Names {
			err = errors.Join(err, f.symlink(filepath.Join(code, name), name))
		}
	}
	return err
}

// unlink removes the run's DENO_DIR, if link made one.
func (f *RunDir) unlink() (err error) {
	if f.linked {
		err = procdir.RemoveAll(f.denoDir())
		f.linked, f.code = err != nil, ""
	}
	return err
}

// linkGen completes what link made, before there is a program. Without a place for its compiled
// TypeScript Deno tries ten times to write it, for 100 ms, and panics where require() has to
// compile it again.
func (f *RunDir) linkGen() (err error) {
	path := genIn("", f.Path)
	parts := strings.Split(path, string(filepath.Separator))
	isTaken := func(name string) bool { return slices.Contains(taken, strings.ToLower(name)) }
	if len(parts) > maxParts || slices.ContainsFunc(parts, isTaken) {
		err = os.MkdirAll(filepath.Join(f.denoDir(), path), 0o700)
	} else {
		err = f.symlink(".", parts...)
	}
	if err != nil {
		return err
	}
	return f.symlink(f.gen(), storageName, genIn("", f.Work())) // emptied after each run
}

// symlink makes links in the run's DENO_DIR, unless they are there. Where a link can have several
// names they are one inode, since to make another takes up to 0.2 ms.
func (f *RunDir) symlink(target string, names ...string) error {
	for i, name := range names {
		name = filepath.Join(f.denoDir(), name)
		if i > 0 && os.Link(filepath.Join(f.denoDir(), names[0]), name) == nil {
			continue
		}
		if err := os.Symlink(target, name); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
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

// genIn returns where a DENO_DIR has the compiled TypeScript of a directory, whose path there
// is without the colon of a volume.
func genIn(denoDir, dir string) string {
	return filepath.Join(denoDir, "gen", "file", strings.Replace(dir, ":", "", len(filepath.VolumeName(dir))))
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
