package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// flavour is a kind of image, and the packages of Debian that it is made of.
type flavour struct {
	name     string
	packages []string
}

// flavours: Deno needs glibc; Python and bash need nothing but certificates.
var flavours = []flavour{
	{"full", []string{"ca-certificates", "libc6", "libgcc-s1", "tzdata"}},
	{"small", []string{"ca-certificates"}},
}

// imageUser is whom an image runs as; nothing in it is theirs but the cache.
const (
	imageUser  = 65532
	imageCache = "/var/cache/coderunner"
)

// images writes, as OCI layouts, an index of images for Linux in each flavour.
func (r *release) images(ctx context.Context) error {
	if !r.withImages {
		return nil
	}
	for _, f := range flavours {
		index := mutate.IndexMediaType(v1.ImageIndex(empty.Index), types.OCIImageIndex)
		for _, p := range r.platforms {
			if p.OS != "linux" {
				continue
			}
			img, err := r.newImage(ctx, f, p)
			if err != nil {
				return fmt.Errorf("%s for %s: %w", f.name, p, err)
			}
			index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.OS, Architecture: p.Arch}}})
		}
		if _, err := layout.Write(filepath.Join(r.out, "images", f.name), index); err != nil {
			return err
		}
	}
	return nil
}

// newImage returns the image of a flavour for a platform. Layers are in the order of how
// seldom they change.
func (r *release) newImage(ctx context.Context, f flavour, p platform) (v1.Image, error) {
	base, err := debianRoot(ctx, p.Arch, f.packages)
	if err != nil {
		return nil, err
	}
	base = append(base,
		file{"etc/passwd", 0o644, fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/tmp:/sbin/nologin\n", imageUser, imageUser)},
		file{"etc/group", 0o644, fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", imageUser)},
		file{"tmp", fs.ModeDir | fs.ModeSticky | 0o777, nil})
	cache := []file{{imageCache[1:], fs.ModeDir | 0o755, nil}}
	if r.cache != "" && f.name == "full" && p == here() { // compiled code is one platform's
		if _, err := os.Stat(filepath.Join(r.cache, "trees", "deno-binary")); err == nil {
			return nil, fmt.Errorf("%s is one machine's alone; coderunner bundle makes a cache for many", r.cache)
		}
		if cache, err = readTree(r.cache, imageCache[1:]); err != nil {
			return nil, err
		}
	}
	own := []file{{"usr/share/doc/coderunner/copyright", 0o644, r.common[0].data}, {"usr/local/bin/coderunner", 0o755, r.binaries[p]}}
	base = append(parents(slices.Concat(base, cache, own)), base...)
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, l := range []struct {
		files []file
		uid   int
	}{{base, 0}, {cache, imageUser}, {own, 0}} {
		raw, err := tarOf(l.files, r.date, l.uid)
		if err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "cmd/release"}}); err != nil {
			return nil, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.OS, p.Arch, v1.Time{Time: r.date}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", imageUser, imageUser), WorkingDir: "/tmp", Entrypoint: []string{"/usr/local/bin/coderunner"},
		Env:          []string{"PATH=/usr/local/bin", "HOME=/tmp", "container=oci", "CODE_RUNNER_CACHE_DIR=" + imageCache},
		Volumes:      map[string]struct{}{imageCache: {}},
		ExposedPorts: map[string]struct{}{"8000/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": "coderunner", "org.opencontainers.image.version": r.Version, "org.opencontainers.image.vendor": r.Publisher,
			"org.opencontainers.image.description": description, "org.opencontainers.image.url": r.Homepage, "org.opencontainers.image.licenses": "MIT",
			"org.opencontainers.image.created": r.date.Format(time.RFC3339), "io.modelcontextprotocol.server.name": r.Registry,
		},
	}
	return mutate.ConfigFile(img, config)
}

// parents returns the directories of files, but for those in the list: a directory without
// an entry is root's alone by Docker before 23.
func parents(files []file) (dirs []file) {
	has := map[string]bool{".": true}
	for _, f := range files {
		has[f.name] = true
	}
	for _, f := range files {
		for dir := path.Dir(f.name); !has[dir]; dir = path.Dir(dir) {
			has[dir] = true
			dirs = append(dirs, file{dir, fs.ModeDir | 0o755, nil})
		}
	}
	slices.SortFunc(dirs, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return dirs
}

// readTree returns the files below a directory, as they are to be named.
func readTree(dir, as string) (files []file, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name) // which WalkDir joined
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := file{filepath.ToSlash(filepath.Join(as, rel)), info.Mode(), nil}
		switch {
		case info.Mode().IsRegular():
			f.data, err = os.ReadFile(name)
		case info.Mode()&fs.ModeSymlink != 0:
			var to string
			to, err = os.Readlink(name)
			f.data = []byte(to)
		case !info.IsDir():
			return nil // a socket of a process that has ended
		}
		files = append(files, f)
		return err
	})
	return files, err
}
