// Package codecache keeps Deno's databases of what it derives from packages, so
// that they load faster: V8's code, and the imports and exports of modules.
//
// A program could poison databases that others load. So the kernel lets it only read them or,
// where it cannot, it gets a copy, and each set of packages has its own databases, made by a
// process that loads the packages and runs no program. The caller makes them and defines the sets.
package codecache

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"coderunner/cache"
	"coderunner/internal/builder"
	"coderunner/internal/recent"

	"go.uber.org/zap"
)

// Kind is the cache's kind for the databases of a set, of which MaxEntries are kept.
const (
	Kind       = "deno-code"
	MaxEntries = 256
)

// Names are the files of Deno's databases. SQLite's other files are beside them.
var Names = []string{"v8_code_cache_v2", "node_analysis_cache_v2", "dep_analysis_cache_v2"}

// Seal is a program for Deno that completes the databases that it is told of.
//
//go:embed seal.js
var Seal []byte

const (
	// buildLimit bounds the making of a set's databases.
	buildLimit = 30 * time.Second
	// checkEvery is the shortest time between two checks of a set.
	checkEvery = time.Minute
	// maxFailures bounds how often databases fail or are dropped before a Store
	// makes no more for a set.
	maxFailures = 3

	maxSize  = 64 << 20 // of one set, in bytes
	maxBytes = 1 << 30  // on disk
)

// Store knows which sets of packages have databases. It is safe for concurrent
// use. The caller closes it.
type Store struct {
	cache   *cache.Cache
	kind    string
	log     *zap.Logger
	builder *builder.Builder
	sets    recent.Map[string, set]
}

// set is the state of a set of packages.
type set struct {
	path    string // of the databases that were last found, "" if none
	absent  bool   // Find found none
	checked time.Time
}

// New returns a Store that keeps its databases in c, as entries of a kind.
func New(c *cache.Cache, log *zap.Logger, kind string, maxEntries int) *Store {
	return &Store{
		cache: c, log: log, kind: kind,
		builder: builder.New(builder.Options{Cache: c, Kind: kind, MaxEntries: maxEntries, MaxBytes: maxBytes, MaxFailures: maxFailures, Log: log}),
	}
}

// Wait waits for the work in the background, Close ends it.
func (s *Store) Wait()  { s.builder.Wait() }
func (s *Store) Close() { s.builder.Close() }

// found records where a set's databases are.
func (s *Store) found(key, dir string) {
	s.sets.Update(key, func(known set) set {
		known.path, known.absent = dir, dir == ""
		return known
	})
}

// Find returns the directory with a set's databases, "" if there are none. The
// cache has verified them.
func (s *Store) Find(key string) string {
	if known, _ := s.sets.Get(key); known.absent {
		return ""
	}
	ctx, release := s.cache.Hold(context.Background()) // databases that go are done without
	defer release()
	dir, _ := s.cache.Find(ctx, cache.Trees, s.kind, key)
	s.found(key, dir)
	return dir
}

// Want calls fill in the background to make the databases of a set in a directory,
// if Find has found none, and then done.
func (s *Store) Want(key string, fill func(ctx context.Context, dir string) error, done func()) {
	if known, _ := s.sets.Get(key); !known.absent {
		return
	}
	s.builder.Start(key, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, buildLimit)
		defer cancel()
		dir, err := s.cache.Dir(ctx, s.kind, key, fill)
		if err != nil {
			return err
		}
		s.found(key, dir)
		done()
		return nil
	})
}

// Forgo records, for all processes, that a set gets no databases.
func (s *Store) Forgo(ctx context.Context, key string) { s.builder.Note(ctx, s.kind+"-forgone", key) }

// Forgone reports whether Forgo was called.
func (s *Store) Forgone(ctx context.Context, key string) bool {
	return s.builder.Noted(ctx, s.kind+"-forgone", key)
}

// Suspect calls check in the background after a Deno with the databases of a set
// failed: Deno does not verify them, and a damaged one ends every Deno that loads
// it. Since programs can make Deno fail, too, check loads the packages without
// the program. If it reports that this fails, the databases are dropped, and
// Suspect calls dropped.
func (s *Store) Suspect(key string, check func(context.Context) (broken bool), dropped func()) {
	if known, _ := s.sets.Get(key); known.path == "" || s.Checked(key) {
		return
	}
	started := s.builder.Start(key, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, buildLimit)
		defer cancel()
		if check(ctx) && s.Drop(ctx, key) {
			dropped()
		}
		return nil
	})
	if started {
		s.sets.Update(key, func(known set) set {
			known.checked = time.Now()
			return known
		})
	}
}

// Checked reports whether Suspect has started a check of a set within checkEvery.
func (s *Store) Checked(key string) bool {
	known, _ := s.sets.Get(key)
	return time.Since(known.checked) < checkEvery
}

// Drop removes the databases of a set that Find found, and reports whether there
// were any.
func (s *Store) Drop(ctx context.Context, key string) bool {
	path := ""
	s.sets.Update(key, func(known set) set {
		path, known.path, known.absent = known.path, "", true
		return known
	})
	if path == "" {
		return false
	}
	s.builder.Fail(key)
	if err := s.cache.Remove(ctx, cache.Entry{Section: cache.Trees, Kind: s.kind, Key: key, Path: filepath.Dir(path)}); err != nil {
		s.log.Warn("Deno's databases cannot be removed", zap.Error(err))
	}
	return true
}

// Copy makes the directory to, with copies of the databases in from if that is not
// "".
func Copy(from, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil || from == "" {
		return err
	}
	for _, name := range Names {
		if err := cache.CopyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Collect copies the databases in a directory below root, which an untrusted
// process wrote, into the directory to. It follows no link out of root.
func Collect(root, dir, to string) error {
	in, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer in.Close()
	left, some := int64(maxSize), false
	for _, name := range Names {
		from := filepath.Join(dir, name)
		info, err := in.Lstat(from)
		if errors.Is(err, os.ErrNotExist) {
			continue // this set has none
		}
		if err != nil {
			return err
		}
		if left -= info.Size(); left < 0 || !info.Mode().IsRegular() {
			return fmt.Errorf("%s: %v, %d bytes; %d at most are kept", name, info.Mode(), info.Size(), int64(maxSize))
		}
		b, err := in.ReadFile(from)
		if err != nil {
			return err
		}
		// With these beside it, SQLite reads it where it cannot write.
		for suffix, data := range map[string][]byte{"": b, "-wal": nil, "-shm": nil} {
			if err := os.WriteFile(filepath.Join(to, name+suffix), data, 0o600); err != nil {
				return err
			}
		}
		some = true
	}
	if !some { // Deno keeps them elsewhere now
		return errors.New("none made by Deno")
	}
	return nil
}
