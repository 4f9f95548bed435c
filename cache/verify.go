package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
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

	// markEvery is the resolution of an entry's last-use time.
	markEvery = time.Minute

	// settleTime is verifier.settleTime: the minimum age of the newest change for a
	// fingerprint to be written. Two changes within one tick of the file system's
	// clock have the same time.
	settleTime = 2 * time.Second

	// maxFingerprint bounds the size of a fingerprint file that is read, in bytes.
	maxFingerprint = 1 << 10
)

// verifier verifies entries and blobs, and remembers those that are as they
// should be.
type verifier struct {
	settleTime time.Duration // a field so that tests need not wait
	tempDir    func(prefix string) (string, error)

	mu    sync.Mutex
	known map[string]finding // by the path of the entry or blob; guarded by mu
}

type finding struct {
	paths       []string // of the files that are checked on each use
	fingerprint string
	read        time.Time
	used        time.Time
	marked      time.Time
}

// has reports whether path was verified and its files have not changed since.
func (v *verifier) has(path string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	f, ok := v.known[path]
	if !ok || time.Since(f.read) > readAge {
		return false
	}
	now, _, err := fingerprint(f.paths)
	if err != nil || now != f.fingerprint {
		return false
	}
	if f.used = time.Now(); f.used.Sub(f.marked) > markEvery {
		f = marked(path, f)
	}
	v.known[path] = f
	return true
}

// add records that path was verified when its files had the fingerprint.
func (v *verifier) add(path string, f finding) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil {
		v.known = map[string]finding{}
	}
	f.used = time.Now()
	v.known[path] = marked(path, f)
}

// lastUse returns when this process last used the entry or blob at path.
func (v *verifier) lastUse(path string) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known[path].used
}

// marked sets the mtime of path to its last use, for eviction, at most once per
// markEvery, and returns f with the fingerprint that this changes.
func marked(path string, f finding) finding {
	f.marked = f.used
	if info, err := os.Lstat(path); err == nil && f.marked.Sub(info.ModTime()) > markEvery {
		before, _, _ := fingerprint(f.paths)
		_ = os.Chtimes(path, f.marked, f.marked) // fails where the cache is not ours to prune
		if after, _, err := fingerprint(f.paths); err == nil && before == f.fingerprint {
			f.fingerprint = after
		}
	}
	return f
}

// blob returns nil if the blob at path has its digest.
func (v *verifier) blob(path string, want Digest) error {
	if v.has(path) {
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
	got, err := digestFile(want.Algorithm, path)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%w: %s has %s", errDamaged, path, got)
	}
	v.add(path, f)
	return nil
}

// entry returns nil if the entry exists and is not damaged. What this process has built, whose
// manifest is built, was hashed a moment ago.
func (v *verifier) entry(e *entry, built *manifest) error {
	if v.has(e.dir) {
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
		if file.Size >= largeFile || e.section != Trees {
			f.paths = append(f.paths, file.path(e.data()))
		}
	}
	if f.fingerprint, _, err = fingerprint(f.paths); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	switch {
	case built != nil && built.sum == m.sum:
	case m.size() <= quickEntry:
		err = m.compare(e.data(), checksumOf)
	default:
		err = v.unchanged(e.dir, m, e.data())
	}
	if err == nil {
		v.add(e.dir, f)
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
func (v *verifier) unchanged(dir string, m *manifest, data string) error {
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
	if err != nil || after != before || begun.Sub(newest) < v.settleTime {
		return err
	}
	// If this fails, the next process reads everything, too.
	_ = v.writeFingerprint(dir, &kept{fingerprintFormat, m.sum, before, begun.UTC()})
	return nil
}

func readFingerprint(dir string) (*kept, error) {
	text, err := ReadSummed(filepath.Join(dir, fingerprintName), maxFingerprint)
	if err != nil {
		return nil, err
	}
	k := new(kept)
	return k, json.Unmarshal(text, k)
}

// writeFingerprint replaces the fingerprint in dir in one step. It is not synced:
// a torn one fails its checksum.
func (v *verifier) writeFingerprint(dir string, k *kept) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	tmp, err := v.tempDir("fingerprint")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	fresh := filepath.Join(tmp, fingerprintName)
	if err := os.WriteFile(fresh, Summed(text), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(dir, fingerprintName))
}

// Verify reads all blobs, trees and files, compares them with their digests, and
// returns the damaged ones. It changes nothing: see [Cache.Remove]. Tool
// directories are not verified.
func (c *Cache) Verify(ctx context.Context) ([]Problem, error) {
	list, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	for _, e := range list {
		if ctx.Err() != nil {
			return problems, fmt.Errorf("verify %s: %w", c.root, ContextErr(ctx))
		}
		if err := e.verify(); err != nil {
			if _, gone := os.Lstat(e.Path); errors.Is(gone, fs.ErrNotExist) {
				continue // removed while we looked
			}
			problems = append(problems, Problem{e, err})
		}
	}
	return problems, nil
}

func (e *Entry) verify() error {
	switch e.Section {
	case Blobs:
		want := Digest{e.Kind, e.Key}
		if err := want.Check(); err != nil {
			return err
		}
		got, err := digestFile(want.Algorithm, e.Path)
		if err == nil && got != want {
			err = fmt.Errorf("%w: it has %s", errDamaged, got)
		}
		return err
	case Trees, Files, Records:
		m, err := readManifest(e.Path)
		if err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		data := filepath.Join(e.Path, dataName)
		if err := m.compare(data, digestOf); err != nil {
			return err
		}
		return m.noMore(data)
	}
	return nil
}
