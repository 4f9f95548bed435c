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

	"coderunner/internal/procdir"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
)

// basePrefix begins the names of Runners' directories in the system's temporary
// directory.
const basePrefix = "coderunner-deno-"

// runDirs hands out a private directory for each run. Names are used again, since
// each has a DENO_DIR made for it, and so are the directories themselves, emptied,
// if nobody can hold on to one of them.
//
//	<base>/          see internal/procdir
//	├── bootstrap.js
//	├── deno/        ours alone: see denodir.go
//	└── r0/          one run
//	    ├── work/    the working directory: the program and its files
//	    ├── tmp/     TMPDIR
//	    ├── gen/     what Deno makes of TypeScript
//	    ├── code/    Deno's databases, if there is something for them
//	    └── report   a pipe: what the bootstrap reports
type runDirs struct {
	base string
	dir  *procdir.Dir // base

	mu   sync.Mutex
	free []*runDir
	next int
}

// openRunDirs makes the base directory and removes those that dead processes
// left.
func openRunDirs() (*runDirs, error) {
	temp, err := filepath.EvalSymlinks(os.TempDir()) // Deno tells programs the real path
	if err != nil {
		return nil, fmt.Errorf("locate the directory for runs: %w", err)
	}
	dir, err := procdir.Make(temp, basePrefix)
	if err != nil {
		return nil, err
	}
	f := &runDirs{base: dir.Path(), dir: dir}
	err = os.Mkdir(f.own(), 0o700)
	for name, source := range map[string]string{f.bootstrap(): testsSource + bootstrapSource, f.seal(): sealSource} {
		if err == nil {
			err = os.WriteFile(name, []byte(source), 0o600)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fill the directory for runs: %w", err), f.close())
	}
	return f, nil
}

// The names in the base directory.
const (
	bootstrapName = "bootstrap.js"
	ownName       = "deno"
	sealName      = "seal.js" // in ownName
)

func (f *runDirs) bootstrap() string { return filepath.Join(f.base, bootstrapName) }
func (f *runDirs) own() string       { return filepath.Join(f.base, ownName) }
func (f *runDirs) seal() string      { return filepath.Join(f.own(), sealName) }

func (f *runDirs) close() error {
	if err := f.dir.Remove(); err != nil {
		return fmt.Errorf("remove the directory for runs: %w", err)
	}
	return nil
}

// runDir is the private directory of one run.
type runDir struct {
	of   *runDirs
	path string        // base/rN
	made []fs.FileInfo // of dirs, as they were made; nil if they are not there

	linked bool // denoDir is there, as link made it
}

func (f *runDir) work() string   { return filepath.Join(f.path, "work") }
func (f *runDir) temp() string   { return filepath.Join(f.path, "tmp") }
func (f *runDir) gen() string    { return filepath.Join(f.path, "gen") }
func (f *runDir) code() string   { return filepath.Join(f.path, "code") }
func (f *runDir) report() string { return filepath.Join(f.path, "report") }

// denoDir is what Deno takes for its cache. It is not in the directory.
func (f *runDir) denoDir() string { return filepath.Join(f.of.own(), filepath.Base(f.path)) }

// dirs are the directories that it is made of, from above.
func (f *runDir) dirs() []string { return []string{f.path, f.work(), f.temp(), f.gen()} }

// take gives a directory with nothing in it. The caller gives it back.
func (f *runDirs) take() (*runDir, error) {
	f.mu.Lock()
	var d *runDir
	if n := len(f.free); n > 0 {
		d, f.free = f.free[n-1], f.free[:n-1]
	} else {
		d = &runDir{of: f, path: filepath.Join(f.base, "r"+strconv.Itoa(f.next))}
		f.next++
	}
	f.mu.Unlock()
	if d.made != nil {
		return d, nil
	}
	if err := d.make(); err != nil {
		_ = procdir.RemoveAll(d.path)
		return nil, err
	}
	return d, nil
}

func (f *runDir) make() error {
	for _, dir := range f.dirs() {
		err := os.Mkdir(dir, 0o700)
		if err != nil {
			return fmt.Errorf("make the working directory: %w", err)
		}
		info, err := os.Lstat(dir)
		if err != nil {
			return fmt.Errorf("make the working directory: %w", err)
		}
		f.made = append(f.made, info)
	}
	return nil
}

// giveBack removes what is in the directory. No process may use it any more. If
// keep is true, nobody can have it open either, and it stays, empty. A name
// whose directory cannot be removed is not used again.
func (f *runDir) giveBack(keep bool) error {
	if !keep || f.empty() != nil {
		f.made = nil
		if err := procdir.RemoveAll(f.path); err != nil {
			return fmt.Errorf("remove the working directory: %w", err)
		}
	}
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.of.free = append(f.of.free, f)
	return nil
}

var errReplaced = errors.New("it was replaced")

// empty removes what is in the directory but its dirs, which must still be what
// was made.
func (f *runDir) empty() error {
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

// emptyDir removes what is in a directory, except some.
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
			return runners.BadArgument("files", "has %q, but %q is the program's own file: rename the file or the program.", deps.Shorten(file.Path, 100), main)
		}
	}
	return nil
}

// write puts the program and the request's files, which were checked, into
// the working directory.
func (f *runDir) write(main, source string, files []runners.File) error {
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
