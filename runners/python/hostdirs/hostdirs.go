// Package hostdirs opens the parts of the host that a policy lets Python programs
// see: environment variables, and files and directories under their own names.
package hostdirs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/pyodide"
	"coderunner/runners"
)

// Environment returns the host's environment variables that programs see.
func Environment(p runners.Policy) map[string]string {
	env := map[string]string{}
	for _, name := range p.Env.List {
		if value, ok := os.LookupEnv(name); ok && p.HostEnv(name) {
			env[name] = value
		}
	}
	return env
}

// Dirs are the files and directories of the host that programs may read, and those
// of them that they may also write. Each is opened as an [os.Root], which no link
// and no ".." can leave.
type Dirs struct {
	policy runners.Policy
	cache  string // a directory that programs never write to
	trees  []tree
}

// tree is a directory and its path for programs.
type tree struct {
	dir   string // as the policy names it
	real  string // with links resolved
	root  *os.Root
	guest *pyodide.HostDir
}

// Open opens what the policy lets programs read. Missing entries are left out,
// unless programs may create them. Programs never write to the cache's directory.
func Open(p runners.Policy, cache string) (*Dirs, error) {
	h := &Dirs{policy: p, cache: cache}
	list := slices.Clone(p.Read.List)
	if p.Read.All {
		list = []string{string(filepath.Separator)}
	}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	for _, name := range list {
		if err := h.open(filepath.Clean(name)); err != nil {
			h.Close()
			return nil, err
		}
	}
	return h, nil
}

func (h *Dirs) open(name string) error {
	if !h.reads(name) {
		return nil
	}
	directory := name
	switch info, err := os.Stat(name); {
	case errors.Is(err, fs.ErrNotExist) && h.writes(name), err == nil && !info.IsDir():
		directory = filepath.Dir(name)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil
	case err != nil:
		return fmt.Errorf("open %s for programs: %w", name, err)
	}
	real, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return nil // removed since, or not accessible
	}
	if h.covered(directory, name, real) {
		return nil
	}
	root, err := os.OpenRoot(directory)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s for programs: %w", name, err)
	}
	t := tree{dir: directory, real: real, root: root}
	t.guest = pyodide.NewHostDir(root, h.rules(t))
	h.trees = append(h.trees, t)
	return nil
}

// covered reports whether programs reach name, which is directory or in it, through
// a tree that is open already, without a link.
func (h *Dirs) covered(directory, name, real string) bool {
	for _, t := range h.trees {
		if rel, err := filepath.Rel(t.dir, directory); err != nil || filepath.Join(t.real, rel) != real {
			continue
		}
		for at := name; ; at = filepath.Dir(at) {
			if at == t.dir || directory == t.dir {
				return true
			}
			if at == filepath.Dir(at) || !h.reads(at) {
				break
			}
		}
	}
	return false
}

// system are directories of pseudo-files that show the machine.
var system = []string{"/proc", "/sys", "/dev"}

// reads reports whether programs may see the host's file.
func (h *Dirs) reads(host string) bool {
	return !slices.ContainsFunc(system, func(s string) bool { return runners.Within(s, host) }) && h.policy.CanRead(host)
}

func (h *Dirs) writes(host string) bool {
	return h.policy.CanWrite(host) && (h.cache == "" || !runners.Within(h.cache, host))
}

// rules returns the policy's rules for one tree.
func (h *Dirs) rules(t tree) pyodide.HostDirRules {
	host := func(name string) string { return filepath.Join(t.dir, filepath.FromSlash(name)) }
	real := func(name string) string { return filepath.Join(t.real, filepath.FromSlash(name)) }
	in := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(d string) bool { return runners.Within(d, name) })
	}
	read := slices.Concat(h.policy.DenyRead.List, h.policy.IgnoreRead.List)
	write := slices.Clone(h.policy.DenyWrite.List)
	if h.cache != "" {
		write = append(write, h.cache)
	}
	denied := slices.Concat(read, write)
	return pyodide.HostDirRules{
		Read:  func(name string) bool { return h.reads(host(name)) && !in(read, real(name)) && !in(system, real(name)) },
		Write: func(name string) bool { return h.writes(host(name)) && !in(write, real(name)) },
		Holds: func(name string) bool {
			return slices.ContainsFunc(denied, func(d string) bool {
				return runners.Within(host(name), d) || runners.Within(real(name), d)
			})
		},
		DenyRead: read, DenyWrite: write,
	}
}

// Mounter is the part of an interpreter that mounts directories.
type Mounter interface {
	MountHostDir(dir string, f *pyodide.HostDir) error
}

// Mount mounts the directories in a program's interpreter.
func (h *Dirs) Mount(in Mounter) error {
	for _, t := range h.trees {
		err := in.MountHostDir(guestPath(t.dir), t.guest)
		if err != nil && t.real != t.dir {
			// The path has a link that programs see and follow.
			err = in.MountHostDir(guestPath(t.real), t.guest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// guestPath returns a host directory's path for programs.
func guestPath(host string) string {
	return path.Join("/", strings.ReplaceAll(filepath.ToSlash(host), ":", ""))
}

// Close closes the directories. No program may use them any more.
func (h *Dirs) Close() error {
	var errs []error
	for _, t := range h.trees {
		errs = append(errs, t.root.Close())
	}
	return errors.Join(errs...)
}
