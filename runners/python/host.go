package python

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

// environment is what programs see of the host's environment.
func environment(p runners.Policy) map[string]string {
	env := map[string]string{}
	for _, name := range p.Env.List {
		if value, ok := os.LookupEnv(name); ok && p.HostEnv(name) {
			env[name] = value
		}
	}
	return env
}

// hostFolders are the files and folders of the host that programs may read,
// and those of them that they may also write. Each is opened as an [os.Root],
// which no link and no ".." leads out of.
type hostFolders struct {
	policy runners.Policy
	cache  string // a folder that is never written to
	trees  []hostTree
}

// hostTree is a folder, and where programs see it.
type hostTree struct {
	dir    string // as the policy names it
	real   string // without links
	root   *os.Root
	folder *pyodide.Folder
}

// openHostFolders opens what the policy lets programs read. What is not there
// now is left out, unless programs may make it. Programs never write to the
// folder of the cache.
func openHostFolders(p runners.Policy, cache string) (*hostFolders, error) {
	h := &hostFolders{policy: p, cache: cache}
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

func (h *hostFolders) open(name string) error {
	if !h.reads(name) {
		return nil
	}
	folder := name
	switch info, err := os.Stat(name); {
	case errors.Is(err, fs.ErrNotExist) && h.writes(name), err == nil && !info.IsDir():
		folder = filepath.Dir(name)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil
	case err != nil:
		return fmt.Errorf("open %s for programs: %w", name, err)
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil // it has gone, or must not be seen
	}
	if h.covered(folder, name, real) {
		return nil
	}
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s for programs: %w", name, err)
	}
	t := hostTree{dir: folder, real: real, root: root}
	t.folder = pyodide.NewFolder(root, h.rules(t))
	h.trees = append(h.trees, t)
	return nil
}

// covered says whether programs come to name, which is the folder or in it, by
// a tree that is open already, and by no link.
func (h *hostFolders) covered(folder, name, real string) bool {
	for _, t := range h.trees {
		if rel, err := filepath.Rel(t.dir, folder); err != nil || filepath.Join(t.real, rel) != real {
			continue
		}
		for at := name; ; at = filepath.Dir(at) {
			if at == t.dir || folder == t.dir {
				return true
			}
			if at == filepath.Dir(at) || !h.reads(at) {
				break
			}
		}
	}
	return false
}

// system are folders whose files are not files but views of the machine.
var system = []string{"/proc", "/sys", "/dev"}

// reads says whether programs may see the host's file.
func (h *hostFolders) reads(host string) bool {
	return !slices.ContainsFunc(system, func(s string) bool { return within(s, host) }) && h.policy.CanRead(host)
}

func (h *hostFolders) writes(host string) bool {
	return h.policy.CanWrite(host) && (h.cache == "" || !within(h.cache, host))
}

// within says whether name is folder or in it.
func within(folder, name string) bool {
	rel, err := filepath.Rel(folder, name)
	return err == nil && filepath.IsLocal(rel)
}

// rules are the policy's for one tree.
func (h *hostFolders) rules(t hostTree) pyodide.FolderRules {
	host := func(name string) string { return filepath.Join(t.dir, filepath.FromSlash(name)) }
	real := func(name string) string { return filepath.Join(t.real, filepath.FromSlash(name)) }
	in := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(d string) bool { return within(d, name) })
	}
	read := slices.Concat(h.policy.DenyRead.List, h.policy.IgnoreRead.List)
	write := slices.Clone(h.policy.DenyWrite.List)
	if h.cache != "" {
		write = append(write, h.cache)
	}
	denied := slices.Concat(read, write)
	return pyodide.FolderRules{
		Read:  func(name string) bool { return h.reads(host(name)) && !in(read, real(name)) && !in(system, real(name)) },
		Write: func(name string) bool { return h.writes(host(name)) && !in(write, real(name)) },
		Holds: func(name string) bool {
			return slices.ContainsFunc(denied, func(d string) bool {
				return within(host(name), d) || within(real(name), d)
			})
		},
		DenyRead: read, DenyWrite: write,
	}
}

// mounter is what a program's interpreter does with folders.
type mounter interface {
	MountFolder(dir string, f *pyodide.Folder) error
}

// mount shows the folders to a program.
func (h *hostFolders) mount(in mounter) error {
	for _, t := range h.trees {
		err := in.MountFolder(guestPath(t.dir), t.folder)
		if err != nil && t.real != t.dir {
			// On the way there is a link that programs see, and follow.
			err = in.MountFolder(guestPath(t.real), t.folder)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// guestPath is where programs see a folder of the host.
func guestPath(host string) string {
	return path.Join("/", strings.ReplaceAll(filepath.ToSlash(host), ":", ""))
}

// Close closes the folders. No program may use them any more.
func (h *hostFolders) Close() error {
	var errs []error
	for _, t := range h.trees {
		errs = append(errs, t.root.Close())
	}
	return errors.Join(errs...)
}
