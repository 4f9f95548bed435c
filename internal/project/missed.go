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

// Looked notes that a program has looked for a path that its machine does not have, where home
// is the directory's path there. What it does not open counts only outside of the directory: it
// may be a guess. It returns quickly.
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
	for _, m := range []Miss{{Host: name, Absolute: true}, {Host: filepath.Join(v.path, rel)}} {
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
		if link, err := os.Readlink(m.Host); err == nil {
			m.Why = "is a link to " + link
			return &m
		}
	}
	return nil
}
