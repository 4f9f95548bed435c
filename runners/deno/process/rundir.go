package process

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
	"coderunner/internal/project"
	"coderunner/runners"
)

// BasePrefix begins the names of Runners' directories in the system's temporary
// directory.
const BasePrefix = "coderunner-deno-"

// runDirs provides a private directory for each run. Names are reused, since each
// has its DENO_DIR, and so are the emptied directories, if no process can have
// one open.
//
//	<base>/          see internal/procdir
//	├── bootstrap.js, bootstrap.txt, bootstrap-….js, bootstrap-….txt
//	├── d0/          the DENO_DIR of r0: see denodir.go
//	└── r0/          one run
//	    ├── work/    the working directory: the program and its files
//	    ├── tmp/     TMPDIR
//	    ├── gen/     compiled TypeScript
//	    ├── code/    Deno's databases, if the process may write them
//	    ├── report   a pipe: what the bootstrap reports
//	    ├── audit    what packages touch while they are loaded on trial
//	    ├── tools    a pipe: answers to what a program asks of its tools
//	    └── orders, stdin  pipes of a session's process
type runDirs struct {
	Path  string
	Named bool         // the path is the same for every command
	dir   *procdir.Dir // base

	mu      sync.Mutex // guards free and Next
	free    []*RunDir
	Next    int
	closing sync.RWMutex // held while directories are removed; guards closed
	closed  bool         // the path may be another process's

	writing sync.Mutex // guards written
	written []string   // names of bootstraps
}

// OpenRunDirs makes the base directory and removes those of dead processes.
//
// The root, if there is one, is a certificate that programs trust. Named asks for the directory
// that snapshots of processes know.
func OpenRunDirs(root []byte, named bool) (*runDirs, error) {
	temp, err := filepath.EvalSymlinks(os.TempDir()) // Deno tells programs the real path
	if err != nil {
		return nil, fmt.Errorf("locate the directory for runs: %w", err)
	}
	var dir *procdir.Dir
	if named {
		dir, err = procdir.MakeNamed(temp, BasePrefix, fmt.Sprintf("of-user-%d", os.Getuid()))
		named = err == nil // else another command has it
	}
	if !named {
		dir, err = procdir.Make(temp, BasePrefix)
	}
	if err != nil {
		return nil, err
	}
	f := &runDirs{Path: dir.Path(), Named: named, dir: dir}
	if root != nil {
		if err := os.WriteFile(f.root(), root, 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("fill the directory for runs: %w", err), f.Close())
		}
	}
	return f, nil
}

func (f *runDirs) root() string { return filepath.Join(f.Path, "root.pem") }

func (f *runDirs) Close() error {
	f.closing.Lock()
	defer f.closing.Unlock()
	f.closed = true
	if err := f.dir.Remove(); err != nil {
		return fmt.Errorf("remove the directory for runs: %w", err)
	}
	return nil
}

// RunDir is the private directory of one run.
type RunDir struct {
	of   *runDirs
	Path string        // base/rN
	made []fs.FileInfo // of dirs when they were made, nil before; nil if there are none

	linked   bool           // there is a denoDir
	packages bool           // and has links to packages
	code     string         // the directory of databases that it has links to, "" if none
	Placed   project.Placed // in work
}

func (f *RunDir) Work() string    { return filepath.Join(f.Path, "work") }
func (f *RunDir) Temp() string    { return filepath.Join(f.Path, "tmp") }
func (f *RunDir) gen() string     { return filepath.Join(f.Path, "gen") }
func (f *RunDir) Code() string    { return filepath.Join(f.Path, "code") }
func (f *RunDir) Report() string  { return filepath.Join(f.Path, "report") }
func (f *RunDir) orders() string  { return filepath.Join(f.Path, "orders") }
func (f *RunDir) Tools() string   { return filepath.Join(f.Path, ToolsName) } // shown as /tools
func (f *RunDir) Answers() string { return filepath.Join(f.Path, "answers") }
func (f *RunDir) Written() string { return filepath.Join(f.Path, "written") }
func (f *RunDir) stdin() string   { return filepath.Join(f.Path, "stdin") }
func (f *RunDir) audit() string   { return filepath.Join(f.Path, "audit") }

// denoDir returns the run's DENO_DIR, which is outside its directory.
func (f *RunDir) denoDir() string { return filepath.Join(f.of.Path, "d"+filepath.Base(f.Path)[1:]) }

// ToolsName is the name of Tools in the directory.
const ToolsName = "tools"

// Dirs returns the run's directories, parents first.
func (f *RunDir) Dirs() []string { return []string{f.Path, f.Work(), f.Temp(), f.gen()} }

// first is how many of Dirs a process needs when it is started.
const first = 2

// Take returns an empty directory, with the first of its directories. The caller calls Complete
// when there is time, and GiveBack.
func (f *runDirs) Take() (*RunDir, error) {
	f.mu.Lock()
	var d *RunDir
	if n := len(f.free); n > 0 {
		d, f.free = f.free[n-1], f.free[:n-1]
	} else {
		d = &RunDir{of: f, Path: filepath.Join(f.Path, "r"+strconv.Itoa(f.Next))}
		f.Next++
	}
	f.mu.Unlock()
	if d.made != nil {
		return d, nil
	}
	d.made = make([]fs.FileInfo, len(d.Dirs()))
	if err := d.make(first); err != nil {
		d.made = nil
		_ = procdir.RemoveAll(d.Path)
		return nil, err
	}
	return d, nil
}

// Complete makes the rest of the directories.
func (f *RunDir) Complete() error { return f.make(len(f.Dirs())) }

// make makes those of the first n directories that are not there.
func (f *RunDir) make(n int) error {
	for i, dir := range f.Dirs()[:n] {
		if f.made[i] != nil {
			continue
		}
		err := os.Mkdir(dir, 0o700)
		if err != nil {
			return fmt.Errorf("make the working directory: %w", err)
		}
		info, err := os.Lstat(dir)
		if err != nil {
			return fmt.Errorf("make the working directory: %w", err)
		}
		f.made[i] = info
	}
	return nil
}

// GiveBack empties or removes the directory, which no process may use any more.
// Keep reports that no process has it open either, so it stays for the next run.
// The name of a directory that cannot be removed is not reused.
func (f *RunDir) GiveBack(keep bool) error {
	if !keep || f.empty() != nil {
		f.made = nil
		if err := procdir.RemoveAll(f.Path); err != nil {
			return fmt.Errorf("remove the working directory: %w", err)
		}
	}
	f.Placed = nil
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.of.free = append(f.of.free, f)
	return nil
}

// Empty empties the directory for another process, which finds the old one's open.
func (f *RunDir) Empty() error {
	f.Placed = nil
	return f.empty()
}

var ErrReplaced = errors.New("it was replaced")

// empty removes everything but dirs, which must still be those that make made.
func (f *RunDir) empty() error {
	if f.made == nil {
		return ErrReplaced
	}
	for i, dir := range f.Dirs() {
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		if !os.SameFile(info, f.made[i]) || info.Mode() != f.made[i].Mode() {
			return ErrReplaced
		}
		if err := emptyDir(dir, f.Dirs()); err != nil {
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

// Write writes the program and the request's files, which are checked, into the
// working directory.
func (f *RunDir) Write(main, source string, files []runners.File) error {
	root := f.Open()
	if root == nil {
		return ErrReplaced
	}
	defer root.Close()
	return runners.Directory{Root: root}.Write(append([]runners.File{{Path: main, Data: []byte(source)}}, files...)...)
}

// Place puts a project, if there is one, into the working directory.
func (f *RunDir) Place(l *project.Layout) (err error) {
	if l == nil {
		return nil
	}
	root := f.Open()
	if root == nil {
		return ErrReplaced
	}
	defer root.Close()
	f.Placed, err = l.Place(root)
	return err
}

// Restamp takes files of the project that were written once more, with their edits, for what
// the project has.
func (f *RunDir) Restamp(files []runners.File) {
	root := f.Open()
	if root == nil {
		return
	}
	defer root.Close()
	for _, file := range files {
		f.Placed.Restamp(root, file.Path)
	}
}

// Left returns what a program left in its working directory, if that is still the
// one that it was given.
func (f *RunDir) Left(s *runners.Session, own runners.File, given []runners.File) (runners.Left, error) {
	root := f.Open()
	if root == nil {
		return runners.Left{}, nil
	}
	defer root.Close()
	return runners.LeftIn(f.Placed.Changed(runners.Directory{Root: root}), s, own, given)
}

// Remove removes a program's own file.
func (f *RunDir) Remove(main string) {
	if root := f.Open(); root != nil {
		_ = root.Remove(main) // it may have removed it
		root.Close()
	}
}

// Open opens the working directory. It returns nil if a program has removed or
// replaced it, maybe by a symlink.
func (f *RunDir) Open() *os.Root {
	root, err := os.OpenRoot(f.Work())
	if err != nil {
		return nil
	}
	if info, err := root.Stat("."); err != nil || f.made == nil || !os.SameFile(info, f.made[1]) {
		root.Close()
		return nil
	}
	return root
}

// FileURL returns the URL of an absolute path, as Deno writes it.
func FileURL(name string) string {
	p := filepath.ToSlash(name)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/…
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}
