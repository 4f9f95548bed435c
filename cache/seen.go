package cache

import (
	"io/fs"
	"os"
	"sync"
	"time"
)

// markEvery is how exactly the last use of an entry is known.
const markEvery = 12 * time.Hour

// seen remembers what this process has verified, and marks what it uses, so
// that Prune can tell. The zero value is ready to use.
type seen struct {
	mu    sync.Mutex
	files map[string]seenFile
}

type seenFile struct {
	stamp  stamp
	marked time.Time
}

// stamp is what of a file would change if its contents did.
type stamp struct {
	size    int64
	modTime time.Time
	info    fs.FileInfo // for os.SameFile and the kind of file
}

func stampOf(path string) (stamp, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.Size(), info.ModTime(), info}, nil
}

func (s stamp) same(t stamp) bool {
	return s.info != nil && t.info != nil && s.size == t.size && s.modTime.Equal(t.modTime) && os.SameFile(s.info, t.info)
}

// has reports whether the file at path was verified as it is now. Its entry
// is marked as used then, by the time of the file or folder at mark.
func (s *seen) has(path, mark string, now stamp) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[path]
	if !f.stamp.same(now) {
		return false
	}
	if time.Since(f.marked) > markEvery {
		s.add(path, mark, now)
	}
	return true
}

// verified notes that the file at path is good as of now.
func (s *seen) verified(path, mark string, now stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(path, mark, now)
}

func (s *seen) add(path, mark string, now stamp) {
	t := time.Now()
	if info, err := os.Lstat(mark); err == nil && t.Sub(info.ModTime()) > markEvery {
		// Where this fails, the cache is not ours to prune.
		if os.Chtimes(mark, t, t) == nil && mark == path {
			if marked, err := stampOf(path); err == nil && os.SameFile(marked.info, now.info) {
				now = marked
			}
		}
	}
	if s.files == nil {
		s.files = map[string]seenFile{}
	}
	s.files[path] = seenFile{now, t}
}
