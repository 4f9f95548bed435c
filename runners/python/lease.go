package python

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"coderunner/internal/netpolicy"
	"coderunner/internal/trace"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/hostdirs"
	"coderunner/runners/python/install"
	"coderunner/runners/python/process"
	"coderunner/runners/python/pypi"
	"coderunner/runners/python/snapshots"
	"coderunner/runners/toolbox"
)

// chooseSnapshot looks for a snapshot with the program's imports to run on, unless
// a session has its own. Without one, what the imports run is compiled.
func (j *job) chooseSnapshot(ctx context.Context, found *pyodide.Analysis) error {
	begun := time.Now()
	r := j.recipe(found)
	fit := len(r.Modules) > 0 && !j.brings && !j.pip.Used && j.live == nil && j.snapshot == nil
	if fit {
		if z, release := j.engine.snapshots.Ready(ctx, r, j.needs()); z != nil {
			j.snapshot, j.release = z, release
			j.pk.Spent(begun)
			return nil
		}
	}
	j.pk.Spent(begun)
	if err := j.pk.Compile(ctx, found); err != nil || !fit {
		return err
	}
	defer j.pk.Spent(time.Now())
	r.Mounts = j.pk.Mounts()
	z, release, failed := j.findSnapshot(ctx, r)
	if z != nil {
		j.snapshot, j.release = z, release
	}
	j.ahead = z == nil && !failed
	return nil
}

// recipe returns the recipe of the snapshot with the program's imports: with these exactly. A
// snapshot with more of them, or fewer, has another recipe and is not used.
func (j *job) recipe(found *pyodide.Analysis) snapshots.Recipe {
	r := snapshots.Recipe{Mounts: j.pk.Mounts()}
	for _, w := range found.Imports {
		if !w.Optional && (!w.Slip || j.pk.Present(w.Name)) {
			r.Modules = append(r.Modules, w.Name)
		}
	}
	for _, m := range found.Members {
		if pkg, name, _ := strings.Cut(m, ":"); j.pk.ImportsMember(pkg, name) {
			r.Modules = append(r.Modules, m)
		}
	}
	for _, m := range r.Modules {
		if j.pk.Empty() {
			break
		}
		for _, late := range pypi.Known().Late[m] { // only those that are there: versions differ
			if pkg, name, _ := strings.Cut(late, ":"); j.pk.ImportsMember(pkg, name) {
				r.Modules = append(r.Modules, late)
			}
		}
	}
	slices.Sort(r.Modules)
	return r
}

func (j *job) needs() snapshots.Needs {
	return snapshots.Needs{Memory: j.req.Limits.Memory, Env: hostdirs.Environment(j.r.cfg.Policy)}
}

// findSnapshot returns the snapshot of a recipe, nil if there is none yet, and whether one
// cannot be made. A server makes it when the program has ended, which has the processors until
// then: see makeSnapshot.
func (j *job) findSnapshot(ctx context.Context, r snapshots.Recipe) (z *pyodide.Snapshot, release func(), failed bool) {
	s := j.engine.snapshots
	if z, release = s.Ready(ctx, r, j.needs()); z != nil {
		return z, release, false
	}
	if h := j.r.cfg.Host; h != nil {
		return nil, nil, h.Snapshot(ctx, r.Modules, j.pk.Current())
	}
	if s.Waits {
		z, release = s.Find(ctx, r, j.needs(), j.req.Limits.Timeout)
	} else {
		j.wanted = &r
	}
	return z, release, z == nil && s.Builder.Failed(r.Key())
}

// makeSnapshot has the snapshot made in the background that findSnapshot has looked for.
func (j *job) makeSnapshot(ctx context.Context) {
	if j.wanted == nil {
		return
	}
	if z, release := j.engine.snapshots.Find(ctx, *j.wanted, j.needs(), 0); z != nil {
		release()
	}
}

// longRun is how long a program runs until the libraries that it loads are compiled whole.
const longRun = 2 * time.Second

// layOutMeanwhile makes the machine code faster that the program's modules load, for later runs,
// if the program runs for long. What is not done when it ends is given up.
func (j *job) layOutMeanwhile(ctx context.Context, found *pyodide.Analysis) (stop func()) {
	if j.engine.own == nil || j.ahead { // the first such run compiles what it loads
		return func() {}
	}
	modules, installed := j.recipe(found).Modules, j.pk.Current()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	timer := time.AfterFunc(j.r.long, func() {
		defer close(done)
		j.r.layOut(ctx, j.engine, modules, installed)
	})
	return func() {
		if cancel(); !timer.Stop() {
			<-done
		}
	}
}

// layOut makes the machine code faster that modules load, where nothing is done in the
// background.
func (r *Runner) layOut(ctx context.Context, e *engine, modules []string, installed install.State) {
	if e.rest != nil {
		return
	}
	if err := e.own.LayOut(ctx, slices.Collect(maps.Values(installed.Installed)), modules); err != nil && ctx.Err() == nil {
		r.log.Warn("machine code stays slower than it could be", zap.Error(err))
	}
}

// start makes the interpreter j.in, which stays nil on error.
func (j *job) start(ctx context.Context) (err error) {
	defer trace.Begin("make an interpreter")()
	begun := time.Now()
	defer func() { j.pk.Spent(begun) }()
	env := hostdirs.Environment(j.r.cfg.Policy)
	env["LD_LIBRARY_PATH"] = libraryPath
	o := pyodide.Options{
		From:   j.snapshot,
		Memory: j.req.Limits.Memory,
		Stdin:  j.req.Stdin,
		Stdout: j.stdout,
		Stderr: j.stderr,
		Env:    env,
	}
	if err := j.makeProcesses(ctx, &o); err != nil {
		return err
	}
	if j.continued == nil {
		j.in, err = j.engine.rt.New(ctx, o)
		return err
	}
	return j.startSession(ctx, o)
}

// newProcesses makes the table of the program's processes.
func (j *job) newProcesses() error {
	files, err := j.engine.files()
	if err != nil {
		return err
	}
	j.procs, err = process.New(files.Clone(j.req.Limits.Memory), j.r.log, j.r.cfg.Guests, nil, j.r.cfg.Overrun)
	return err
}

// program returns what the interpreters of the program's processes have in common.
func (j *job) program() process.Program {
	p := process.Program{Runtime: j.engine.rt, Memory: j.req.Limits.Memory, Calls: j.pip.Calls()}
	if j.continued == nil {
		p.From = j.snapshot
	}
	return p
}

// makeProcesses makes the table of the program's processes, with the main one as
// the options' own.
func (j *job) makeProcesses(ctx context.Context, o *pyodide.Options) error {
	if j.live != nil {
		j.procs = j.live.procs
	} else if err := j.newProcesses(); err != nil {
		return err
	}
	j.procs.Hold = func() (release func()) { return j.in.Hold() }
	err := j.procs.Offer(toolbox.New(ctx, &j.req, j.procs.Hold))
	if err == nil {
		err = j.procs.Begin(j.program(), shownName(j.req))
	}
	if err != nil {
		return err
	}
	o.FS, o.Process, o.Calls = j.procs.FS, j.procs.Main, j.calls()
	if j.live == nil {
		j.procs.Intercept(j.r.cfg.Network.Intercept, j.req.Session.Placeholders())
	}
	j.net = j.r.connect(ctx, j.procs, j.req.AskHolding(j.procs.Hold), o)
	return nil
}

// connect gives a program its network, if the policy allows any or the user can be
// asked.
func (r *Runner) connect(ctx context.Context, t *process.Table, ask netpolicy.AskFunc, o *pyodide.Options) process.Network {
	policy := r.cfg.Policy.Network()
	run := r.network(ctx, policy, ask, t.Interceptor)
	t.Connect(run, policy.Any() || ask != nil, o)
	return run
}

// calls returns what the program may ask the host for.
func (j *job) calls() map[string]pyodide.Call {
	calls := maps.Clone(j.procs.Calls())
	calls["display"] = pyodide.Call{MaxArgument: 2 * runners.MaxDisplay, Do: func(_ context.Context, argument json.RawMessage) (any, error) {
		var d struct {
			MIME, Data, Plain string
			Omitted           uint32
		}
		if err := json.Unmarshal(argument, &d); err != nil {
			return nil, errors.New("a display is an object of three strings")
		}
		if d.Omitted > 0 {
			j.shown.Omit(int(d.Omitted))
			return nil, nil
		}
		return nil, j.shown.Add(d.MIME, d.Data, d.Plain)
	}}
	return calls
}

// openHostDirs opens the directories of the host that the program may use, until
// letGo. A session's interpreter has them already.
func (j *job) openHostDirs() (err error) {
	if j.live != nil {
		return nil
	}
	if j.host, err = j.r.openHostDirs(); err != nil {
		return err
	}
	snapshot := j.release
	j.release = func() { snapshot(); j.host.Close() }
	return nil
}

// letGo ends what the job holds. What a session keeps is not the job's any more.
func (j *job) letGo() {
	switch {
	case j.live != nil && j.in == nil: // it was not used
		j.r.sessions.Put(j.req.Session.Key, j.live)
	case j.live != nil:
		j.live.close(j.r.log)
	case j.in != nil:
		if err := j.in.Close(); err != nil {
			j.r.log.Error("close an interpreter", zap.Error(err))
		}
	}
	j.release()
}
