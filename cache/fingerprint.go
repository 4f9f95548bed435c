package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"sync"
	"time"
)

// Whether what lies in the cache is still what was written is one rule, for
// blobs, entries and tools' directories: files that have the fingerprint which
// they had when all of them were last read, less than a day ago, are the same;
// else they are read and compared with their digests.
//
// A fingerprint is what the system knows of files without reading them. Whoever
// changes a file by the usual means changes its ctime, which only the superuser
// can set back, or its inode. What that does not show is a disk that forgets
// bits by itself: for it everything is read once a day, and by [Cache.Verify].
// Systems without a ctime have the time of modification instead, which its owner
// may set.

const (
	// readAge is how long a fingerprint saves reading.
	readAge = 24 * time.Hour

	// markEvery is how exactly the last use of an entry is known.
	markEvery = 12 * time.Hour
)

// state is what the system knows of a file.
type state struct {
	device, inode     uint64
	size              int64
	mode              uint32
	modified, changed time.Time
	regular           bool
}

// fingerprint returns a digest of the states of the files at paths, and when the
// newest of them was changed.
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

// verified remembers what this process has found good. The zero value is ready
// to use.
type verified struct {
	mu    sync.Mutex
	known map[string]finding // by the path of the entry or blob
}

type finding struct {
	paths       []string // of the files that are looked at each time
	fingerprint string
	read        time.Time
	marked      time.Time
}

// has reports whether what is at path was found good and its files have not
// changed since.
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

// add notes that what is at path was good when its files had the fingerprint.
func (v *verified) add(path string, f finding) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil {
		v.known = map[string]finding{}
	}
	v.mark(path, f)
}

// mark sets the time of the file or directory at path, for Prune to see, unless
// that was done lately. It must not make a finding out of date: the mark is a
// change, too.
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
