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
	t, err := p.tarball()
	if err != nil {
		return "", err
	}
	return c.cache.Dir(ctx, npmKind, t.key, func(ctx context.Context, dir string) error {
		return c.unpackNPM(ctx, p, t, dir, progress)
	})
}

// UnpackNPM is NPM for whoever keeps something else that is made of the package: the
// directory is one of the cache, or a new one that the caller removes.
func (c *Client) UnpackNPM(ctx context.Context, p NPMPackage, progress ProgressFunc) (dir string, remove func(), err error) {
	t, err := p.tarball()
	if err != nil {
		return "", nil, err
	}
	if dir, ok := c.cache.Find(ctx, cache.Trees, npmKind, t.key); ok {
		return dir, func() {}, nil
	}
	if dir, err = c.cache.TempDir("npm"); err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	if err := c.unpackNPM(ctx, p, t, dir, progress); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// npmKind is the kind of the entries of packages.
const npmKind = "npm"

// unpackNPM downloads the tarball to a temporary file and unpacks it into dir.
// The tarball is not cached: nothing reads it again.
func (c *Client) unpackNPM(ctx context.Context, p NPMPackage, t npmTarball, dir string, progress ProgressFunc) error {
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
	if err := c.download(ctx, t.Source, t.request, f, progress); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return cache.NewStorageError("read", path, err)
	}
	u := unpacker{limits: npmLimits, keep: p.Keep}
	if err := u.unpack(ctx, f, dir); err != nil {
		return fmt.Errorf("unpack %s: %w", t.name, err)
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

// Key returns the package's key in the cache: the name and version for people, and the
// digest. The error is of a name, a version, an integrity or a registry that are none.
func (p *NPMPackage) Key() (string, error) {
	t, err := p.tarball()
	return t.key, err
}

// npmTarball is where a package is fetched from, and its key.
type npmTarball struct {
	Source
	request
	key string
}

func (p *NPMPackage) tarball() (t npmTarball, err error) {
	if t.Source, err = p.source(); err != nil {
		return npmTarball{}, err
	}
	if t.request, err = t.Source.request(); err != nil {
		return npmTarball{}, err
	}
	t.key = strings.ReplaceAll(p.Name, "/", "+") + "@" + p.Version + "-" + t.Digest.Hex[:16]
	if p.Part != "" {
		t.key += "-" + p.Part
	}
	return t, nil
}
