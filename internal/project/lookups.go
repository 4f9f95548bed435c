package project

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxMissed bounds the names that are kept.
const maxMissed = 200

// missed has what a program looked for in vain.
type missed []Miss

// Miss is a path of the host that a program looked for, and why its view does not show it.
type Miss struct {
	Host, Why string
	Absolute  bool // the program used this path, and not one from its directory
}

// systems are directories that guests have their own of. What is in the host's nobody means.
var systems = []string{"/bin", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/run", "/sbin", "/sys", "/usr", "/var"}

// Looked notes that a program has looked for a path that its machine does not have. Home is
// the view's path there. A path that was asked about and not opened is noted only outside of
// the view, since programs try many names. It returns quickly.
func (v *View) Looked(home, name string, opens bool) {
	rel, err := filepath.Rel(home, name)
	if err != nil || rel == "." || !opens && !strings.HasPrefix(rel, "..") {
		return
	}
	for _, dir := range systems {
		if isBelow(name, dir) {
			return
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	beside := filepath.Join(v.path, filepath.Dir(filepath.FromSlash(v.Program)))
	in := filepath.Join(home, filepath.FromSlash(v.Dir)) // where relative names begin
	fromDir, err := filepath.Rel(in, name)
	if err != nil || !opens || strings.HasPrefix(fromDir, "..") {
		fromDir = rel
	}
	for _, m := range []Miss{{Host: name, Absolute: true}, {Host: filepath.Join(v.path, rel)}, {Host: filepath.Join(beside, fromDir)}} {
		if (opens || m.Absolute) && len(v.missed) < maxMissed && !slices.Contains(v.missed, m) {
			v.missed = append(v.missed, m)
		}
	}
}

// Missed returns the first of what the program looked for that is there on the host, nil if
// there is none.
func (v *View) Missed() *Miss {
	v.mu.Lock()
	list := slices.Clone(v.missed)
	v.mu.Unlock()
	for _, m := range list {
		info, err := os.Stat(m.Host)
		if err != nil {
			continue
		}
		name, err := filepath.Rel(v.path, m.Host)
		if err != nil || !filepath.IsLocal(name) {
			m.Why = "is outside of " + v.path
			return &m
		}
		if m.Why = v.why(path.Clean(filepath.ToSlash(name)), info.IsDir()); m.Why != "" {
			return &m
		}
		if filepath.Dir(filepath.FromSlash(v.Program)) != filepath.FromSlash(v.Dir) && v.isBeside(m.Host) {
			m.Why = "is beside the program, and not in its working directory"
			return &m
		}
		if link, err := os.Readlink(m.Host); err == nil {
			m.Why = "is a link to " + link
			return &m
		}
	}
	return nil
}

// isBeside reports whether a path of the host is below the directory of the program.
func (v *View) isBeside(host string) bool {
	dir := filepath.Join(v.path, filepath.Dir(filepath.FromSlash(v.Program)))
	rel, err := filepath.Rel(dir, host)
	return err == nil && filepath.IsLocal(rel)
}

// maxAbove bounds the directories above that are searched for modules.
const maxAbove = 10

// ModuleAbove returns the path of a Python module that the repository has above the directory
// of the view, "" if it has none. That is noted as what the program looked for.
func (v *View) ModuleAbove(module string) string {
	if len(v.above) == 0 {
		return ""
	}
	top, _, _ := strings.Cut(module, ".")
	dir := v.path
	for range min(maxAbove, strings.Count(v.above[len(v.above)-1].to, "/")+1) {
		if v.above[len(v.above)-1].to == "." {
			break // it is the repository's own
		}
		dir = filepath.Dir(dir)
		for _, root := range []string{dir, filepath.Join(dir, "src")} {
			for _, at := range []string{top + ".py", filepath.Join(top, "__init__.py"), strings.ReplaceAll(module, ".", string(filepath.Separator)) + ".py"} {
				host := filepath.Join(root, at)
				info, err := os.Stat(host)
				if err != nil || !info.Mode().IsRegular() {
					continue
				}
				if filepath.Dir(at) != "." {
					host = filepath.Join(root, top)
				}
				v.mu.Lock()
				defer v.mu.Unlock()
				v.missed = append(v.missed, Miss{Host: host})
				return host
			}
		}
	}
	return ""
}
