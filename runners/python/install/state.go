package install

import (
	"maps"
	"slices"

	"coderunner/pyodide"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/site"
)

// State is the packages that a session's interpreter has.
type State struct {
	Installed map[string]resolver.Package `json:"installed"`
	Alone     []string                    `json:"alone,omitempty"` // without their dependencies
}

// Resume makes the packages those of an earlier program.
func (in *Installer) Resume(p State) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.installed, in.alone = maps.Clone(p.Installed), slices.Clone(p.Alone)
	for name, one := range in.installed {
		one.Cached = true
		in.installed[name] = one
	}
	in.mounted = map[string]bool{site.StandIns().Key: true}
	for _, one := range in.installed {
		for _, m := range site.Mounts(one) {
			in.mounted[m.Key] = true
		}
	}
}

// Current returns the packages that are installed.
func (in *Installer) Current() State {
	in.mu.Lock()
	defer in.mu.Unlock()
	return State{Installed: maps.Clone(in.installed), Alone: slices.Clone(in.alone)}
}

// Unmounted notes that no interpreter has the packages any more.
func (in *Installer) Unmounted() { in.mounted = nil }

// Mounts returns the mounts of packages: the stand-ins first, so that no package
// can shadow them.
func (in *Installer) Mounts() []pyodide.Mount {
	in.mu.Lock()
	defer in.mu.Unlock()
	mounts := []pyodide.Mount{site.StandIns()}
	for _, name := range slices.Sorted(maps.Keys(in.installed)) {
		mounts = append(mounts, site.Mounts(in.installed[name])...)
	}
	return mounts
}

// NewMounts returns those of mounts that a session's interpreter lacks.
func (in *Installer) NewMounts() []pyodide.Mount {
	mounts := in.Mounts()
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mounted == nil {
		return mounts
	}
	return slices.DeleteFunc(mounts, func(m pyodide.Mount) bool { return in.mounted[m.Key] })
}
