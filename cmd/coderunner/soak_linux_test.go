package main

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// vitals are what must stay flat.
type vitals struct {
	at                                    time.Duration
	calls                                 int64
	memory, heap, descriptors, goroutines int // memory and heap in MiB
	threads, processes, files, kilobytes  int
}

func (v vitals) String() string {
	return fmt.Sprintf("%6.0fs | %7d calls | %4d MiB, %3d of it heap | %3d descriptors | %4d goroutines | %3d threads | %2d processes | %5d files, %6d kB on disk",
		v.at.Seconds(), v.calls, v.memory, v.heap, v.descriptors, v.goroutines, v.threads, v.processes, v.files, v.kilobytes)
}

var (
	goroutines = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)
	heapInUse  = regexp.MustCompile(`(?m)^go_memstats_heap_inuse_bytes (\S+)$`)
)

// look reads the vitals of a server, and of what it has in some directories.
func look(t *testing.T, s *httpServer, token string, dirs ...string) (v vitals) {
	pid := s.cmd.Process.Pid
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("%v: %s", err, s.log)
	}
	field := func(name string) int {
		_, rest, _ := strings.Cut(string(status), "\n"+name+":")
		n, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
		return n
	}
	v.memory, v.threads = field("RssAnon")>>10, field("Threads")
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	v.descriptors = len(fds)
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // a thread that has ended
		v.processes += len(strings.Fields(string(children)))
	}
	metrics := running(t, s.url, token)
	if found := goroutines.FindStringSubmatch(metrics); found != nil {
		v.goroutines, _ = strconv.Atoi(found[1])
	}
	if found := heapInUse.FindStringSubmatch(metrics); found != nil {
		bytes, _ := strconv.ParseFloat(found[1], 64)
		v.heap = int(bytes) >> 20
	}
	seen := map[uint64]bool{} // blobs have many names
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				info, err := d.Info()
				if err != nil {
					return nil // it is gone
				}
				v.files++
				if inode := info.Sys().(*syscall.Stat_t).Ino; !seen[inode] {
					seen[inode] = true
					v.kilobytes += int(info.Size() >> 10)
				}
			}
			return nil
		})
	}
	return v
}

// soaker is one client of the soak. It knows what its sessions must say.
type soaker struct {
	httpClient
	name     int
	random   *rand.Rand
	counters map[string]int // by session
}

// step makes one of many kinds of calls. It returns what went wrong.
func (k *soaker) step(ctx context.Context) error {
	want := func(text string, err error, word string) error {
		if err != nil || !strings.Contains(text, word) {
			return fmt.Errorf("%q instead of %q: %w", text, word, err)
		}
		return nil
	}
	switch n := k.random.IntN(100); {
	case n < 30:
		text, err := k.python(ctx, "", fmt.Sprintf("print(%d * 2)", k.name))
		return want(text, err, fmt.Sprint(k.name*2))
	case n < 40:
		text, err := k.call(ctx, "run_code", map[string]any{"language": "typescript", "code": fmt.Sprintf("const n: number = %d; n * 2", k.name)})
		return want(text, err, fmt.Sprint(k.name*2))
	case n < 65:
		return k.count(ctx, k.random.IntN(soakSessions))
	case n < 68:
		session := fmt.Sprintf("c%d-%d", k.name, k.random.IntN(soakSessions))
		_, err := k.call(ctx, "sessions", map[string]any{"action": "close", "session": session})
		delete(k.counters, session)
		return err
	case n < 80: // vanishes in the middle of a call: its connection ends
		short, cancel := context.WithTimeout(ctx, time.Duration(k.random.IntN(300))*time.Millisecond)
		defer cancel()
		_, _ = k.python(short, "", "while True: pass")
		return nil
	case n < 85: // cancels
		done := make(chan error, 1)
		id := k.id + 1
		go func() {
			_, err := k.python(ctx, "", "import time\ntime.sleep(20)")
			done <- err
		}()
		time.Sleep(time.Duration(k.random.IntN(100)) * time.Millisecond)
		other := k.httpClient
		if _, err := other.post(ctx, map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": id}}); err != nil {
			return err
		}
		return <-done
	case n < 90:
		text, err := k.output(ctx)
		return want(text, err, "out.bin")
	case n < 95:
		text, err := k.python(ctx, "", "x = 'z' * (1 << 24)\n1 // 0")
		return want(text, err, "ZeroDivisionError")
	case n < 98:
		text, err := k.call(ctx, "sessions", map[string]any{"action": "list"})
		return want(text, err, "")
	}
	return k.hello(ctx) // the old session is forgotten
}

// fill makes the server keep as much as it keeps: what the last 30 runs of a client left, and
// the histories of sessions.
func (k *soaker) fill(ctx context.Context) error {
	err := k.hello(ctx)
	for range 8 {
		if err == nil {
			_, err = k.output(ctx)
		}
	}
	for session := range soakSessions {
		for range 6 {
			if err == nil {
				err = k.count(ctx, session)
			}
		}
	}
	return err
}

// output leaves a file and long output.
func (k *soaker) output(ctx context.Context) (string, error) {
	return k.python(ctx, "", "open('out.bin', 'wb').write(bytes(range(256)) * 400)\nprint('y' * 100_000)")
}

// soakSessions is how many sessions each client has: most are asleep.
const soakSessions = 6

// count counts in a session.
func (k *soaker) count(ctx context.Context, n int) error {
	session := fmt.Sprintf("c%d-%d", k.name, n)
	text, err := k.python(ctx, session, "n = globals().get('n', 0) + 1\nopen('log', 'a').write('x')\nf'n is {n}'")
	if err != nil {
		return err
	}
	k.counters[session]++
	if want := fmt.Sprintf("n is %d'", k.counters[session]); !strings.Contains(text, want) {
		return fmt.Errorf("%s: %q instead of %q", session, text, want)
	}
	return nil
}

// TestSoak has 16 clients call for CODERUNNER_SOAK (such as 30m), and looks whether
// what the server uses stays flat.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("CODERUNNER_SOAK"))
	if err != nil {
		t.Skip("set CODERUNNER_SOAK to a time")
	}
	sessions, temp := t.TempDir(), t.TempDir()
	tokens := []string{"one-0123456789abcdef", "two-0123456789abcdef", "three-0123456789abc", "four-0123456789abcd"}
	s := startHTTP(t, []string{"CODE_RUNNER_SESSION_DIR=" + sessions, "TMPDIR=" + temp, "CODE_RUNNER_SESSION_HISTORY=5",
		"CODE_RUNNER_HTTP_TOKEN=a=" + tokens[0] + ",b=" + tokens[1] + ",c=" + tokens[2] + ",d=" + tokens[3]})
	var wg sync.WaitGroup
	clients := make([]*soaker, 16)
	for i := range clients {
		clients[i] = &soaker{httpClient: httpClient{url: s.url, token: tokens[i%4]}, name: i, random: rand.New(rand.NewPCG(1, uint64(i))), counters: map[string]int{}}
		wg.Go(func() {
			if err := clients[i].fill(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var calls, wrong atomic.Int64
	for _, k := range clients {
		wg.Go(func() {
			err := k.hello(ctx)
			for ctx.Err() == nil {
				if err != nil && ctx.Err() == nil && wrong.Add(1) < 20 {
					t.Errorf("client %d: %v", k.name, err)
				}
				err = k.step(ctx)
				calls.Add(1)
			}
		})
	}
	var table []vitals
	begun := time.Now()
	every := time.NewTicker(length / 20)
	defer every.Stop()
	for ctx.Err() == nil {
		select {
		case <-every.C:
			v := look(t, s, tokens[0], sessions, temp)
			v.at, v.calls = time.Since(begun), calls.Load()
			table = append(table, v)
			t.Log(v)
		case <-ctx.Done():
		}
	}
	wg.Wait()
	rest := look(t, s, tokens[0], sessions, temp)
	for deadline := time.Now().Add(30 * time.Second); rest.goroutines > table[0].goroutines && time.Now().Before(deadline); {
		time.Sleep(time.Second) // connections that clients left become idle
		rest = look(t, s, tokens[0], sessions, temp)
	}
	rest.at, rest.calls = time.Since(begun), calls.Load()
	t.Logf("at rest: %v", rest)
	if wrong.Load() > 0 {
		t.Errorf("%d calls went wrong", wrong.Load())
	}
	mean := func(part []vitals, of func(vitals) int) int {
		sum := 0
		for _, v := range part {
			sum += of(v)
		}
		return sum / max(len(part), 1)
	}
	third := len(table) / 3
	for name, of := range map[string]func(vitals) int{
		"memory": func(v vitals) int { return v.memory }, "heap": func(v vitals) int { return v.heap }, "descriptors": func(v vitals) int { return v.descriptors },
		"goroutines": func(v vitals) int { return v.goroutines }, "threads": func(v vitals) int { return v.threads },
		"processes": func(v vitals) int { return v.processes }, "disk": func(v vitals) int { return v.kilobytes },
	} {
		early, late := mean(table[third:2*third], of), mean(table[2*third:], of)
		t.Logf("%s: %d in the second third, %d in the last, %d at rest", name, early, late, of(rest))
		if late > early+early/5+8 {
			t.Errorf("%s grows: %d, then %d", name, early, late)
		}
	}
}
