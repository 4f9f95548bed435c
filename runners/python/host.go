package python

import (
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

// hostFolders are the files and folders of the host that programs may read.
// Each is opened as an [os.Root], which no link and no ".." leads out of.
type hostFolders struct {
	roots []*os.Root
	trees []hostTree
}

// hostTree is one of them, and where programs see it.
type hostTree struct {
	dir  string
	tree fs.FS
}

// openHostFolders opens what the policy lets programs read. What is not there
// now is left out.
func openHostFolders(p runners.Policy) (*hostFolders, error) {
	h := &hostFolders{}
	list := p.Read.List
	if p.Read.All {
		list = []string{string(filepath.Separator)}
	}
	for _, name := range list {
		if err := h.open(p, name); err != nil {
			h.Close()
			return nil, err
		}
	}
	return h, nil
}

func (h *hostFolders) open(p runners.Policy, name string) error {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s for programs: %w", name, err)
	}
	folder, only := name, ""
	if !info.IsDir() {
		folder, only = filepath.Split(name)
	}
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s for programs: %w", name, err)
	}
	h.roots = append(h.roots, root)
	h.trees = append(h.trees, hostTree{
		dir:  filepath.ToSlash(filepath.Clean(folder)),
		tree: hostFS{fsys: root.FS(), folder: filepath.Clean(folder), only: only, policy: p},
	})
	return nil
}

// mount shows the folders to a program.
func (h *hostFolders) mount(in *pyodide.Interp) error {
	for _, t := range h.trees {
		if err := in.Mount(t.dir, t.tree); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the folders. No program may use them any more.
func (h *hostFolders) Close() error {
	var errs []error
	for _, root := range h.roots {
		errs = append(errs, root.Close())
	}
	return errors.Join(errs...)
}

// hostFS is the part of a host folder that the policy lets programs read. Links
// are absent: their targets might not be allowed.
type hostFS struct {
	fsys   fs.FS
	folder string // of the host
	only   string // the one file that is there, or ""
	policy runners.Policy
}

// system are folders whose files are not files but views of the machine.
var system = []string{"/proc", "/sys", "/dev"}

// allows says whether programs may see the entry. Folders above an allowed one
// are not asked for here: each allowed one is a tree of its own.
func (h hostFS) allows(name string) bool {
	if name == "." {
		return true
	}
	if h.only != "" && name != h.only {
		return false
	}
	host := filepath.Join(h.folder, filepath.FromSlash(name))
	for _, s := range system {
		if host == s || strings.HasPrefix(host, s+"/") {
			return false
		}
	}
	return h.policy.CanRead(host)
}

func (h hostFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if !h.allows(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	// A link anywhere on the way, put there since the folder was listed, would
	// be followed inside the root; what it leads to may be denied.
	for at := name; at != "."; at = path.Dir(at) {
		info, err := fs.Lstat(h.fsys, at)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
	}
	f, err := h.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	if dir, ok := f.(fs.ReadDirFile); ok {
		return hostDir{dir, h, name}, nil
	}
	return f, nil
}

// ReadDir lists a folder without what programs may not see.
func (h hostFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if !h.allows(name) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	list, err := fs.ReadDir(h.fsys, name)
	return h.filter(name, list), err
}

func (h hostFS) filter(dir string, list []fs.DirEntry) []fs.DirEntry {
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool {
		return !e.IsDir() && !e.Type().IsRegular() || !h.allows(path.Join(dir, e.Name()))
	})
}

// hostDir is an open folder, or a file: package os has one type for both.
type hostDir struct {
	fs.ReadDirFile
	h    hostFS
	name string
}

func (d hostDir) ReadDir(n int) ([]fs.DirEntry, error) {
	for {
		list, err := d.ReadDirFile.ReadDir(n)
		kept := d.h.filter(d.name, list)
		if len(kept) > 0 || len(list) == 0 || n <= 0 || err != nil {
			return kept, err
		}
	}
}
