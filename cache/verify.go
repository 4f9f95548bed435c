package cache

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	// quickEntry is the size, in bytes, up to which each process hashes a whole
	// entry at first use: 2 ms. Larger ones have a fingerprint.
	quickEntry = 4 << 20

	// largeFile is the size, in bytes, from which files are re-checked on each use.
	largeFile = 1 << 20

	fingerprintName   = "fingerprint"
	fingerprintFormat = 1

	// settleTime is Cache.settleTime: the minimum age of the newest change for a
	// fingerprint to be written. Two changes within one tick of the file system's
	// clock have the same time.
	settleTime = 2 * time.Second

	// maxFingerprint bounds the size of a fingerprint file that is read, in bytes.
	maxFingerprint = 1 << 10
)

// checkBlob returns nil if the blob at path has its digest.
func (c *Cache) checkBlob(path string, want Digest) error {
	if c.verified.has(path) {
		return nil
	}
	s, err := look(path)
	if err != nil {
		return err
	}
	if !s.regular {
		return fmt.Errorf("%w: %s is not a regular file", errDamaged, path)
	}
	f := finding{paths: []string{path}, read: time.Now()}
	if f.fingerprint, _, err = fingerprint(f.paths); err != nil {
		return err
	}
	got, _, err := digestFile(want.Algorithm, path)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%w: %s has %s", errDamaged, path, got)
	}
	c.verified.add(path, f)
	return nil
}

// check returns nil if the entry exists and is not damaged.
func (e *entry) check() error {
	if e.c.verified.has(e.dir) {
		return nil
	}
	m, err := readManifest(e.dir)
	if err != nil {
		return err
	}
	if m.Kind != e.kind || m.Key != e.key {
		return fmt.Errorf("%w: %s is %s %s", errDamaged, e.dir, m.Kind, m.Key)
	}
	f := finding{paths: []string{filepath.Join(e.dir, manifestName)}, read: time.Now()}
	for _, file := range m.Files {
		if file.Size >= largeFile || e.section == Files {
			f.paths = append(f.paths, file.path(e.data()))
		}
	}
	if f.fingerprint, _, err = fingerprint(f.paths); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if m.size() <= quickEntry {
		err = m.compare(e.data(), checksumOf)
	} else {
		err = e.c.unchanged(e.dir, m, e.data())
	}
	if err == nil {
		e.c.verified.add(e.dir, f)
	}
	return err
}

// kept is the contents of a fingerprint file.
type kept struct {
	Format      int       `json:"format"`
	Manifest    string    `json:"manifest"` // the manifest's first line
	Fingerprint string    `json:"fingerprint"`
	Read        time.Time `json:"read"` // when all files were read
}

// unchanged returns nil if the files of m, below data, have not changed. Dir holds
// the fingerprint that saves reading them.
func (c *Cache) unchanged(dir string, m *manifest, data string) error {
	begun := time.Now()
	paths := make([]string, len(m.Files))
	for i, f := range m.Files {
		paths[i] = f.path(data)
	}
	before, newest, err := fingerprint(paths)
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if k, err := readFingerprint(dir); err == nil {
		age := begun.Sub(k.Read)
		if k.Format == fingerprintFormat && k.Manifest == m.sum && k.Fingerprint == before && age >= 0 && age < readAge {
			return nil
		}
	}
	if err := m.compare(data, checksumOf); err != nil {
		return err
	}
	after, _, err := fingerprint(paths)
	if err != nil || after != before || begun.Sub(newest) < c.settleTime {
		return err
	}
	// If this fails, the next process reads everything, too.
	_ = c.writeFingerprint(dir, &kept{fingerprintFormat, m.sum, before, begun.UTC()})
	return nil
}

func readFingerprint(dir string) (*kept, error) {
	f, err := os.Open(filepath.Join(dir, fingerprintName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFingerprint))
	if err != nil {
		return nil, err
	}
	sum, text, _ := bytes.Cut(data, []byte("\n"))
	if string(sum) != manifestSum(text) {
		return nil, fmt.Errorf("read %s: %w", f.Name(), errDamaged)
	}
	k := new(kept)
	return k, json.Unmarshal(text, k)
}

// writeFingerprint replaces the fingerprint in dir in one step. It is not synced:
// a torn one fails its checksum.
func (c *Cache) writeFingerprint(dir string, k *kept) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	tmp, err := c.TempDir("fingerprint")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	fresh := filepath.Join(tmp, fingerprintName)
	if err := os.WriteFile(fresh, append([]byte(manifestSum(text)+"\n"), text...), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(dir, fingerprintName))
}
