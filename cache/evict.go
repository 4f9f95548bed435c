package cache

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"coderunner/internal/order"
)

// The size of a cache is in its file size, to which every process adds what it
// installs. All entries are looked at only when that is above the limit, or
// unknown, and then some more are evicted, so that this is seldom.

const (
	sizeName  = "size"     // of the file and its lock
	evictName = "evicting" // of the lock of who measures the cache

	// evictTo is the part of the limit, in percent, that is left.
	evictTo = 90

	// inForce is how much longer than another entry of its kind a runtime's may be
	// unused to be one of the current version.
	inForce = 24 * time.Hour
)

// evictor keeps a cache under a size.
type evictor struct {
	c        *Cache
	limit    int64 // bytes; 0: none
	runtimes runtimeKinds

	mu      sync.Mutex
	running bool // guarded by mu
	again   bool // guarded by mu
	work    sync.WaitGroup
}

// Limit makes the cache evict the least recently used entries, in the background
// after an installation, when it is larger than a size in bytes. 0 is no limit.
//
// Entries in use by any process stay: see [Cache.Hold]. So do those of the kinds
// runtimes, except for other versions' that were not used for a day longer. Limit is
// called before the Cache is used. Close waits for an eviction.
func (c *Cache) Limit(bytes int64, runtimes ...string) {
	c.evictor.limit, c.evictor.runtimes = bytes, runtimes
	c.evictor.grow(0)
}

// Hold returns a context for a use of entries, which are not evicted until release
// is called. Entries that are found without one stay until the Cache is closed.
func (c *Cache) Hold(ctx context.Context) (_ context.Context, release func()) {
	return c.uses.hold(ctx)
}

// grow adds to the size of the cache, and starts an eviction if it is too large.
func (e *evictor) grow(bytes int64) {
	total, known := e.addSize(bytes)
	if e.limit == 0 || known && total <= e.limit {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.again = e.running; e.running {
		return
	}
	e.running = true
	e.work.Go(func() {
		for more := true; more; {
			e.evict(context.Background())
			e.mu.Lock()
			more, e.again = e.again, false
			e.running = more
			e.mu.Unlock()
		}
	})
}

// addSize adds to the size that all processes share, and returns it. It is not known
// before the first eviction, and where it cannot be written.
func (e *evictor) addSize(bytes int64) (total int64, known bool) {
	return e.changeSize(func(size int64, known bool) (int64, bool) { return size + bytes, known })
}

// changeSize changes the size that all processes share, if change says what it is, and returns it.
func (e *evictor) changeSize(change func(size int64, known bool) (int64, bool)) (total int64, known bool) {
	unlock, err := e.c.locks.take(context.Background(), sizeName)
	if err != nil {
		return 0, false
	}
	defer unlock()
	path := filepath.Join(e.c.root, sizeName)
	text, _ := os.ReadFile(path) // without it there is no number
	was, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if total, known = change(was, err == nil); known && (err != nil || total != was) {
		known = os.WriteFile(path, fmt.Appendln(nil, total), 0o600) == nil
	}
	return total, known
}

// evict removes entries until the cache is small enough. If it fails, the next one
// tries again. What others install meanwhile may be among what is listed, and is counted once
// more then: too large a size is corrected by the next eviction, too small a one by none.
func (e *evictor) evict(ctx context.Context) {
	unlock, err := e.c.locks.take(ctx, evictName)
	if err != nil {
		return
	}
	defer unlock()
	before, _ := e.addSize(0)
	list, err := e.c.List(ctx)
	if err != nil {
		return
	}
	total := int64(0)
	for i := range list {
		if list[i].Counts() {
			total += list[i].Size
		}
		if last := e.c.verifier.lastUse(list[i].Path); last.After(list[i].Used) {
			list[i].Used = last
		}
	}
	if total > e.limit {
		tmp, err := e.c.TempDir("evict")
		if err != nil {
			return
		}
		defer os.RemoveAll(tmp)
		total = e.moveAway(ctx, list, total, tmp)
	}
	e.changeSize(func(size int64, _ bool) (int64, bool) { return total + max(size-before, 0), true })
}

// moveAway renames entries into the directory tmp until evictTo percent of the limit
// are left, and returns the new total.
func (e *evictor) moveAway(ctx context.Context, list []Entry, total int64, tmp string) int64 {
	unlock, err := e.c.locks.take(ctx, evictLock)
	if err != nil {
		return total
	}
	defer unlock()
	others := e.c.usedByOthers()
	stays := e.runtimes.inForce(list)
	order.By(list, func(x, y Entry) int { return x.Used.Compare(y.Used) })
	recorded := recordedDirs(e.c.root)
	n := 0
	move := func(path string) bool {
		n++
		return os.Rename(path, filepath.Join(tmp, strconv.Itoa(n))) == nil
	}
	for _, entry := range list {
		if total <= e.limit/100*evictTo {
			break
		}
		info, err := os.Lstat(entry.Path)
		keep, listed := others[entry.Path]
		if err != nil || entry.Section == Tools || keep || listed && time.Since(info.ModTime()) < listedFor || stays(entry) {
			continue
		}
		moved := false
		e.c.uses.whileUnused(entry.Path, func() { moved = move(entry.Path) })
		if !moved {
			continue
		}
		total -= entry.Size
		if entry.Section != Records {
			continue
		}
		for _, dir := range recorded.drop(entry.Path) {
			dir = filepath.Join(e.c.root, filepath.FromSlash(dir))
			if size := DiskUse(ctx, dir); move(dir) {
				total -= size
			}
		}
	}
	return total
}

// usedByOthers returns the paths that other processes use, and whether they do until their
// end.
func (c *Cache) usedByOthers() map[string]bool {
	others := map[string]bool{}
	for _, dir := range c.others() {
		for path, keep := range readUses(c.root, dir) {
			others[path] = others[path] || keep
		}
	}
	return others
}

// runtimeKinds are the kinds of entries that runtimes are made of.
type runtimeKinds []string

// name returns the same for the versions of a runtime's entry, "" for others.
func (k runtimeKinds) name(entry Entry) string {
	if !slices.Contains(k, entry.Kind) {
		return ""
	}
	if at := strings.LastIndexByte(entry.Key, '@'); at > 0 {
		return entry.Kind + " " + entry.Key[:at]
	}
	return entry.Kind
}

// inForce returns what reports whether an entry is a runtime's that is in use: no other
// version of it was used a day later.
func (k runtimeKinds) inForce(list []Entry) func(Entry) bool {
	newest := map[string]time.Time{}
	for _, entry := range list {
		if name := k.name(entry); entry.Used.After(newest[name]) {
			newest[name] = entry.Used
		}
	}
	return func(entry Entry) bool {
		name := k.name(entry)
		return name != "" && newest[name].Sub(entry.Used) < inForce
	}
}

// recordings has the tools' directories, below the root, of each record.
type recordings struct {
	dirs  map[string][]string // by the record's path
	count map[string]int      // of the records with a directory
}

// recordedDirs reads all records of a cache: each once, since they list every file.
// That includes those made after the cache was listed.
func recordedDirs(root string) recordings {
	r := recordings{map[string][]string{}, map[string]int{}}
	records, _ := fs.Glob(os.DirFS(root), Records+"/*/*")
	for _, name := range records {
		record := filepath.Join(root, filepath.FromSlash(name))
		m := new(manifest)
		text, err := os.ReadFile(filepath.Join(record, dataName))
		if err != nil || json.Unmarshal(text, m) != nil {
			continue
		}
		for _, dir := range m.Dirs {
			if filepath.IsLocal(filepath.FromSlash(dir)) && dir != "." {
				r.dirs[record] = append(r.dirs[record], dir)
				r.count[dir]++
			}
		}
	}
	return r
}

// drop forgets a record, and returns the directories that no other one has.
func (r recordings) drop(record string) (only []string) {
	for _, dir := range r.dirs[record] {
		if r.count[dir]--; r.count[dir] == 0 {
			only = append(only, dir)
		}
	}
	delete(r.dirs, record)
	return only
}
