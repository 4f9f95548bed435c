//go:build linux

package main

import (
	"context"
	"fmt"
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

	"coderunner/internal/sample"
	"coderunner/internal/testcache"
)

// holdings are what a server holds.
type holdings struct{ workers, files, directories, memory int }

func (s *httpServer) holdings(t *testing.T) (h holdings) {
	t.Helper()
	h.workers = len(s.workers())
	proc := fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid)
	files, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	h.files = len(files)
	dirs, _ := filepath.Glob(filepath.Join(testcache.Dir(), "processes", strconv.Itoa(s.cmd.Process.Pid)+"-*", "worker-*"))
	h.directories = len(dirs)
	status, _ := os.ReadFile(proc + "status")
	if m := regexp.MustCompile(`RssAnon:\s+(\d+)`).FindSubmatch(status); m != nil {
		h.memory, _ = strconv.Atoi(string(m[1]))
	}
	return h
}

// workers returns the server's workers.
func (s *httpServer) workers() (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.cmd.Process.Pid))
	for _, name := range lists {
		list, _ := os.ReadFile(name) // a thread may have ended
		for _, field := range strings.Fields(string(list)) {
			line, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if pid, err := strconv.Atoi(field); err == nil && strings.HasSuffix(string(line), "\x00worker\x00") {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

var told = regexp.MustCompile(`n is (\d+) of (\d+)`)

// counting is a client that counts in a session, by a variable and by a file.
type counting struct {
	c        *httpClient
	session  string
	n        int // what it was told last
	answered int
	last     []string
	ended    atomic.Int64 // calls whose worker was killed
}

func (c *counting) step(ctx context.Context) error {
	const next = "n = globals().get('n', 0) + 1\nopen('log', 'a').write('x')\nprint(f'n is {n} of {len(open(\"log\").read())}')"
	text, err := c.c.python(ctx, c.session, next)
	if err != nil {
		return err
	}
	c.answered++
	c.last = append(c.last, text)
	if m := told.FindStringSubmatch(text); m != nil && !strings.Contains(text, "ended") {
		if want := strconv.Itoa(c.n + 1); m[1] != want || m[2] != want {
			return fmt.Errorf("after %d: %s\n%s", c.n, text, strings.Join(c.last[max(0, len(c.last)-4):], "\n--\n"))
		}
		c.n++
	} else if c.ended.Add(1); !strings.Contains(text, "ended") {
		return fmt.Errorf("neither counted nor ended: %s", text)
	}
	text, err = c.c.call(ctx, "run_code", map[string]any{"language": "bash", "code": "echo $((6 * 7))"})
	if err != nil {
		return err
	}
	c.answered++
	if text = strings.TrimSpace(text); !strings.HasSuffix(text, "42") && !strings.Contains(text, "ended") {
		return fmt.Errorf("bash: %s", text)
	}
	return nil
}

// TestWorkersKilled kills workers at random while 16 clients call the server over HTTP: every
// call has an answer, no session loses a state that its client was told of, and nothing is left.
func TestWorkersKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	kills := int64(20)
	if sample.All {
		kills = 6000 // ten minutes
	}
	const clients = 16
	var tokens []string
	for i := range clients {
		tokens = append(tokens, fmt.Sprintf("c%d=token-%d-of-32-random-characters!", i, i))
	}
	s := startHTTP(t, []string{"CODE_RUNNER_OFFLINE=1", "CODE_RUNNER_HTTP_TOKEN=" + strings.Join(tokens, ","), "CODE_RUNNER_SESSION_DIR=" + t.TempDir()})
	all := make([]*counting, clients)
	each := func(f func(c *counting) error) {
		var wg sync.WaitGroup
		for i, c := range all {
			wg.Go(func() {
				if err := f(c); err != nil {
					t.Errorf("client %d: %v", i, err)
				}
			})
		}
		wg.Wait()
	}
	for i := range all {
		_, token, _ := strings.Cut(tokens[i], "=")
		all[i] = &counting{c: &httpClient{url: s.url, token: token}, session: "counts"}
	}
	once := func(c *counting) error { return c.step(t.Context()) }
	each(func(c *counting) error { return c.c.hello(t.Context()) })
	each(once)
	each(once)
	before := s.holdings(t)

	ended := func() (n int64) {
		for _, c := range all {
			n += c.ended.Load()
		}
		return n
	}
	killed := int64(0)
	ctx, stop := context.WithCancel(t.Context())
	var killer sync.WaitGroup
	killer.Go(func() {
		defer stop()
		for (killed < kills || ended() == 0) && !t.Failed() {
			if pids := s.workers(); len(pids) > 0 && syscall.Kill(pids[rand.IntN(len(pids))], syscall.SIGKILL) == nil {
				killed++
			}
			time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		}
	})
	each(func(c *counting) error {
		for ctx.Err() == nil {
			if err := c.step(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	killer.Wait()
	each(once)
	each(once)
	answered, counted := 0, 0
	for _, c := range all {
		answered, counted = answered+c.answered, counted+c.n
	}
	t.Logf("%d answers, %d workers killed, %d calls of sessions ended with them, sessions counted to %d in all", answered, killed, ended(), counted)
	after := s.holdings(t)
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until) && (after.directories != after.workers || after.files > before.files+clients); after = s.holdings(t) {
		time.Sleep(100 * time.Millisecond) // what was killed last is taken apart: no event
	}
	t.Logf("before %+v, after %+v", before, after)
	if after.directories != after.workers || after.workers > before.workers+1 || after.files > before.files+clients || after.memory > before.memory+64<<10 {
		t.Errorf("it holds %+v after them, %+v before", after, before)
	}
}
