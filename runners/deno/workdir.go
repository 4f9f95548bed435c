package deno

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"

	"github.com/gofrs/flock"
)

// basePrefix begins the names of Runners' folders in the system's temporary
// folder.
const basePrefix = "coderunner-deno-"

// folders hands out a private folder for each run. Names are used again, since
// each has a DENO_DIR made for it, and so are the folders themselves, emptied,
// if nobody can hold on to one of them.
//
//	<base>/          0700, in the system's temporary folder
//	├── lock         held by flock as long as the Runner lives
//	├── bootstrap.js
//	├── deno/        ours alone: see denodir.go
//	└── r0/          one run
//	    ├── work/    the working folder: the program and its files
//	    ├── tmp/     TMPDIR
//	    ├── gen/     what Deno makes of TypeScript
//	    ├── code/    Deno's databases, if there is something for them
//	    └── report   a pipe: what the bootstrap reports
type folders struct {
	base string
	lock *flock.Flock

	mu   sync.Mutex
	free []*folder
	next int
}

// openFolders makes the base folder and removes those that dead processes
// left.
func openFolders() (*folders, error) {
	removeStale(os.TempDir())
	// It has its name only when it is locked: what has the name and is not
	// locked is stale.
	fresh, err := os.MkdirTemp("", "coderunner-new-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for runs: %w", err)
	}
	f, err := newFolders(fresh)
	if err != nil {
		os.RemoveAll(fresh)
		return nil, err
	}
	return f, nil
}

func newFolders(fresh string) (*folders, error) {
	lock := flock.New(filepath.Join(fresh, "lock"))
	if _, err := lock.TryLock(); err != nil {
		// Without locks nobody can see that this folder is in use. Without the
		// file, nobody takes it for one that is not.
		_ = lock.Close()
		_ = os.Remove(lock.Path())
		lock = nil
	}
	// Deno tells programs the real path.
	real, err := filepath.EvalSymlinks(filepath.Dir(fresh))
	if err != nil {
		return nil, fmt.Errorf("locate the folder for runs: %w", err)
	}
	base := filepath.Join(real, basePrefix+strings.TrimPrefix(filepath.Base(fresh), "coderunner-new-"))
	f := &folders{base: base, lock: lock}
	if err := os.Mkdir(filepath.Join(fresh, ownName), 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for runs: %w", err)
	}
	for name, source := range map[string]string{bootstrapName: bootstrapSource, filepath.Join(ownName, sealName): sealSource} {
		if err := os.WriteFile(filepath.Join(fresh, name), []byte(source), 0o600); err != nil {
			return nil, fmt.Errorf("write a script: %w", err)
		}
	}
	if err := os.Rename(fresh, base); err != nil {
		return nil, fmt.Errorf("make a folder for runs: %w", err)
	}
	return f, nil
}

// The names in the base folder.
const (
	bootstrapName = "bootstrap.js"
	ownName       = "deno"
	sealName      = "seal.js" // in ownName
)

func (f *folders) bootstrap() string { return filepath.Join(f.base, bootstrapName) }
func (f *folders) own() string       { return filepath.Join(f.base, ownName) }
func (f *folders) seal() string      { return filepath.Join(f.own(), sealName) }

func (f *folders) close() error {
	err := process.RemoveAll(f.base)
	if f.lock != nil {
		_ = f.lock.Close() // the file is gone
	}
	if err != nil {
		return fmt.Errorf("remove the folder for runs: %w", err)
	}
	return nil
}

// removeStale removes the base folders whose locks are free.
func removeStale(temp string) {
	bases, _ := filepath.Glob(filepath.Join(temp, basePrefix+"*"))
	for _, base := range bases {
		name := filepath.Join(base, "lock")
		if _, err := os.Lstat(name); err != nil {
			continue // not ours, or about to be locked
		}
		lock := flock.New(name)
		if free, err := lock.TryLock(); err == nil && free {
			_ = process.RemoveAll(base) // the next one tries again
		}
		_ = lock.Close()
	}
}

// folder is the private folder of one run.
type folder struct {
	of   *folders
	path string        // base/rN
	made []fs.FileInfo // of dirs, as they were made; nil if they are not there

	linked bool // denoDir is there, as link made it
}

func (f *folder) work() string   { return filepath.Join(f.path, "work") }
func (f *folder) temp() string   { return filepath.Join(f.path, "tmp") }
func (f *folder) gen() string    { return filepath.Join(f.path, "gen") }
func (f *folder) code() string   { return filepath.Join(f.path, "code") }
func (f *folder) report() string { return filepath.Join(f.path, "report") }

// denoDir is what Deno takes for its cache. It is not in the folder.
func (f *folder) denoDir() string { return filepath.Join(f.of.own(), filepath.Base(f.path)) }

// dirs are the folders that it is made of, from above.
func (f *folder) dirs() []string { return []string{f.path, f.work(), f.temp(), f.gen()} }

// take gives a folder with nothing in it. The caller gives it back.
func (f *folders) take() (*folder, error) {
	f.mu.Lock()
	var d *folder
	if n := len(f.free); n > 0 {
		d, f.free = f.free[n-1], f.free[:n-1]
	} else {
		d = &folder{of: f, path: filepath.Join(f.base, "r"+strconv.Itoa(f.next))}
		f.next++
	}
	f.mu.Unlock()
	if d.made != nil {
		return d, nil
	}
	if err := d.make(); err != nil {
		_ = process.RemoveAll(d.path)
		return nil, err
	}
	return d, nil
}

func (f *folder) make() error {
	for _, dir := range f.dirs() {
		err := os.Mkdir(dir, 0o700)
		if err != nil {
			return fmt.Errorf("make the working folder: %w", err)
		}
		info, err := os.Lstat(dir)
		if err != nil {
			return fmt.Errorf("make the working folder: %w", err)
		}
		f.made = append(f.made, info)
	}
	return nil
}

// giveBack removes what is in the folder. No process may use it any more. If
// keep is true, nobody can have it open either, and it stays, empty. A name
// whose folder cannot be removed is not used again.
func (f *folder) giveBack(keep bool) error {
	if !keep || f.empty() != nil {
		f.made = nil
		if err := process.RemoveAll(f.path); err != nil {
			return fmt.Errorf("remove the working folder: %w", err)
		}
	}
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.of.free = append(f.of.free, f)
	return nil
}

var errReplaced = errors.New("it was replaced")

// empty removes what is in the folder but its dirs, which must still be what
// was made.
func (f *folder) empty() error {
	if len(f.made) != len(f.dirs()) {
		return errReplaced
	}
	for i, dir := range f.dirs() {
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		if !os.SameFile(info, f.made[i]) || info.Mode() != f.made[i].Mode() {
			return errReplaced
		}
		if err := emptyDir(dir, f.dirs()); err != nil {
			return err
		}
	}
	return nil
}

// emptyDir removes what is in a folder, except some.
func emptyDir(dir string, except []string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := filepath.Join(dir, e.Name()); !slices.Contains(except, name) {
			if err := os.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNames refuses files that would take the place of the program's own,
// main. The request was checked.
func checkNames(files []runners.File, main string) error {
	for _, file := range files {
		if file.Path == main || strings.HasPrefix(file.Path, main+"/") {
			return runners.BadArgument("files", "has %q, but %q is the program's own file: rename the file or the program.", deps.Clip(file.Path, 100), main)
		}
	}
	return nil
}

// write puts the program and the request's files, which were checked, into
// the working folder.
func (f *folder) write(main, source string, files []runners.File) error {
	for _, file := range append([]runners.File{{Path: main, Data: []byte(source)}}, files...) {
		name := filepath.Join(f.work(), filepath.FromSlash(file.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return fmt.Errorf("write %s: %w", file.Path, err)
		}
		if err := os.WriteFile(name, file.Data, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", file.Path, err)
		}
	}
	return nil
}

// fileURL gives the URL of an absolute path, as Deno writes it.
func fileURL(name string) string {
	p := filepath.ToSlash(name)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/…
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}
