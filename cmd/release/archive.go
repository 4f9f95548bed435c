package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive.
type file struct {
	name string // with slashes
	mode fs.FileMode
	data []byte // of a symbolic link, what it leads to
}

// artifact is a file of the release.
type artifact struct {
	Name, SHA256 string
	data         []byte
}

// write writes a file of the release. Its name is relative to the release's directory.
func (r *release) write(name string, data []byte, mode fs.FileMode) (*artifact, error) {
	to := filepath.Join(r.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return &artifact{path.Base(name), hex.EncodeToString(sum[:]), data}, os.WriteFile(to, data, mode)
}

// offer is write for what people download, which SHA256SUMS lists.
func (r *release) offer(name string, data []byte) (*artifact, error) {
	a, err := r.write(path.Join("download", name), data, 0o644)
	r.sums = append(r.sums, a)
	return a, err
}

// tarOf returns an archive in tar's format, whose files belong to a user.
func tarOf(files []file, date time.Time, uid int) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)), ModTime: date, Uid: uid, Gid: uid, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		switch {
		case f.mode.IsDir():
			h.Typeflag, h.Name = tar.TypeDir, f.name+"/"
		case f.mode&fs.ModeSymlink != 0:
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, string(f.data), 0
		}
		if f.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		err := w.WriteHeader(h)
		if err == nil && h.Size > 0 {
			_, err = w.Write(f.data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// gzipped is tarOf, compressed.
func gzipped(files []file, date time.Time) ([]byte, error) {
	raw, err := tarOf(files, date, 0)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(raw)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// zipped returns an archive in zip's format.
func zipped(files []file, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: date}
		h.SetMode(f.mode)
		to, err := w.CreateHeader(h)
		if err == nil {
			_, err = to.Write(f.data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// pack makes the archives that people download.
func (r *release) pack(context.Context) error {
	readme, err := os.ReadFile(filepath.Join(r.root, "README.md"))
	if err != nil {
		return err
	}
	files := append(slices.Clip(r.common), file{"README.md", 0o644, readme})
	for _, p := range r.platforms {
		pack, ending := gzipped, "tar.gz"
		if p.OS == "windows" {
			pack, ending = zipped, "zip"
		}
		data, err := pack(append([]file{{p.executable(), 0o755, r.binaries[p]}}, files...), r.date)
		if err != nil {
			return err
		}
		if r.archives[p], err = r.offer(fmt.Sprintf("coderunner_%s_%s_%s.%s", r.Version, p.OS, p.Arch, ending), data); err != nil {
			return err
		}
	}
	return nil
}

// runtimes returns the prepared runtimes that a platform's packages have beside the binary,
// where it finds them: none, unless there is a bundle for it.
func (r *release) runtimes(p platform, beside string) ([]file, error) {
	if r.bundle == "" || p != here() { // compiled code is one platform's
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(r.bundle, "PLATFORM")); err != nil {
		return nil, fmt.Errorf("%s is not a bundle; coderunner bundle makes one: %w", r.bundle, err)
	}
	files, err := readTree(r.bundle, path.Join(beside, "coderunner-bundle"))
	return slices.DeleteFunc(files, func(f file) bool { return !f.mode.IsRegular() || strings.HasSuffix(f.name, ".lock") }), err
}
