package python

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/machine/netstack"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/hostdirs"
	"coderunner/runners/python/process"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/site"
	"coderunner/runners/python/snapshots"
	"coderunner/runners/toolbox"
)

// Machine is what a program of another language runs on: files, a network, and a table
// of processes that knows the shell, the commands and Python. Python is made ready, with
// its packages, when a process first executes it, so that a program that starts none
// does not wait for it. Its owner calls Close when the program has ended.
type Machine struct {
	FS      *memfs.FS
	Kernel  *kernel.Kernel
	Network process.Network

	r       *Runner
	o       MachineOptions
	ctx     context.Context
	procs   *process.Table
	sockets *netstack.Stack
	host    *hostdirs.Dirs

	mu    sync.Mutex // held while Python is made ready
	job   *job       // of Python; nil: it is not ready
	err   error      // why it cannot be made ready
	spent time.Duration
}

// MachineOptions describe the program of another language.
type MachineOptions struct {
	// Request has its limits, its packages and whom to ask about the network.
	Request runners.Request

	// Program returns the program of Python that imports what all that the program may
	// start imports, and the commands that packages bring and the program names. It is
	// known before the program runs: what is sent to the index must not depend on what
	// the program computes.
	Program func() (req runners.Request, commands []string)

	// Imports are modules of the library that each process of Python imports: it begins with the
	// snapshot of these.
	Imports []string

	// Placeholders are those of the session that the program continues.
	Placeholders map[string]string

	// Hold stops the program's clock until release is called.
	Hold func() (release func())
}

// Machine returns a machine, which is made with ctx. Packages that the request names are
// installed at once: the error is a *[runners.NotInstalledError] if they cannot be.
func (r *Runner) Machine(ctx context.Context, o MachineOptions) (m *Machine, err error) {
	files, err := r.machineFiles()
	if err != nil {
		return nil, err
	}
	m = &Machine{r: r, o: o, ctx: ctx, FS: files.Clone(o.Request.Limits.WithDefaults().Memory)}
	if m.procs, err = process.New(m.FS, r.log, r.cfg.Guests, m.missing, r.cfg.Overrun); err != nil {
		return nil, err
	}
	m.procs.Hold = o.Hold
	if err := m.procs.Offer(toolbox.New(ctx, &o.Request, o.Hold)); err != nil {
		return nil, err
	}
	m.Kernel, m.procs.Ready = m.procs.Kernel, m.ready
	m.procs.Intercept(r.cfg.Network.Intercept, o.Placeholders)
	network := pyodide.Options{Env: map[string]string{}}
	m.Network = r.connect(ctx, m.procs, o.Request.Ask, &network)
	m.sockets = netstack.New(netstack.Options{Outside: network.Network, Refused: network.Refused, Reserve: m.FS.Reserve, Unreserve: m.FS.Unreserve})
	m.procs.Sockets = func() *netstack.Stack { return m.sockets }
	if m.host, err = r.openHostDirs(); err == nil {
		err = m.host.Mount(hostMounts{m.FS})
	}
	if err == nil && len(o.Request.Packages) > 0 {
		err = m.ready(ctx)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Placeholders returns the variables by which the program uses secrets.
func (m *Machine) Placeholders() map[string]string { return m.procs.Placeholders() }

// Close ends the processes that are left.
func (m *Machine) Close() {
	m.Kernel.End()
	m.sockets.Close()
	if m.host != nil {
		m.host.Close()
	}
	if m.job != nil {
		m.job.letGo()
	}
}

// Prepared returns the time that was spent on making Python ready, and the packages that
// were installed. The error is why it could not be made ready, a
// *[runners.NotInstalledError] if packages cannot be installed.
func (m *Machine) Prepared() (spent time.Duration, packages []runners.Package, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.job != nil {
		packages = m.job.pk.List()
	}
	return m.spent, packages, m.err
}

// missing makes Python ready for a command of its packages, and reports whether it is
// there now.
func (m *Machine) missing(command string) bool {
	if _, commands := m.o.Program(); !slices.Contains(commands, command) {
		return false
	}
	return m.ready(m.ctx) == nil
}

// ready makes Python ready, once. Time that this takes is not the program's.
func (m *Machine) ready(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.job != nil || m.err != nil {
		return m.err
	}
	begun := time.Now()
	defer m.o.Hold()()
	defer func() { m.spent += time.Since(begun) }()
	req, _ := m.o.Program()
	j, err := m.r.job(req)
	if err == nil {
		if err = m.lease(ctx, j); err != nil {
			j.letGo()
		}
	}
	switch {
	case err == nil:
		m.job = j
	case ctx.Err() == nil: // else only the process that asked for it has ended
		m.err = err
	}
	return err
}

// lease opens the runtime, installs the packages of the job's program and shows them on
// the machine's files.
func (m *Machine) lease(ctx context.Context, j *job) error {
	if err := j.prepare(ctx); err != nil {
		return err
	}
	found, err := j.analyze(ctx)
	if err != nil {
		return err
	}
	if err := j.pip.Imports(ctx, found); err != nil {
		return err
	}
	if err := j.pip.Extras(ctx, found); err != nil {
		return err
	}
	if len(m.o.Imports) > 0 {
		if z, release, _ := j.findSnapshot(ctx, snapshots.Recipe{Modules: m.o.Imports, Mounts: j.pk.Mounts()}); z != nil {
			j.snapshot, j.release = z, release
		}
		j.makeSnapshot(ctx)
	}
	if err := j.engine.rt.MountLibrary(m.FS); err != nil {
		return err
	}
	if err := m.mount(j.pk.Mounts()); err != nil {
		return err
	}
	j.pk.Show = func(p resolver.Package) error { return m.mount(site.Mounts(p)) }
	m.procs.Serve(j.program())
	return nil
}

func (m *Machine) mount(mounts []pyodide.Mount) error {
	for _, one := range mounts {
		if err := pyodide.MountTree(m.FS, one.Dir, one.Tree); err != nil {
			return fmt.Errorf("mount packages: %w", err)
		}
	}
	return nil
}

// hostMounts mounts directories of the host on a file system.
type hostMounts struct{ fsys *memfs.FS }

func (h hostMounts) MountHostDir(dir string, f *pyodide.HostDir) error {
	return pyodide.MountHostDir(h.fsys, dir, f)
}
