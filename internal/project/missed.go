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
type missed []string

// systems are directories that guests have their own of. What is in the host's nobody means.
var systems = []string{"/bin", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/run", "/sbin", "/sys", "/usr", "/var"}

// Looked notes that a program has looked for a path that its machine does not have, where home
// is the directory's path there. What it does not open counts only outside of the directory: it
// may be a guess. It returns quickly.
func (v *View) Looked(home, name string, opens bool) {
	rel, err := filepath.Rel(home, name)
	if err != nil || !opens && !strings.HasPrefix(rel, "..") {
		return
	}
	for _, dir := range systems {
		if isBelow(name, dir) {
			return
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, at := range []string{name, filepath.Join(v.path, rel)} {
		if rel != "." && len(v.missed) < maxMissed && !slices.Contains(v.missed, at) {
			v.missed = append(v.missed, at)
		}
	}
}

// Missed returns the first path of the host among what the program looked for that is there,
// and why the view does not show it; "" if there is none.
func (v *View) Missed() (host, why string) {
	v.mu.Lock()
	list := slices.Clone(v.missed)
	v.mu.Unlock()
	for _, at := range list {
		info, err := os.Stat(at)
		if err != nil {
			continue
		}
		name, err := filepath.Rel(v.path, at)
		if err != nil || !filepath.IsLocal(name) {
			return at, "is outside of " + v.path
		}
		if why := v.why(path.Clean(filepath.ToSlash(name)), info.IsDir()); why != "" {
			return at, why
		}
		if link, err := os.Readlink(at); err == nil {
			return at, "is a link to " + link
		}
	}
	return "", ""
}
