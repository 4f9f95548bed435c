package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"coderunner/internal/trace"
)

// syncer has the disk write what was installed, in the background: a first import of a small
// package waited for the disk 300 times. After a power cut an entry may be there without the
// contents of its files. That is found like other damage: file systems write contents before
// sizes, and a fingerprint has the sizes.
type syncer struct {
	flush func(paths []string) error // see flush, another one in tests

	mu      sync.Mutex
	pending []string // entries and blobs; guarded by mu
	running bool     // guarded by mu
	err     error    // guarded by mu
	work    sync.WaitGroup
}

// add syncs an entry or blob soon, together with others that come until then.
func (s *syncer) add(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, path)
	if !s.running {
		s.running = true
		s.work.Go(s.run)
	}
}

func (s *syncer) run() {
	for {
		s.mu.Lock()
		paths := s.pending
		s.pending, s.running = nil, len(paths) > 0
		s.mu.Unlock()
		if len(paths) == 0 {
			return
		}
		if err := s.flush(paths); err != nil {
			for _, path := range paths {
				_ = os.RemoveAll(path) // the disk has not taken it
			}
			s.mu.Lock()
			s.err = errors.Join(s.err, err)
			s.mu.Unlock()
		}
	}
}

// wait waits until the disk has everything.
func (s *syncer) wait() error {
	s.work.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// manyFiles is the number of files from which syncing the whole file system is
// faster than syncing one file after the other.
const manyFiles = 64

// flush syncs entries and blobs. What cannot be opened is left to the system: it was removed
// meanwhile, or there are no descriptors.
func flush(paths []string) error {
	defer trace.Begin("wait for the disk")()
	var all []string
	for _, path := range paths {
		_ = filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				all = append(all, path)
			}
			return nil
		})
		all = append(all, filepath.Dir(path))
	}
	if len(all) >= manyFiles {
		if done, err := syncFilesystem(filepath.Dir(paths[0])); done || err != nil {
			return err
		}
	}
	for _, path := range all {
		if err := syncPath(path); err != nil {
			return err
		}
	}
	return nil
}

// syncPath syncs a file, or makes renames inside a directory survive a power cut, where the
// system can sync one.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.IsDir() && runtime.GOOS == "windows" {
		return nil
	}
	if err := f.Sync(); err != nil && !syncUnsupported(err) {
		return NewStorageError("sync", path, err)
	}
	return nil
}
