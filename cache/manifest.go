package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// manifestFormat changes when older manifests can no longer be read.
const manifestFormat = 1

// maxManifest bounds the size of a manifest that is read, in bytes: about 300,000
// files.
const maxManifest = 64 << 20

// manifest lists the files under an entry's data. For a file entry it has one file
// with the path ".".
type manifest struct {
	Format int            `json:"format"`
	Kind   string         `json:"kind"`
	Key    string         `json:"key"`
	Files  []manifestFile `json:"files"`
	Dirs   []string       `json:"dirs,omitempty"` // of a record: the tools' directories

	sum string // its first line
}

type manifestFile struct {
	Path   string `json:"path"` // slash-separated, relative to data
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	CRC32C uint32 `json:"crc32c"` // for when SHA-256 would take too long
}

func (m *manifest) size() (total int64) {
	for _, f := range m.Files {
		total += f.Size
	}
	return total
}

// readManifest reads an entry's manifest. The caller checks its kind and key.
func readManifest(entry string) (*manifest, error) {
	name := filepath.Join(entry, manifestName)
	text, err := ReadSummed(name, maxManifest)
	if err != nil {
		return nil, err
	}
	m := &manifest{sum: sumLine(text)}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if m.Format != manifestFormat {
		return nil, fmt.Errorf("read %s: format %d, want %d", name, m.Format, manifestFormat)
	}
	for _, file := range m.Files {
		if !fs.ValidPath(file.Path) {
			return nil, fmt.Errorf("read %s: bad path %q", name, file.Path)
		}
	}
	return m, nil
}

// write writes the manifest of entry, and sets its sum.
func (m *manifest) write(entry string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	m.sum = sumLine(text)
	path := filepath.Join(entry, manifestName)
	return NewStorageError("write", path, os.WriteFile(path, Summed(text), 0o600))
}

// finish makes the files under entry/data read-only and writes the manifest.
func finish(entry, kind, key string) (*manifest, error) {
	m := &manifest{Format: manifestFormat, Kind: kind, Key: key, Files: []manifestFile{}}
	data := filepath.Join(entry, dataName)
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return NewStorageError("read", path, err)
		}
		if d.IsDir() {
			return nil
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("build %s %s: %s is not a regular file", kind, key, path)
		}
		rel, err := filepath.Rel(data, path)
		m.Files = append(m.Files, manifestFile{Path: filepath.ToSlash(rel)})
		return err
	})
	if err != nil {
		return nil, err
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range m.Files {
		g.Go(func() (err error) {
			m.Files[i], err = finishFile(f.path(data))
			m.Files[i].Path = f.Path
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return m, m.write(entry)
}

// finishFile makes one file read-only and hashes it.
func finishFile(path string) (manifestFile, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return manifestFile{}, NewStorageError("stat", path, err)
	}
	mode := fs.FileMode(0o444)
	if info.Mode()&0o111 != 0 {
		mode = 0o555
	}
	if info.Mode().Perm() != mode {
		if err := os.Chmod(path, mode); err != nil {
			return manifestFile{}, NewStorageError("chmod", path, err)
		}
	}
	return describeFile(path)
}

// describeFile returns the size and digests of a file.
func describeFile(path string) (manifestFile, error) {
	h, crc := sha256.New(), crc32.New(castagnoli())
	n, err := hashFile(path, h, crc)
	return manifestFile{Size: n, SHA256: hex.EncodeToString(h.Sum(nil)), CRC32C: crc.Sum32()}, err
}

// errDamaged is wrapped by errors about the contents of an entry.
var errDamaged = errors.New("damaged")

// compare returns an error if the files under data differ from the manifest. Sum
// compares the contents of one file.
func (m *manifest) compare(data string, sum func(f *manifestFile, path string) error) error {
	for _, f := range m.Files {
		path := f.path(data)
		s, err := look(path)
		switch {
		case err != nil:
		case !s.regular:
			err = fmt.Errorf("%s is not a regular file", path)
		case s.size != f.Size:
			err = fmt.Errorf("%s has %d bytes, want %d", path, s.size, f.Size)
		default:
			err = sum(&f, path)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	return nil
}

func (f *manifestFile) path(data string) string {
	return filepath.Join(data, filepath.FromSlash(f.Path))
}

func digestOf(f *manifestFile, path string) error {
	got, err := digestFile("sha256", path)
	if err == nil && got.Hex != f.SHA256 {
		err = fmt.Errorf("%s has %s, want sha256:%s", path, got, f.SHA256)
	}
	return err
}

func checksumOf(f *manifestFile, path string) error {
	crc := crc32.New(castagnoli())
	_, err := hashFile(path, crc)
	if got := crc.Sum32(); err == nil && got != f.CRC32C {
		err = fmt.Errorf("%s has crc32c:%08x, want %08x", path, got, f.CRC32C)
	}
	return err
}

// castagnoli returns the table of the polynomial that processors have an instruction for, which
// takes 0.15 ms to make.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// noMore returns an error if there are files under data that are not in the
// manifest.
func (m *manifest) noMore(data string) error {
	known := map[string]bool{}
	for _, f := range m.Files {
		known[f.Path] = true
	}
	return filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(data, path)
		if err == nil && !known[filepath.ToSlash(rel)] {
			err = fmt.Errorf("%w: %s does not belong there", errDamaged, path)
		}
		return err
	})
}
