package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"sync"
	"time"
)

// One rule verifies blobs, entries and tool directories: an unchanged fingerprint
// less than a day old is trusted; otherwise files are hashed.
//
// A fingerprint covers the files' metadata. A change of a file changes its ctime,
// which only the superuser can set back, or its inode. Bit rot changes neither:
// against it everything is read once a day, and by [Cache.Verify]. Systems
// without a ctime use the mtime, which the owner of a file may set.

const (
	// readAge is how long a fingerprint is trusted.
	readAge = 24 * time.Hour

	// markEvery is the resolution of an entry's last-use time.
	markEvery = 12 * time.Hour
)

// state is the metadata of a file.
type state struct {
	device, inode     uint64
	size              int64
	mode              uint32
	modified, changed time.Time
	regular           bool
}

// fingerprint returns a digest of the states of the files at paths, and their
// newest ctime.
func fingerprint(paths []string) (sum string, newest time.Time, err error) {
	h := sha256.New()
	for _, path := range paths {
		s, err := look(path)
		if err != nil {
			return "", newest, err
		}
		fmt.Fprintln(h, s.device, s.inode, s.size, s.mode, s.modified.UnixNano(), s.changed.UnixNano())
		if s.changed.After(newest) {
			newest = s.changed
		}
	}
	return hex.EncodeToString(h.Sum(nil)), newest, nil
}

// verified remembers the entries and blobs that this process has verified. The
// zero value is ready to use.
type verified struct {
	mu    sync.Mutex
	known map[string]finding // by the path of the entry or blob
}

type finding struct {
	paths       []string // of the files that are checked on each use
	fingerprint string
	read        time.Time
	marked      time.Time
}

// has reports whether path was verified and its files have not changed since.
func (v *verified) has(path string) bool {
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
	if time.Since(f.marked) > markEvery {
		v.mark(path, f)
	}
	return true
}

// add records that path was verified when its files had the fingerprint.
func (v *verified) add(path string, f finding) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil {
		v.known = map[string]finding{}
	}
	v.mark(path, f)
}

// mark sets the mtime of path to now, for Prune, at most once per markEvery, and
// updates the fingerprint that this changes.
func (v *verified) mark(path string, f finding) {
	f.marked = time.Now()
	if info, err := os.Lstat(path); err == nil && f.marked.Sub(info.ModTime()) > markEvery {
		before, _, _ := fingerprint(f.paths)
		_ = os.Chtimes(path, f.marked, f.marked) // fails where the cache is not ours to prune
		if after, _, err := fingerprint(f.paths); err == nil && before == f.fingerprint {
			f.fingerprint = after
		}
	}
	v.known[path] = f
}
