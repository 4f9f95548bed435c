package cache

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Entries in use are not evicted. This process counts its own uses in memory.
// Other processes read its list, which has each entry since its first use:
//
//	<root>/processes/<process>/used    a path in each line; with + before it: until the end
//
// A process that uses an entry for the first time holds the lock evictLock shared,
// from before it writes the line until it has verified the entry. Who evicts holds
// it alone while it reads lists and renames entries. So no use writes anything but
// the first.

const (
	usedName  = "used"
	evictLock = "evict"

	// listedFor is how long after its last use a listed entry stays. No run takes
	// as long.
	listedFor = 6 * time.Hour
)

// uses are the entries that this process uses.
type uses struct {
	mu     sync.Mutex
	counts map[string]int    // of holds, by path; guarded by mu
	kept   map[string]bool   // until the end, by path; guarded by mu
	listed map[string]string // the last line, by path; guarded by mu
}

// holdKey is the context key of a *hold.
type holdKey struct{}

// hold is a set of entries that are used together.
type hold struct {
	paths map[string]bool // guarded by uses.mu
}

// hold returns a context for uses that end with release.
func (u *uses) hold(ctx context.Context) (_ context.Context, release func()) {
	h := &hold{paths: map[string]bool{}}
	return context.WithValue(ctx, holdKey{}, h), sync.OnceFunc(func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		for path := range h.paths {
			if u.counts[path]--; u.counts[path] == 0 {
				delete(u.counts, path)
			}
		}
	})
}

// add adds a use of the entry at path, and returns the line for the list, "" if the
// list has it.
func (u *uses) add(ctx context.Context, root, path string, keep bool) (line string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.counts == nil {
		u.counts, u.kept, u.listed = map[string]int{}, map[string]bool{}, map[string]string{}
	}
	h, _ := ctx.Value(holdKey{}).(*hold)
	if h != nil && !h.paths[path] {
		h.paths[path] = true
		u.counts[path]++
	}
	if h == nil || keep {
		u.kept[path] = true
	}
	line, err := filepath.Rel(root, path)
	if u.kept[path] {
		line = "+" + line
	}
	if err != nil || u.listed[path] == line {
		return ""
	}
	u.listed[path] = line
	return line + "\n"
}

// forget makes the next uses be listed again.
func (u *uses) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.listed)
}

// whileUnused calls do and reports true unless this process uses the entry at path.
func (u *uses) whileUnused(path string, do func()) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.counts[path] > 0 || u.kept[path] {
		return false
	}
	do()
	return true
}

// readUses returns the entries that the process with a directory uses; those that
// it keeps until its end are true.
func readUses(root, dir string) map[string]bool {
	list := map[string]bool{}
	f, err := os.Open(filepath.Join(dir, usedName))
	if err != nil {
		return list // it has not used any
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		rel, keep := strings.CutPrefix(lines.Text(), "+")
		path := filepath.Join(root, rel)
		list[path] = list[path] || keep
	}
	return list
}
