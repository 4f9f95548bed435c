package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/exports"
	"coderunner/runners/deno/process"
)

// What npm and bundlers find in a registry or a package and Deno does not:
// that optional packages need not be there, and modules without their ending.

// maxForgone bounds the optional packages that an installation does without.
const maxForgone = 32

// override writes the versions that Deno shall take of packages whose range no
// specifier can express, and what it shall take instead of others.
func (i *Installation) override(dir string) error {
	all := maps.Clone(i.instead)
	for name, version := range i.deps.Overrides {
		all[name] = version
	}
	files := map[string][]byte{exports.Manifest: runners.JSON(map[string]any{"overrides": all})}
	if i.deps.Config == nil {
		files[process.ConfigName] = []byte("{}") // without one Deno does not read the manifest
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return fmt.Errorf("prepare packages: %w", err)
		}
	}
	return nil
}

// Forgo reports whether the failure that a message is about is the lack of a package, or of a
// version of one, that others ask for and can do without: npm ignores it. Deno then finds in
// its cache that they do not ask for it.
func (i *Installation) Forgo(message string) (forgone bool) {
	name := deps.Lacking(message)
	if name == "" {
		return false
	}
	root := os.DirFS(i.RegistryDir())
	for _, pattern := range []string{"*/registry.json", "@*/*/registry.json"} {
		files, _ := fs.Glob(root, pattern) // the pattern is well-formed
		for _, file := range files {
			forgone = i.withoutOptional(filepath.Join(i.RegistryDir(), file), name) || forgone
		}
	}
	return forgone
}

// withoutOptional removes an optional dependency from all versions in a registry's description
// of a package, and reports whether there was one. What cannot be read has none. Others of these
// versions go with it that no version is known of that fits: Deno asks for the description once
// more when it meets one, and would then ask for the first again.
func (i *Installation) withoutOptional(file, name string) (changed bool) {
	if info, err := os.Stat(file); err != nil || info.Size() > maxRegistryFile {
		return false
	}
	b, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(b, []byte(`"optionalDependencies"`)) || !bytes.Contains(b, []byte(name)) {
		return false
	}
	var about map[string]any
	if json.Unmarshal(b, &about) != nil {
		return false
	}
	member := func(of any, key string) any { m, _ := of.(map[string]any); return m[key] }
	versions, _ := about["versions"].(map[string]any)
	for _, v := range versions {
		optional, _ := member(v, "optionalDependencies").(map[string]any)
		all, _ := member(v, "dependencies").(map[string]any) // where a registry may list it, too
		if _, is := optional[name]; !is {
			continue
		}
		changed = true
		for other, asked := range optional {
			if other == name || i.unmet(other, fmt.Sprint(asked)) {
				delete(optional, other)
				delete(all, other)
			}
		}
	}
	if !changed {
		return false
	}
	temp := fmt.Sprintf("%s.%d", file, os.Getpid())
	defer os.Remove(temp)
	return os.WriteFile(temp, runners.JSON(about), 0o600) == nil && os.Rename(temp, file) == nil
}

// unmet reports whether no version of a package is in a range, by what Deno's cache has of it.
func (i *Installation) unmet(name, asked string) bool {
	var about struct{ Versions map[string]struct{} }
	err := process.ReadJSON(filepath.Join(i.RegistryDir(), PackagePath(name), "registry.json"), &about)
	for version := range about.Versions {
		if process.Fits(version, asked) {
			return false
		}
	}
	return err == nil
}

// Platform matches the end of the name of a package that has the machine code of
// another one for one system.
var Platform = lazyregexp.New(`[-/](linux|darwin|win32|freebsd|android)-.*$`)

// elsewhere returns a *[deps.FailedError] if the program itself names packages that are
// for other systems, such as fsevents.
func (i *Installation) elsewhere(lock *deps.LockFile) error {
	e := &deps.FailedError{}
	for _, t := range i.deps.Targets {
		p, ok := deps.Split(t.Specifier)
		for key, entry := range lock.NPM {
			if ok && strings.HasPrefix(key, p.Name+"@") && len(entry.OS) > 0 && !entry.Meant() {
				e.Failures = append(e.Failures, deps.Failure{Target: t, Reason: "it is for other systems only (" + strings.Join(entry.OS, ", ") + ")"})
				break
			}
		}
	}
	if len(e.Failures) == 0 {
		return nil
	}
	return e
}

// older returns the packages that the program names without a version and of which the
// lock has another than the newest, unless a package is for those of an older one (as a
// peer), in the directories of all.
func (i *Installation) older(lock *deps.LockFile, dirs []string) (names []string) {
	peers := map[string]string{}
	for _, t := range i.deps.Targets {
		p, ok := deps.Split(t.Specifier)
		exact, err := lock.Pin(i.deps, t.Specifier)
		have, pinned := deps.Split(exact)
		if !ok || err != nil || !pinned || p.Registry != "npm" || p.Version != "" || slices.Contains(names, p.Name) {
			continue
		}
		var about struct {
			Tags struct{ Latest string } `json:"dist-tags"`
		}
		if err := process.ReadJSON(filepath.Join(i.RegistryDir(), PackagePath(p.Name), "registry.json"), &about); err != nil || about.Tags.Latest == have.Version {
			continue
		}
		if len(peers) == 0 {
			peers = peersOf(dirs)
		}
		if peers[p.Name] == "" && about.Tags.Latest != "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// peersOf returns the packages that those in directories want beside them.
func peersOf(dirs []string) map[string]string {
	all := map[string]string{"": ""}
	for _, dir := range dirs {
		var about struct{ PeerDependencies map[string]string }
		if process.ReadJSON(filepath.Join(dir, exports.Manifest), &about) == nil {
			maps.Copy(all, about.PeerDependencies)
		}
	}
	return all
}

// completeMap adds to the import map of a prepared directory what only the packages tell: the
// endings of modules that are named without, in packages that do not list what they
// export, and which of them were compiled to CommonJS.
func (i *Installation) completeMap(dir string, lock *deps.LockFile) error {
	added := false
	for _, t := range i.deps.Targets {
		exact, err := lock.Pin(i.deps, t.Specifier)
		p, ok := deps.Split(exact)
		if err != nil || !ok || p.Registry != "npm" {
			continue
		}
		for _, unpacked := range i.PackageDirs([]runners.Package{{Name: p.Name, Version: p.Version, Source: "npm"}}) {
			if p.Path == "" {
				if exports.Read(unpacked, "").HasInnerDefault() {
					i.deps.Bridge(t)
					added = true
				}
			} else if ending := exports.EndingOf(unpacked, p.Path); ending != "" {
				i.deps.Complete(t, ending)
				added = true
			}
		}
	}
	if !added {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, process.MapName), i.deps.Map.JSON(), 0o600)
}

// MajorBefore returns the major version of a package of npm before the one in a directory,
// 0 if there is none.
func MajorBefore(dir string) (before int) {
	first := func(version string) int {
		major, _, _ := strings.Cut(version, ".")
		n, _ := strconv.Atoi(major)
		return n
	}
	var about struct{ Versions map[string]struct{} }
	if process.ReadJSON(filepath.Join(filepath.Dir(dir), "registry.json"), &about) != nil {
		return max(first(filepath.Base(dir))-1, 0)
	}
	for version := range about.Versions {
		if n := first(version); n < first(filepath.Base(dir)) && !strings.Contains(version, "-") {
			before = max(before, n)
		}
	}
	return before
}
