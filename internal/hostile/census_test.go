//go:build linux

package hostile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// state is what a server logs of itself when it gets SIGUSR1.
type state struct {
	Msg        string `json:"msg"`
	Goroutines int    `json:"goroutines"`
	Heap       int64  `json:"heap_bytes"`
}

// census counts what a server holds.
type census struct {
	children   []string // processes that it, or one of its, started
	goroutines int
	fds        int
	namespaces int      // descriptors of those that wait for a process
	temp       []string // files in its TMPDIR
	entries    []string // files in its cache
	rss        int64

	keeps bool // programs have left packages in the cache
}

// take counts.
func (s *server) census() (census, error) {
	var c census
	var err error
	if c.children, err = descendants(s.pid()); err != nil {
		return c, err
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.pid()))
	if err != nil {
		return c, err
	}
	for _, fd := range fds {
		name, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", s.pid(), fd.Name()))
		if inNamespace.MatchString(name) {
			c.namespaces++
		} else {
			c.fds++
		}
	}
	c.temp = tree(s.temp, s.ownLink)
	c.entries = tree(s.cache, unstable)
	c.rss = memoryOf(s.pid())
	for len(s.states) > 0 {
		<-s.states
	}
	if err := s.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		return c, err
	}
	select {
	case st := <-s.states:
		c.goroutines = st.Goroutines
	case <-s.ended:
		return c, errEnded
	case <-time.After(time.Minute):
		return c, fmt.Errorf("the server does not tell its state")
	}
	return c, nil
}

// unstable are the parts of a cache that change without meaning anything: lock
// files, which stay, temporary directories that belong to a live server, notes that an
// entry was verified, made when it is some seconds old, and the databases of Deno,
// which only the trusted phase writes.
func unstable(name string) bool {
	return strings.HasPrefix(name, "locks") || strings.HasPrefix(name, "processes") || filepath.Base(name) == "fingerprint" ||
		strings.HasPrefix(name, "deno/") && strings.Contains(name, "_cache_v")
}

var inDenoDir = regexp.MustCompile(`^(coderunner-deno-[0-9]+-[0-9]+)/d([0-9]+)/(.*)`)

// inOwnDir matches the trusted main modules.
var inOwnDir = regexp.MustCompile(`^coderunner-deno-[0-9]+-[0-9]+/bootstrap(-[a-z]+)*\.(js|txt)$`)

// inNamespace matches the descriptors of a network that waits for a process, and maxNamespaces
// is how many of them there may be.
var inNamespace = regexp.MustCompile(`^(user|net):\[|^/proc/[0-9]+/net/dev$`)

const maxNamespaces = 3 * 16

// ownLink reports whether a temporary file is a link of a DENO_DIR to where it
// should lead, or the file in the place of localStorage. They stay for as long
// as the server lives, a few for each of the programs that may run at once.
func (s *server) ownLink(name string) bool {
	if inOwnDir.MatchString(name) {
		return true // made when the first program needs it
	}
	m := inDenoDir.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	target, err := os.Readlink(filepath.Join(s.temp, name))
	base := filepath.Join(s.temp, m[1])
	switch {
	case err != nil:
		return m[3] == "location_data"
	case target == ".": // it stands for a part of the path to compiled TypeScript
		parts := strings.Split(filepath.Join("gen/file", base, "r"+m[2]), "/")
		return slices.Contains(parts, m[3])
	}
	return slices.ContainsFunc([]string{filepath.Join(s.cache, "deno"), filepath.Join(s.cache, "trees", "deno-code"), filepath.Join(base, "r"+m[2])}, func(dir string) bool {
		return strings.HasPrefix(target, dir+"/")
	})
}

// tree lists the files under a directory.
func tree(root string, skip func(string) bool) []string {
	var names []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		name, _ := filepath.Rel(root, path)
		if skip == nil || !skip(name) {
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return names
}

// descendants returns the processes below one, zombies, too.
func descendants(pid int) ([]string, error) {
	parents := map[int]int{}
	names := map[int]string{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	for _, stat := range stats {
		b, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		text := string(b)
		open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
		fields := strings.Fields(text[end+1:])
		id, _ := strconv.Atoi(strings.TrimSpace(text[:open]))
		parents[id], _ = strconv.Atoi(fields[1])
		names[id] = fmt.Sprintf("%d %s %s", id, text[open:end+1], fields[0])
	}
	var found []string
	for id := range parents {
		for up, n := parents[id], 0; up > 1 && n < 50; up, n = parents[up], n+1 {
			if up == pid {
				found = append(found, names[id])
				break
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

func memoryOf(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	return n * int64(os.Getpagesize())
}

// watchMemory returns a function that tells by how many bytes the server's
// memory has grown at most since now.
func (s *server) watchMemory() func() int64 {
	status := fmt.Sprintf("/proc/%d/", s.pid())
	_ = os.WriteFile(status+"clear_refs", []byte("5"), 0) // the peak starts over
	peak := func() (n int64) {
		b, _ := os.ReadFile(status + "status")
		_, rest, _ := strings.Cut(string(b), "VmHWM:")
		_, _ = fmt.Sscan(rest, &n)
		return n << 10
	}
	before := peak()
	return func() int64 { return peak() - before }
}

// ahead is how many processes of Deno a server keeps ready for programs to
// come. Each waits in a directory of its own, which has nothing in it but the pipe
// for its report, and its copies of the compiled code of packages.
const ahead = 8

var (
	waitingReport = regexp.MustCompile(`^coderunner-deno-[0-9]+-[0-9]+/r[0-9]+/report$`)
	waitingCode   = regexp.MustCompile(`^(coderunner-deno-[0-9]+-[0-9]+/r[0-9]+/)(map\.json|code/[a-z0-9]+_[a-z]+_cache_v2(-wal|-shm)?)$`)
)

// waiting counts the processes that only wait.
func (c census) waiting() int { return c.denos("S") }

// zygotes counts the processes that are stopped and are forked for programs.
func (c census) zygotes() int { return c.denos("t") }

// denos counts the processes of Deno in a state.
func (c census) denos(state string) (n int) {
	for _, child := range c.children {
		if strings.HasSuffix(child, "(deno) "+state) {
			n++
		}
	}
	return n
}

// maxWorkers is how many workers a server has for one client, and one that waits for the
// next.
const maxWorkers = 4 + 1

// workers returns how many workers there are, at most maxWorkers.
func (c census) workers() int {
	n := 0
	for _, child := range c.children {
		if strings.HasSuffix(child, "(coderunner) S") {
			n++
		}
	}
	return min(n, maxWorkers)
}

// leftovers says what is there that was not before. Processes that wait for
// programs may be there, with their descriptors.
func leftovers(before, after census) []string {
	var left []string
	idle := min(after.waiting(), ahead) + min(after.zygotes(), ahead)
	more := max(0, idle-before.waiting()-before.zygotes())
	hired := max(0, after.workers()-before.workers())
	if len(after.children) > max(len(before.children), idle+after.workers()) {
		left = append(left, fmt.Sprintf("processes %q, were %q", after.children, before.children))
	}
	if after.goroutines > before.goroutines+2*more+10*hired {
		left = append(left, fmt.Sprintf("%d goroutines, were %d", after.goroutines, before.goroutines))
	}
	if after.fds > before.fds+6*more+8*hired {
		left = append(left, fmt.Sprintf("%d descriptors, were %d", after.fds, before.fds))
	}
	if after.namespaces > maxNamespaces {
		left = append(left, fmt.Sprintf("%d descriptors of namespaces", after.namespaces))
	}
	reports := 0
	for _, row := range []struct {
		what          string
		before, after []string
	}{{"temporary file", before.temp, after.temp}, {"cache entry", before.entries, after.entries}} {
		for _, name := range row.after {
			if waitingReport.MatchString(name) {
				if reports++; reports <= after.waiting() {
					continue
				}
			}
			if m := waitingCode.FindStringSubmatch(name); m != nil && slices.Contains(after.temp, m[1]+"report") {
				continue
			}
			// The server makes it for later programs with the same packages.
			if before.keeps && strings.HasPrefix(name, "trees/deno-code/") {
				continue
			}
			if _, known := slices.BinarySearch(row.before, name); !known {
				left = append(left, row.what+" "+name)
			}
		}
	}
	return left
}

// settle counts until nothing is left, or for a while: some things end a moment
// after the answer.
func (s *server) settle(before census) []string {
	var left []string
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		after, err := s.census()
		if err != nil {
			return []string{err.Error()}
		}
		if left = leftovers(before, after); left == nil || time.Now().After(end) {
			return left
		}
	}
}
