package deps

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strings"

	"coderunner/internal/fetch"
	"coderunner/runners"
)

// maxLock bounds a lock file, in bytes.
const maxLock = 32 << 20

// LockFile is what we read of Deno's lock file: the exact versions that it
// resolved and their digests. It has packages for all systems, with those that
// they are for, and only those for this one are fetched.
//
// Format: version 5 as Deno 2.9 writes it. The keys of npm are NAME@VERSION,
// followed by _PEER@VERSION for each peer dependency; a jsr key is
// NAME@VERSION; remote has the SHA-256 of every module by its URL.
type LockFile struct {
	Version    string            `json:"version"`
	Specifiers map[string]string `json:"specifiers"` // what was asked for, and its version
	NPM        map[string]locked `json:"npm"`
	JSR        map[string]struct {
		Integrity string `json:"integrity"`
	} `json:"jsr"`
	Remote map[string]string `json:"remote"`

	Text []byte `json:"-"` // nil if there is no file
}

// locked is an npm package. What it needs are keys, or names where there is
// one version only.
type locked struct {
	Integrity    string   `json:"integrity"`
	Dependencies []string `json:"dependencies"`
	Optional     []string `json:"optionalDependencies"`
	Peers        []string `json:"optionalPeers"`
	OS           []string `json:"os"`
	CPU          []string `json:"cpu"`
}

// ReadLock reads a lock file. If there is none, nothing was resolved, and its
// Text is nil.
func ReadLock(name string) (*LockFile, error) {
	f, err := os.Open(name)
	if os.IsNotExist(err) {
		return &LockFile{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxLock+1))
	if err != nil {
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	if len(b) > maxLock {
		return nil, fmt.Errorf("read lock file: it is larger than %d bytes", maxLock)
	}
	return ParseLock(b)
}

// ParseLock reads the text of a lock file.
func ParseLock(b []byte) (*LockFile, error) {
	l := LockFile{Text: b}
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	return &l, nil
}

// exactVersion is a whole version, no range and no tag.
var exactVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$`)

// Has reports whether the lock may have a target. Deno writes ranges in its own
// way, so of those it finds out itself whether the lock has exactly them.
func (l *LockFile) Has(t Target) bool {
	if _, ok := l.Remote[t.Specifier]; ok {
		return true
	}
	p, ok := Split(t.Specifier)
	if !ok {
		return false
	}
	p.Path = ""
	if exactVersion.MatchString(p.Version) {
		_, ok = l.Specifiers[p.String()]
		return ok
	}
	for specifier := range l.Specifiers {
		if have, ok := Split(specifier); ok && have.Registry == p.Registry && have.Name == p.Name {
			return true
		}
	}
	return false
}

// Pin returns a specifier of a program with the version that the lock has for it.
// One that is exact, or does not name a package, stays as it is.
func (l *LockFile) Pin(d Dependencies, specifier string) (string, error) {
	p, ok := Split(specifier)
	if !ok || !Fetched(specifier) || exactVersion.MatchString(p.Version) {
		return specifier, nil
	}
	if address, mapped := d.Map.Imports[specifier]; mapped {
		if p, ok = Split(address); !ok {
			return specifier, nil // a file of the program, or what it can do without
		}
	}
	path := p.Path
	p.Path = ""
	asked := p
	asked.Version = cmp.Or(p.Version, "*")
	version, ok := l.Specifiers[asked.String()]
	if version, _, _ = strings.Cut(version, "_"); !ok {
		// Deno writes some ranges in its own way.
		for _, have := range l.Packages() {
			if have.Name != p.Name || have.Source != p.Registry || have.Version == version {
				continue
			}
			if version != "" {
				return "", fmt.Errorf("%s: the lock has %s in the versions %s and %s; write the one that you want", specifier, p.Name, version, have.Version)
			}
			version = have.Version
		}
	}
	if version == "" {
		return specifier, nil
	}
	p.Version, p.Path = version, path
	return p.String(), nil
}

// Packages lists what was resolved, sorted by source and name.
func (l *LockFile) Packages() []runners.Package {
	var list []runners.Package
	add := func(p runners.Package) {
		if p.Name != "" && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	elsewhere := l.elsewhere()
	for key, entry := range l.NPM {
		if elsewhere[key] {
			continue
		}
		name, version := splitKey(key)
		add(runners.Package{Name: name, Version: version, Source: "npm", Integrity: entry.Integrity})
	}
	for key, entry := range l.JSR {
		name, version := splitKey(key)
		add(runners.Package{Name: name, Version: version, Source: "jsr", SHA256: entry.Integrity})
	}
	for address, sum := range l.Remote {
		add(runners.Package{Name: fetch.WithoutUser(address), Source: "url", SHA256: sum})
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Source != b.Source {
			return a.Source < b.Source
		}
		if a.Name != b.Name {
			return a.Name < b.Name
		}
		return a.Version < b.Version
	})
	return list
}

// elsewhere returns the packages that are for other systems, and those that only
// these need. Where it cannot be told who needs a package, it is not among
// them.
func (l *LockFile) elsewhere() map[string]bool {
	byName, needed := map[string][]string{}, map[string][]string{}
	list := map[string]bool{}
	for key, p := range l.NPM {
		name, _ := splitKey(key)
		byName[name] = append(byName[name], key)
		list[key] = !meant(p.OS, nodeOS) || !meant(p.CPU, nodeCPU)
	}
	for key, p := range l.NPM {
		for _, other := range slices.Concat(p.Dependencies, p.Optional, p.Peers) {
			if i := strings.Index(other, "@npm:"); i >= 0 {
				other = other[i+len("@npm:"):] // by another name
			}
			if _, ok := l.NPM[other]; ok {
				needed[other] = append(needed[other], key)
			}
			for _, its := range byName[other] {
				needed[its] = append(needed[its], key)
			}
		}
	}
	for specifier, version := range l.Specifiers {
		name, _ := splitKey(strings.TrimPrefix(specifier, "npm:"))
		needed[name+"@"+version] = append(needed[name+"@"+version], "")
	}
	for changed := true; changed; {
		changed = false
		for key := range l.NPM {
			by := needed[key]
			if !list[key] && len(by) > 0 && !slices.ContainsFunc(by, func(k string) bool { return !list[k] }) {
				list[key], changed = true, true
			}
		}
	}
	return list
}

// This system, as Node names it.
var (
	nodeOS  = strings.NewReplacer("windows", "win32").Replace(runtime.GOOS)
	nodeCPU = strings.NewReplacer("amd64", "x64", "386", "ia32").Replace(runtime.GOARCH)
)

// meant reports whether a list of systems includes one. An empty list has all, and
// "!name" is all but one.
func meant(list []string, system string) bool {
	return len(list) == 0 || !slices.Contains(list, "!"+system) &&
		(slices.Contains(list, system) || strings.HasPrefix(list[0], "!"))
}

// splitKey splits "@scope/name@1.2.3_peer@4.5.6" into name and version.
func splitKey(key string) (name, version string) {
	if key == "" {
		return "", ""
	}
	i := strings.IndexByte(key[1:], '@')
	if i < 0 {
		return key, ""
	}
	version, _, _ = strings.Cut(key[i+2:], "_")
	return key[:i+1], version
}
