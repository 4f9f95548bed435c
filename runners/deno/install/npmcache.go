package install

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"
)

// PackageDirs returns the directories that Deno unpacks packages into.
//
// Source: Deno's npm cache has a directory for each registry, named after its
// host and port and with its path below, and in it one for each package and
// version (root_url_to_safe_local_dirname in its npm cache).
func (t *Installer) PackageDirs(packages []runners.Package) []string {
	base := t.RegistryDir()
	var dirs []string
	for _, p := range packages {
		dir := filepath.Join(base, PackagePath(p.Name), p.Version)
		if rel, err := filepath.Rel(base, dir); base != "" && p.Source == "npm" && err == nil && filepath.IsLocal(rel) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// maxScript bounds the files of packages that readUses reads, in bytes.
const maxScript = 16 << 20

// osNames matches an import of functions of node:os that call none of Deno.
var osNames = lazyregexp.New(`import\s*\{[^}]*\b(cpus|homedir|userInfo|uptime|getPriority)\b[^}]*\}\s*from\s*["'](node:)?os["']`)

// netNames matches an import of a module of Node that connects or looks names up.
var netNames = lazyregexp.New(`(require\(\s*|from\s*)["'](node:)?(net|tls|https?|http2|dns|dns/promises)["']`)

// ReadUses adds what the scripts of a package in dir show.
func ReadUses(u *process.Uses, dir string) {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !slices.Contains([]string{".js", ".cjs", ".mjs"}, filepath.Ext(name)) {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() > maxScript {
			return err
		}
		text, err := os.ReadFile(name)
		has := func(word string) bool { return bytes.Contains(text, []byte(word)) }
		named := has(`"os"`) || has(`'os'`) || has("node:os")
		u.OS = u.OS || named
		u.Names = u.Names || named && osNames.Match(text)
		u.Net = u.Net || netNames.Match(text)
		u.Files = u.Files || has(`"fs"`) || has(`'fs'`) || has("node:fs") || has(`"fs/promises"`) || has(`'fs/promises'`)
		u.Workers = u.Workers || has("worker_threads") || has("new Worker(")
		return err
	})
}

// writeUses writes into a prepared directory what packages in dirs may use.
func writeUses(dir string, dirs, older []string) error {
	u := process.Uses{Older: older}
	for _, packageDir := range dirs {
		ReadUses(&u, packageDir)
	}
	if err := os.WriteFile(filepath.Join(dir, process.UsesName), runners.JSON(u), 0o600); err != nil {
		return fmt.Errorf("prepare packages: %w", err)
	}
	return nil
}

// PackagePath returns a package's path in a registry's directory. Names with
// capital letters, which old packages have, are encoded for case-insensitive
// file systems (mixed_case_package_name_encode in Deno).
func PackagePath(name string) string {
	if name == strings.ToLower(name) {
		return filepath.FromSlash(name)
	}
	code := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(name))
	return "_" + strings.ToLower(code)
}

// RegistryDir returns where Deno keeps the registry's packages, "" if unknown.
func (t *Installer) RegistryDir() string {
	registry := cmp.Or(t.Config.NPMRegistry, versions.NPMRegistry)
	u, err := url.Parse(registry)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	host := u.Hostname()
	switch port := u.Port(); {
	case isAddress(host):
		host = port
	case port != "":
		host += "_" + port
	}
	return filepath.Join(t.DenoDir, "npm", host, filepath.FromSlash(strings.Trim(u.Path, "/")))
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// compare compares the lock's digests with those of the registry when the
// packages were fetched. Deno itself compares only what it fetches, for which it
// needs no description by the registry where there is a lock.
func (i *Installation) compare(ctx context.Context, dir string, lock *deps.LockFile) error {
	var packages []runners.Package // that Deno has not compared
	var have []string              // their digests in the registry, as far as known
	var unknown []string
	for _, p := range lock.Packages() {
		specifier := p.Name + "@" + p.Version
		if p.Source != "npm" || i.fetched[specifier] {
			continue
		}
		digest, err := i.registryDigest(p.Name, p.Version)
		if err != nil {
			return fmt.Errorf("compare %s with the lock: %w", p.Name, err)
		}
		packages, have = append(packages, p), append(have, digest)
		if digest == "" {
			unknown = append(unknown, "npm:"+specifier)
		}
	}
	why := "nothing is fetched offline"
	if len(unknown) > 0 && !i.Config.Offline {
		var err error
		if _, why, err = i.deno(ctx, Preparation{Binary: i.binary, command: slices.Concat([]string{"cache"}, unknown[1:]), Dir: dir, What: unknown[0], downloaded: func(string) {}}); err != nil {
			return err
		}
	}
	e := &runners.NotInstalledError{}
	for n, p := range packages {
		digest, err := have[n], error(nil)
		if digest == "" {
			digest, err = i.registryDigest(p.Name, p.Version)
		}
		switch {
		case err != nil:
			return fmt.Errorf("compare %s with the lock: %w", p.Name, err)
		case digest == "":
			e.Add(p.Name, "its digest in the registry is not known: "+why)
		case digest != p.Integrity:
			e.Add(p.Name, "the lock has another digest of it than the registry")
		}
	}
	return e.OrNil()
}

// maxRegistryFile bounds what Deno keeps of a package's description, in bytes.
const maxRegistryFile = 256 << 20

// registryDigest returns the digest of a version of an npm package as lock files
// have it: hexadecimal SHA-1 for packages without another, "" if Deno's cache has
// no description of it.
func (t *Installer) registryDigest(name, version string) (string, error) {
	f, err := os.Open(filepath.Join(t.RegistryDir(), PackagePath(name), "registry.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	var about struct {
		Versions map[string]struct {
			Dist struct{ Integrity, Shasum string } `json:"dist"`
		} `json:"versions"`
	}
	if err := json.NewDecoder(io.LimitReader(f, maxRegistryFile)).Decode(&about); err != nil {
		return "", fmt.Errorf("read %s: %w", f.Name(), err)
	}
	v := about.Versions[version]
	return cmp.Or(v.Dist.Integrity, v.Dist.Shasum), nil
}
