package bash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/sysmem"
	"coderunner/internal/userland/shell"
	"coderunner/runners"
)

// home is the working directory, and umask what new files do not get.
const (
	home  = "/home/user"
	umask = 0o022
)

// errTime is the cause of a context that the time limit ended.
var errTime = errors.New("the time limit is reached")

// job is one run on its way.
type job struct {
	r     *Runner
	req   runners.Request
	own   runners.File
	guest *Guest // nil: a script
	main  Main   // of a guest
	shell shell.Session
	Machine

	clock          atomic.Pointer[runners.Clock]
	stdout, stderr *runners.Capture
	peak           int64 // bytes
	continued      *runners.Continued
}

// Run implements [runners.Runner].
func (r *Runner) Run(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	if req.Language != runners.Bash {
		return nil, runners.BadArgument("language", "is %q, which bash does not run: use bash.", req.Language)
	}
	return r.RunGuest(ctx, req, nil)
}

// RunGuest is Run for a program of another language; a nil guest is a script.
func (r *Runner) RunGuest(ctx context.Context, req runners.Request, g *Guest) (*runners.Outcome, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	begun := time.Now()
	req.Limits = req.Limits.WithDefaults()
	j := &job{r: r, req: req, guest: g}
	var err error
	if j.own, err = program(req, g); err != nil {
		return nil, err
	}
	if g != nil && ctx.Err() == nil {
		if err := g.Prepare(ctx, &req, j.own.Data); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	j.stdout, j.stderr = req.Captures()
	if ctx.Err() != nil {
		return j.outcome(ctx, 0, nil), nil
	}
	if o, err := j.make(ctx); err != nil || o != nil {
		return o, err
	}
	defer j.Close()
	if o, err := j.fill(); err != nil || o != nil {
		return o, err
	}
	if err := j.resume(); err != nil {
		return nil, err
	}
	if v := req.Project; v != nil {
		j.FS.Missing(func(name string, opens bool) { v.Looked(home, name, opens) })
	}
	return j.execute(ctx, begun)
}

// execute runs the script and returns its Outcome. The run began with its preparation.
func (j *job) execute(ctx context.Context, begun time.Time) (*runners.Outcome, error) {
	ready := time.Now()
	before, _, _ := j.Prepared()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := runners.StartClock(j.req.Limits.Timeout, func() { cancel(errTime) })
	defer clock.Stop()
	j.clock.Store(clock)
	status, failure, err := j.run(ctx)
	if err != nil {
		return nil, err
	}
	after, packages, err := j.Prepared()
	missing, lacks := errors.AsType[*runners.NotInstalledError](err)
	if err != nil && !lacks {
		return nil, err
	}
	o := j.outcome(ctx, status, failure)
	if lacks {
		n := missing.Outcome()
		o.Status, o.ExitCode, o.Error = n.Status, n.ExitCode, n.Error
	}
	o.Packages = append(o.Packages, packages...)
	o.Reached(j.Network)
	python := after - before
	o.Usage.PrepareMS, o.Usage.RunMS = (ready.Sub(begun) + python).Milliseconds(), (time.Since(ready) - python).Milliseconds()
	if err := j.leave(o); err != nil {
		return nil, err
	}
	return o, nil
}

// program returns the script, or a guest's program, as a file. One that nobody named has a
// name that is free and is not listed.
func program(req runners.Request, g *Guest) (f runners.File, err error) {
	name := path.Base(req.Filename)
	if v := req.Project; v != nil && v.Program != "" {
		name = v.Program
	}
	if req.Filename == "" {
		name = "main.sh"
		if g != nil {
			name = g.File
		}
		if req.Project != nil {
			name = req.Project.Free(name)
		}
		for slices.ContainsFunc(req.Files, func(f runners.File) bool { return f.Path == name }) {
			name = "_" + name
		}
	}
	f.Path = name
	if g != nil && g.Data != nil {
		f.Data, err = g.Data(req.Code)
	} else {
		f.Data = []byte(text(req.Code))
	}
	return f, err
}

// text returns a script without the marks of other systems: a byte order mark, and
// carriage returns at the ends of lines. Lines with Markdown's fences around it are empty.
func text(code string) string {
	code = strings.ReplaceAll(strings.TrimPrefix(code, "\ufeff"), "\r\n", "\n")
	if m := fences.FindStringSubmatchIndex(code); m != nil && code[m[2]:m[3]] == code[m[6]:m[7]] {
		return strings.Repeat("\n", strings.Count(code[:m[4]], "\n")) + code[m[4]:m[5]]
	}
	return code
}

// fences matches a script between Markdown's fences.
var fences = lazyregexp.New("(?s)^\\s*?(```+)(?:[\\w+-]*)[ \t]*\n(.*\n)[ \t]*(```+)\\s*$")

// make makes the machine. An Outcome reports that packages cannot be installed.
func (j *job) make(ctx context.Context) (*runners.Outcome, error) {
	m, err := j.r.cfg.Machine(ctx, j.script())
	missing, lacks := errors.AsType[*runners.NotInstalledError](err)
	switch {
	case ctx.Err() != nil:
		return j.outcome(ctx, 0, nil), nil
	case lacks:
		return missing.Outcome(), nil
	case err != nil:
		return nil, err
	}
	j.Machine = *m
	for _, dir := range []string{home, "/tmp", "/var/tmp"} {
		if err := j.FS.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// maxScanned is how many files are searched for imports.
const maxScanned = 200

// script returns what the machine is told of the script.
func (j *job) script() Script {
	hold := func() (release func()) { return j.clock.Load().Hold() }
	req := runners.Request{
		Language: runners.Python, Packages: j.req.Packages, Limits: j.req.Limits, Progress: j.req.Progress,
		Files: slices.Clone(j.req.Files), Project: j.req.Project, Ask: j.req.AskHolding(hold), Tools: j.req.Tools,
	}
	program := sync.OnceValues(func() (runners.Request, []string) { return j.python(req) })
	s := Script{Request: req, Program: program, Placeholders: j.req.Session.Placeholders(), Hold: hold}
	if j.guest != nil && !j.brings() {
		s.Imports = j.guest.Imports
	}
	return s
}

// brings reports whether there may be modules of Python among the script's files.
func (j *job) brings() bool {
	is := func(name string) bool { return strings.HasSuffix(name, ".py") }
	return j.req.Project != nil || slices.ContainsFunc(j.req.Files, func(f runners.File) bool { return is(f.Path) }) ||
		j.req.Session != nil && slices.ContainsFunc(j.req.Session.Files, func(f runners.SessionFile) bool { return is(f.Path) })
}

// python returns a program of Python that needs the packages that the script's Python
// needs, and the commands of packages that the script names.
func (j *job) python(req runners.Request) (python runners.Request, commands []string) {
	var found *shell.Python
	if j.guest == nil {
		found = shell.FindPython(string(j.own.Data))
	}
	if found == nil {
		return req, nil
	}
	if j.req.Session != nil {
		room := int64(runners.MaxFilesBytes)
		for _, f := range j.req.Session.Files { // whose imports it may need
			brought := slices.ContainsFunc(req.Files, func(g runners.File) bool { return g.Path == f.Path })
			if brought || !strings.HasSuffix(f.Path, ".py") || !f.Mode.IsRegular() || f.Size > room || len(req.Files) >= maxScanned {
				continue
			}
			if data, err := f.Read(); err == nil {
				room -= f.Size
				req.Files = append(req.Files, runners.File{Path: f.Path, Data: data})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found.Programs)) {
		if f := (runners.File{Path: name, Data: []byte(found.Programs[name])}); runners.ValidPath(name) {
			req.Files = append(slices.DeleteFunc(req.Files, func(g runners.File) bool { return g.Path == name }), f)
		}
	}
	j.addProjectPython(&req, found.Commands)
	var code strings.Builder
	for _, words := range found.Commands {
		commands = append(commands, words[0])
		if list, err := json.Marshal(words); err == nil {
			fmt.Fprintf(&code, "import subprocess\nsubprocess.run(%s)\n", list)
		}
	}
	req.Code = code.String()
	return req, commands
}

// fill writes the session's files, the request's and the script. An Outcome reports
// that they exceed the memory limit.
func (j *job) fill() (*runners.Outcome, error) {
	if v := j.req.Project; v != nil {
		if err := j.FS.MountCopy(home, v); err != nil {
			return nil, err
		}
	}
	if s := j.req.Session; s != nil {
		for _, f := range s.Files {
			if err := j.put(f); err != nil {
				return j.full(err)
			}
		}
	}
	for _, f := range append(slices.Clip(j.req.Files), j.own) {
		if j.projectHas(f) {
			continue
		}
		at := path.Join(home, f.Path)
		err := j.FS.MkdirAll(path.Dir(at), 0o755)
		if err == nil {
			err = j.FS.WriteFile(at, f.Data, f.Perm())
		}
		if err == nil {
			err = j.FS.Chtimes(at, f.Modified)
		}
		if err != nil {
			return j.full(err)
		}
	}
	if j.req.Filename == "" || j.req.Session != nil && j.req.Session.Unnamed {
		return nil, j.FS.Unlist(path.Join(home, j.own.Path))
	}
	return nil, nil
}

func (j *job) full(err error) (*runners.Outcome, error) {
	if errors.Is(err, abi.ENOSPC) {
		return j.outcome(context.Background(), 0, kernel.ErrMemory), nil
	}
	return nil, err
}

// put writes an entry of a session's directory.
func (j *job) put(f runners.SessionFile) error {
	at := path.Join(home, f.Path)
	switch f.Mode.Type() {
	case fs.ModeDir:
		return j.FS.MkdirAll(at, uint32(f.Mode.Perm())|0o700)
	case fs.ModeSymlink:
		return j.FS.Symlink(f.Target, nil, at).Err()
	}
	b, err := f.Read()
	if err != nil {
		return err
	}
	return j.FS.WriteFile(at, b, uint32(f.Mode.Perm()))
}

// grace is how long what a script left behind may go on. Natively it would go on for ever,
// and who reads the output waits for it: a tee or a job without wait shows what it has, and
// a server is ended.
const grace = time.Second

// run runs the script until it ends or ctx does, and then ends what it left behind.
func (j *job) run(ctx context.Context) (status kernel.Status, failure, err error) {
	file := func(s memfs.Stream, flags uint32) *memfs.File { return j.FS.NewFile(s, flags, abi.S_IFIFO|0o600) }
	in := abi.S_IFIFO | 0o600
	if text, ok := j.req.Stdin.(*strings.Reader); j.req.Stdin == nil || j.req.Terminal || ok && text.Len() == 0 {
		in = abi.S_IFCHR | 0o600 // nothing is piped to the program
	}
	stdin := memfs.NewInput(j.req.Stdin)
	stdin.Terminal = j.req.Terminal
	if k, ok := j.req.Stdin.(runners.Keyboard); ok {
		stdin.Mode = k.Mode
	}
	files := map[int]*memfs.File{
		0: j.FS.NewFile(stdin, abi.O_RDONLY, in),
		1: file(memfs.NewOutput("stdout", j.stdout), abi.O_WRONLY),
		2: file(memfs.NewOutput("stderr", j.stderr), abi.O_WRONLY),
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	j.main = Main{Path: "/bin/bash", Args: append([]string{"bash", j.shownName()}, j.req.Args...), Program: j.shell.Program}
	if j.guest != nil {
		j.main = j.guest.Main(j.shownName(), &j.req)
	}
	main, err := j.Kernel.Main(kernel.Exec{
		Path: j.main.Path, Args: j.main.Args, Env: j.environment(), Dir: j.dir(), Umask: umask, Files: files,
	})
	if err != nil {
		return 0, nil, err
	}
	j.shell.Keep = j.req.Session != nil
	j.shell.Typed = j.shell.Keep && j.req.Terminal
	defer j.req.Signals.Pass(func(s syscall.Signal) { main.Signal(kernel.Signal(s)) })()
	unwatch := sysmem.Watch(j.req.Limits.Memory, j.Kernel.OverMemory)
	defer func() { j.peak = max(unwatch(), j.FS.Peak()) }()
	status, err = main.Run(ctx, j.main.Program)
	if err == nil && status.Signal() == 0 {
		j.Kernel.Settle(ctx, grace)
	}
	failure = j.Kernel.Failure()
	j.Kernel.End()
	return status, failure, err
}

// environment is the script's.
func (j *job) environment() []string {
	env := []string{"PATH=" + kernel.DefaultPath, "HOME=" + home, "USER=root", "LOGNAME=root", "SHELL=/bin/bash", "LANG=C.UTF-8", "TMPDIR=/tmp", "PWD=" + j.dir()}
	for _, name := range j.r.cfg.Policy.Env.List {
		if value, ok := os.LookupEnv(name); ok && j.r.cfg.Policy.HostEnv(name) {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range j.Placeholders {
		env = append(env, name+"="+value)
	}
	return env
}

// leave takes the files that the script left.
func (j *job) leave(o *runners.Outcome) error {
	dir, err := j.FS.Changes(home)
	if err != nil {
		return err
	}
	s := j.req.Session
	if s == nil {
		o.Files, o.FilesOmitted = runners.LeftFiles(dir, append([]runners.File{j.own}, j.req.Files...))
		return nil
	}
	left, err := s.Leave(dir, j.own)
	if err != nil {
		return err
	}
	o.Files, o.FilesOmitted = left.Changed, left.Omitted
	return j.keep(o)
}
