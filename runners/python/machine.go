package python

import (
	"context"
	"fmt"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/machine/netstack"
	"coderunner/internal/netpolicy"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/site"
)

// Machine is what a program of another language runs on when its processes may be
// Python's: files, and a table of processes that knows Python, the shell and the
// commands. Its owner calls Close when the program has ended.
type Machine struct {
	FS       *memfs.FS
	Kernel   *kernel.Kernel
	Network  *netpolicy.Run    // nil: there is none
	Packages []runners.Package // that were installed

	job *job
}

// Machine returns a machine with the packages that a program of Python would have.
// The error is a *[runners.NotInstalledError] if they cannot be installed.
func (r *Runner) Machine(ctx context.Context, req runners.Request) (m *Machine, err error) {
	j, err := r.job(req)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			j.letGo()
		}
	}()
	if err := j.prepare(ctx); err != nil {
		return nil, err
	}
	found, err := j.analyze(ctx)
	if err != nil {
		return nil, err
	}
	if err := j.pip.Imports(ctx, found); err != nil {
		return nil, err
	}
	if err := j.pip.Extras(ctx, found); err != nil {
		return nil, err
	}
	if err := j.newProcesses(); err != nil {
		return nil, err
	}
	j.procs.Serve(j.program())
	var o pyodide.Options
	o.Env = map[string]string{}
	j.connect(&o)
	sockets := netstack.New(netstack.Options{Outside: o.Network, Refused: o.Refused, Reserve: j.procs.FS.Reserve, Unreserve: j.procs.FS.Unreserve})
	j.procs.Sockets = func() *netstack.Stack { return sockets }
	release := j.release
	j.release = func() { sockets.Close(); release() }
	if err := j.openHostDirs(); err != nil {
		return nil, err
	}
	if err := j.mountOn(j.procs.FS); err != nil {
		return nil, err
	}
	return &Machine{FS: j.procs.FS, Kernel: j.procs.Kernel, Network: j.net, Packages: j.pk.List(), job: j}, nil
}

// Close ends the processes that are left.
func (m *Machine) Close() {
	m.Kernel.End()
	m.job.letGo()
}

// mountOn mounts packages and directories of the host on a file system without an
// interpreter.
func (j *job) mountOn(fsys *memfs.FS) error {
	mount := func(mounts []pyodide.Mount) error {
		for _, m := range mounts {
			if err := pyodide.MountTree(fsys, m.Dir, m.Tree); err != nil {
				return fmt.Errorf("mount packages: %w", err)
			}
		}
		return nil
	}
	if err := mount(j.pk.Mounts()); err != nil {
		return err
	}
	j.pk.Show = func(p resolver.Package) error { return mount(site.Mounts(p)) }
	return j.host.Mount(hostMounts{fsys})
}

// hostMounts mounts directories of the host on a file system.
type hostMounts struct{ fsys *memfs.FS }

func (h hostMounts) MountHostDir(dir string, f *pyodide.HostDir) error {
	return pyodide.MountHostDir(h.fsys, dir, f)
}
