package deno

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/deno/deps"

	"go.uber.org/zap"
)

// intact looks whether the packages in Deno's cache are still as they were
// unpacked, which Deno itself does not: it compares archives with the lock file
// when it fetches them. What was changed is removed and fetched again.
func (r *Runner) intact(ctx context.Context, binary, key string, d deps.Dependencies, p *prepared, progress runners.ProgressFunc) error {
	dirs := r.packageDirs(p.packages)
	if len(dirs) == 0 {
		return nil
	}
	damaged, err := r.cfg.Cache.Watch(ctx, "deno-npm", key, dirs)
	if err != nil || len(damaged) == 0 {
		return err
	}
	r.log.Warn("packages in Deno's cache have changed and are fetched again", zap.Strings("packages", damaged))
	for _, dir := range damaged {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove a damaged package: %w", err)
		}
	}
	if err := r.refill(ctx, binary, d, p, progress); err != nil {
		return err
	}
	// What another set brought along, and this one can do without, is gone now.
	damaged, err = r.cfg.Cache.Watch(ctx, "deno-npm", key, r.packageDirs(p.packages))
	if err == nil && len(damaged) > 0 {
		err = fmt.Errorf("fetch %s again: %w", filepath.Base(damaged[0]), errNotTheSame)
	}
	return err
}

var errNotTheSame = errors.New("it is not what it was; hint: coderunner cache clear forgets what it was")

// packageDirs gives the folders that Deno has unpacked packages into.
//
// Source: Deno's npm cache has a folder for each registry, named after its host
// and port and with its path below, and in it one for each package and version
// (root_url_to_safe_local_dirname in its npm cache).
func (r *Runner) packageDirs(packages []runners.Package) []string {
	base := r.registryDir()
	if base == "" {
		return nil
	}
	var dirs []string
	for _, p := range packages {
		dir := filepath.Join(base, packagePath(p.Name), p.Version)
		if rel, err := filepath.Rel(base, dir); p.Source != "npm" || err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if _, err := os.Lstat(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// packagePath is where a registry's folder has a package. Names with capital
// letters, as old packages have, are encoded, since not all systems tell case
// apart (mixed_case_package_name_encode in Deno).
func packagePath(name string) string {
	if name == strings.ToLower(name) {
		return filepath.FromSlash(name)
	}
	code := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(name))
	return "_" + strings.ToLower(code)
}

// registryDir is where Deno has the packages of the registry, "" if it has none.
func (r *Runner) registryDir() string {
	registry := r.cfg.NPMRegistry
	if registry == "" {
		registry = versions.NPMRegistry
	}
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
	dir := filepath.Join(r.denoDir, "npm", host, filepath.FromSlash(strings.Trim(u.Path, "/")))
	if _, err := os.Lstat(dir); err != nil {
		return ""
	}
	return dir
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
