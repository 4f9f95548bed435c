package deps

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"coderunner/internal/fetch"
	"coderunner/internal/lazyregexp"
	"coderunner/internal/order"
	"coderunner/runners"
)

// maxLock bounds a lock file, in bytes.
const maxLock = 32 << 20

// LockFile is the part of Deno's lock file that we read: exact versions and their
// digests. It lists packages for all systems; Deno fetches those for this one.
//
// Format: version 5 as Deno 2.9 writes it. The keys of npm are NAME@VERSION,
// followed by _PEER@VERSION for each peer dependency; a jsr key is
// NAME@VERSION; remote has the SHA-256 of every module by its URL.
type LockFile struct {
	Version    string            `json:"version"`
	Specifiers map[string]string `json:"specifiers"` // requested → its version
	NPM        map[string]locked `json:"npm"`
	JSR        map[string]struct {
		Integrity string `json:"integrity"`
	} `json:"jsr"`
	Remote map[string]string `json:"remote"`

	Text []byte `json:"-"` // nil if there is no file
}

// locked is an npm package. Dependencies are keys, or names where there is only
// one version.
type locked struct {
	Integrity    string   `json:"integrity"`
	Dependencies []string `json:"dependencies"`
	Optional     []string `json:"optionalDependencies"`
	Peers        []string `json:"optionalPeers"`
	System
}

// System is where a package can be used. Empty lists are everywhere.
type System struct {
	OS  []string `json:"os"`
	CPU []string `json:"cpu"`
}

// Meant reports whether that includes this system.
func (s System) Meant() bool { return meant(s.OS, nodeOS) && meant(s.CPU, nodeCPU) }

// ReadLock reads a lock file. Without one, nothing was resolved, and Text is nil.
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

// WithoutWorkspace removes from a lock file the configuration under which it was
// made, which the runs with it do not have.
func WithoutWorkspace(name string) error {
	var l map[string]json.RawMessage
	b, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err == nil {
		delete(l, "workspace")
		b, err = json.MarshalIndent(l, "", "  ")
	}
	if err == nil {
		err = os.WriteFile(name, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("read lock file: %w", err)
	}
	return nil
}

// exactVersion matches a complete version, not a range or a tag.
var exactVersion = lazyregexp.New(`^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$`)

// Has reports whether the lock may have a target. Deno normalizes ranges, so for
// those Has compares the name only; Deno checks the range itself.
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

// Pin returns a program's specifier with its version in the lock. Exact specifiers
// and those of no package are unchanged.
func (l *LockFile) Pin(d Dependencies, specifier string) (string, error) {
	p, ok := Split(specifier)
	if !ok || !Fetched(specifier) || exactVersion.MatchString(p.Version) {
		return specifier, nil
	}
	if address, mapped := d.Map.Imports[specifier]; mapped {
		if p, ok = Split(address); !ok {
			return specifier, nil // a file of the program, or a missing optional package
		}
	}
	path := p.Path
	p.Path = ""
	asked := p
	asked.Version = cmp.Or(p.Version, "*")
	version, ok := l.Specifiers[asked.String()]
	if !ok && p.Version == "" {
		asked.Version = latest
		version, ok = l.Specifiers[asked.String()]
	}
	if version, _, _ = strings.Cut(version, "_"); !ok {
		// Deno normalizes some ranges.
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

// Packages returns the packages for this system, sorted by source, name and version.
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
	order.By(list, func(a, b runners.Package) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version))
	})
	return list
}

// elsewhere returns packages only other systems need; undecidable ones are
// excluded.
func (l *LockFile) elsewhere() map[string]bool {
	byName, needed := map[string][]string{}, map[string][]string{}
	list := map[string]bool{}
	for key, p := range l.NPM {
		name, _ := splitKey(key)
		byName[name] = append(byName[name], key)
		list[key] = !p.Meant()
	}
	for key, p := range l.NPM {
		for _, other := range slices.Concat(p.Dependencies, p.Optional, p.Peers) {
			if i := strings.Index(other, "@npm:"); i >= 0 {
				other = other[i+len("@npm:"):] // an alias
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

// meant reports whether a list of systems includes one. An empty list includes all,
// "!name" all but one.
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
