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
	stamp    stamp
	verified time.Time
	marked   time.Time
	large    map[string]stamp // of its entry's large files, by path
}

// stamp is what of a file would change if its contents did.
type stamp struct {
	size          int64
	modTime       time.Time
	changed       time.Time // the ctime, where there is one
	device, inode uint64
	info          fs.FileInfo // for os.SameFile and the kind of file
}

func stampOf(path string) (stamp, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}, err
	}
	device, inode, changed := identity(info)
	return stamp{info.Size(), info.ModTime(), changed, device, inode, info}, nil
}

func (s stamp) same(t stamp) bool {
	return s.info != nil && t.info != nil && s.size == t.size && s.modTime.Equal(t.modTime) && s.changed.Equal(t.changed) && os.SameFile(s.info, t.info)
}

// has reports whether the file at path was verified as it is now, less than a
// day ago, and with it the large files of its entry. The entry is marked as
// used then, by the time of the file or folder at mark.
func (s *seen) has(path, mark string, now stamp) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[path]
	if !f.stamp.same(now) || time.Since(f.verified) > sealAge {
		return false
	}
	for name, was := range f.large {
		if is, err := stampOf(name); err != nil || !is.same(was) {
			return false
		}
	}
	if time.Since(f.marked) > markEvery {
		s.add(path, mark, now, f)
	}
	return true
}

// verified notes that the file at path is good as of now, and so are the large
// files of its entry.
func (s *seen) verified(path, mark string, now stamp, large map[string]stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(path, mark, now, seenFile{verified: time.Now(), large: large})
}

func (s *seen) add(path, mark string, now stamp, f seenFile) {
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
	f.stamp, f.marked = now, t
	s.files[path] = f
}
