package fetch

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"coderunner/cache"
	"coderunner/internal/lazyregexp"
)

// NPMPackage names one version of a package in an npm registry.
type NPMPackage struct {
	Registry  string // base URL, with or without a trailing slash; a file URL names a directory
	Name      string // "pyodide", "@deno/linux-x64-glibc"
	Version   string // exact
	Integrity string // "sha512-…"

	// Keep reports whether a file is kept, by its path inside the package
	// ("bin/deno"). Nil keeps all.
	Keep func(path string) bool
	// Part is the cache key of Keep: different Keep functions need different
	// Parts. It is "" for a nil Keep.
	Part string
}

var (
	npmName    = lazyregexp.New(`^(@[A-Za-z0-9~_-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~_-][A-Za-z0-9._~-]*$`)
	npmVersion = lazyregexp.New(`^[0-9][0-9A-Za-z.+-]*$`)
)

// NPM returns a directory with the package's files, without the "package/" prefix
// of the tarball. If it is not in the cache, the tarball is fetched, verified as
// a whole, and only then unpacked. The package's scripts are not run and its
// dependencies are not fetched.
func (c *Client) NPM(ctx context.Context, p NPMPackage, progress ProgressFunc) (dir string, err error) {
	src, err := p.source()
	if err != nil {
		return "", err
	}
	r, err := src.request()
	if err != nil {
		return "", err
	}
	return c.cache.Dir(ctx, "npm", p.key(src.Digest), func(ctx context.Context, dir string) error {
		return c.fetchPackage(ctx, p, src, r, dir, progress)
	})
}

// fetchPackage downloads the tarball to a temporary file and unpacks it into dir.
// The tarball is not cached: nothing reads it again.
func (c *Client) fetchPackage(ctx context.Context, p NPMPackage, src Source, r request, dir string, progress ProgressFunc) error {
	tmp, err := c.cache.TempDir("npm-tarball")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	path := filepath.Join(tmp, "package.tgz")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return cache.NewStorageError("create", path, err)
	}
	defer f.Close()
	if err := c.download(ctx, src, r, f, progress); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return cache.NewStorageError("read", path, err)
	}
	u := unpacker{limits: npmLimits, keep: p.Keep}
	if err := u.unpack(ctx, f, dir); err != nil {
		return fmt.Errorf("unpack %s: %w", r.name, err)
	}
	return nil
}

// source returns the Source of the tarball, whose path every npm registry shares.
func (p *NPMPackage) source() (Source, error) {
	name := p.Name + "@" + p.Version
	if !npmName.MatchString(p.Name) {
		return Source{}, fmt.Errorf("npm package %q: not a package name", p.Name)
	}
	if !npmVersion.MatchString(p.Version) {
		return Source{}, fmt.Errorf("npm package %s: %q is not an exact version", p.Name, p.Version)
	}
	digest, err := cache.ParseDigest(p.Integrity)
	if err != nil {
		return Source{}, fmt.Errorf("npm package %s: %w", name, err)
	}
	base, err := ParseURL(p.Registry)
	if err != nil {
		return Source{}, fmt.Errorf("npm registry: %w", err)
	}
	short := p.Name[strings.LastIndexByte(p.Name, '/')+1:]
	tarball := base.JoinPath(p.Name, "-", short+"-"+p.Version+".tgz")
	tarball.Fragment = ""
	return Source{URL: tarball.String(), Digest: digest, Name: name}, nil
}

// key returns the cache key: the name and version for people, and the digest.
func (p *NPMPackage) key(d cache.Digest) string {
	key := strings.ReplaceAll(p.Name, "/", "+") + "@" + p.Version + "-" + d.Hex[:16]
	if p.Part != "" {
		key += "-" + p.Part
	}
	return key
}
