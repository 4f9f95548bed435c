package deno

import (
	_ "embed"
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
	"coderunner/internal/project"
	"coderunner/runners"
	"coderunner/runners/deno/standins"
)

// basePrefix begins the names of Runners' directories in the system's temporary
// directory.
const basePrefix = "coderunner-deno-"

// runDirs provides a private directory for each run. Names are reused, since each
// has its DENO_DIR, and so are the emptied directories, if no process can have
// one open.
//
//	<base>/          see internal/procdir
//	├── bootstrap.js, bootstrap-….js
//	├── deno/        ours alone: see denodir.go
//	└── r0/          one run
//	    ├── work/    the working directory: the program and its files
//	    ├── tmp/     TMPDIR
//	    ├── gen/     compiled TypeScript
//	    ├── code/    Deno's databases, if the run has packages
//	    ├── report   a pipe: what the bootstrap reports
//	    └── orders, stdin  pipes of a session's process
type runDirs struct {
	base string
	dir  *procdir.Dir // base

	mu   sync.Mutex
	free []*runDir
	next int
}

// openRunDirs makes the base directory and removes those of dead processes.
//
// The root, if there is one, is a certificate that programs trust.
func openRunDirs(root []byte) (*runDirs, error) {
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
	if err == nil {
		err = os.WriteFile(f.seal(), []byte(sealSource), 0o600)
	}
	for name, more := range bootstraps {
		if err == nil {
			source := testsSource + displaySource + hostSource + networkSource + sitesSource + likenodeSource + builtinsSource + blameSource + tempSource + more + bootstrapSource
			err = os.WriteFile(filepath.Join(f.base, name), []byte(source), 0o600)
		}
	}
	if err == nil && root != nil {
		err = os.WriteFile(f.root(), root, 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fill the directory for runs: %w", err), f.close())
	}
	return f, nil
}

// The names in the base directory.
const (
	ownName  = "deno"
	sealName = "seal.js" // in ownName
	rootName = "root.pem"

	// The bootstraps.
	aloneName    = "bootstrap.js"
	packagesName = "bootstrap-packages.js"
	sessionName  = "bootstrap-session.js"
)

// bootstraps has the parts of a bootstrap that only some processes need, by its name. Each
// process reads all of its own, which for 30 KiB takes a millisecond.
var bootstraps = map[string]string{
	aloneName:    "",
	packagesName: standins.Source(),
	sessionName:  standins.Source() + sessionSource + modulesSource,
}

// bootstrap returns the path of a variant's main module.
func (f *runDirs) bootstrap(v variant) string {
	name := aloneName
	switch {
	case v.kept:
		name = sessionName
	case v.ready.dir != "":
		name = packagesName
	}
	return filepath.Join(f.base, name)
}

// scripts returns the paths of what every process runs.
func (f *runDirs) scripts() (all []string) {
	for name := range bootstraps {
		all = append(all, filepath.Join(f.base, name))
	}
	return append(all, f.own())
}

func (f *runDirs) own() string  { return filepath.Join(f.base, ownName) }
func (f *runDirs) root() string { return filepath.Join(f.base, rootName) }
func (f *runDirs) seal() string { return filepath.Join(f.own(), sealName) }

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
	made []fs.FileInfo // of dirs when they were made; nil if there are none

	linked bool           // denoDir is as link made it
	placed project.Placed // in work
}

func (f *runDir) work() string   { return filepath.Join(f.path, "work") }
func (f *runDir) temp() string   { return filepath.Join(f.path, "tmp") }
func (f *runDir) gen() string    { return filepath.Join(f.path, "gen") }
func (f *runDir) code() string   { return filepath.Join(f.path, "code") }
func (f *runDir) report() string { return filepath.Join(f.path, "report") }
func (f *runDir) orders() string { return filepath.Join(f.path, "orders") }
func (f *runDir) stdin() string  { return filepath.Join(f.path, "stdin") }

// denoDir returns the run's DENO_DIR, which is outside its directory.
func (f *runDir) denoDir() string { return filepath.Join(f.of.own(), filepath.Base(f.path)) }

// dirs returns the run's directories, parents first.
func (f *runDir) dirs() []string { return []string{f.path, f.work(), f.temp(), f.gen()} }

// take returns an empty directory. The caller calls giveBack.
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

// giveBack empties or removes the directory, which no process may use any more.
// Keep reports that no process has it open either, so it stays for the next run.
// The name of a directory that cannot be removed is not reused.
func (f *runDir) giveBack(keep bool) error {
	if !keep || f.empty() != nil {
		f.made = nil
		if err := procdir.RemoveAll(f.path); err != nil {
			return fmt.Errorf("remove the working directory: %w", err)
		}
	}
	f.placed = nil
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.of.free = append(f.of.free, f)
	return nil
}

var errReplaced = errors.New("it was replaced")

// empty removes everything but dirs, which must still be those that make made.
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

// emptyDir removes the entries of a directory, except some.
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

// write writes the program and the request's files, which are checked, into the
// working directory.
func (f *runDir) write(main, source string, files []runners.File) error {
	root := f.open()
	if root == nil {
		return errReplaced
	}
	defer root.Close()
	return runners.Directory{Root: root}.Write(append([]runners.File{{Path: main, Data: []byte(source)}}, files...)...)
}

// place puts a project into the working directory.
func (f *runDir) place(l *project.Layout) (err error) {
	root := f.open()
	if root == nil {
		return errReplaced
	}
	defer root.Close()
	f.placed, err = l.Place(root)
	return err
}

// restamp takes files of the project that were written once more, with their edits, for what
// the project has.
func (f *runDir) restamp(files []runners.File) {
	root := f.open()
	if root == nil {
		return
	}
	defer root.Close()
	for _, file := range files {
		f.placed.Restamp(root, file.Path)
	}
}

// left returns what a program left in its working directory, if that is still the
// one that it was given.
func (f *runDir) left(s *runners.Session, own runners.File, given []runners.File) (runners.Left, error) {
	root := f.open()
	if root == nil {
		return runners.Left{}, nil
	}
	defer root.Close()
	return runners.LeftIn(f.placed.Changed(runners.Directory{Root: root}), s, own, given)
}

// remove removes a program's own file.
func (f *runDir) remove(main string) {
	if root := f.open(); root != nil {
		_ = root.Remove(main) // it may have removed it
		root.Close()
	}
}

// open opens the working directory. It returns nil if a program has removed or
// replaced it, maybe by a symlink.
func (f *runDir) open() *os.Root {
	root, err := os.OpenRoot(f.work())
	if err != nil {
		return nil
	}
	if info, err := root.Stat("."); err != nil || len(f.made) < 2 || !os.SameFile(info, f.made[1]) {
		root.Close()
		return nil
	}
	return root
}

// fileURL returns the URL of an absolute path, as Deno writes it.
func fileURL(name string) string {
	p := filepath.ToSlash(name)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/…
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

//go:embed bootstrap.js
var bootstrapSource string

//go:embed tests.js
var testsSource string

//go:embed display.js
var displaySource string

//go:embed host.js
var hostSource string

//go:embed network.js
var networkSource string

//go:embed temp.js
var tempSource string

//go:embed blame.js
var blameSource string

//go:embed likenode.js
var likenodeSource string

//go:embed sites.js
var sitesSource string

//go:embed session.js
var sessionSource string

//go:embed modules.js
var modulesSource string

//go:embed builtins.js
var builtinsSource string

//go:embed seal.js
var sealSource string
