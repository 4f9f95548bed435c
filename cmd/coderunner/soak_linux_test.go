package main

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/renameio/v2"
)

// vitals are what must stay flat.
type vitals struct {
	at                                 time.Duration
	calls                              int64
	memory, heap, beside               int // KiB: of the server and its processes; of Go's objects; of the server beside Go's heap
	descriptors, goroutines, threads   int
	processes, programs, files, onDisk int // onDisk in KiB
}

func (v vitals) String() string {
	return fmt.Sprintf("%7.0f s | %7d | %6.1f | %6.1f | %6.1f | %4d | %4d | %3d | %3d | %5d | %6.1f",
		v.at.Seconds(), v.calls, float64(v.memory)/1024, float64(v.heap)/1024, float64(v.beside)/1024, v.goroutines, v.descriptors, v.threads, v.processes, v.files, float64(v.onDisk)/1024)
}

const vitalsHead = "     when |   calls | memory MiB | Go objects MiB | beside the heap MiB | goroutines | descriptors | threads | processes | files | disk MiB"

// look reads the vitals of a server, and of what it has in some directories.
func look(t *testing.T, s *httpServer, token string, dirs ...string) (v vitals) {
	t.Helper()
	server := s.cmd.Process.Pid
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/fd/0", server)); err != nil {
		t.Fatalf("%v: %s", err, s.log)
	}
	for pids := []string{strconv.Itoa(server)}; len(pids) > 0; pids = pids[1:] { // some end meanwhile
		rollup, _ := os.ReadFile("/proc/" + pids[0] + "/smaps_rollup")
		for _, line := range regexp.MustCompile(`(?m)^(?:Pss_Anon|Pss_Shmem):\s*(\d+) kB$`).FindAllSubmatch(rollup, -1) {
			kib, _ := strconv.Atoi(string(line[1]))
			v.memory += kib
		}
		tasks, _ := filepath.Glob("/proc/" + pids[0] + "/task/*/children")
		for _, task := range tasks {
			children, _ := os.ReadFile(task)
			pids = append(pids, strings.Fields(string(children))...)
		}
		if v.processes++; v.processes == 1 {
			v.threads, v.beside = len(tasks), v.memory
		}
	}
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", server))
	v.descriptors = len(fds)
	metrics := running(t, s.url, token)
	metric := func(name string) int {
		found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(metrics)
		if found == nil {
			t.Fatalf("no metric %s", name)
		}
		n, _ := strconv.ParseFloat(found[1], 64)
		return int(n)
	}
	v.goroutines, v.heap = metric("go_goroutines"), metric("go_memstats_heap_alloc_bytes")>>10
	v.beside -= (metric("go_memstats_heap_sys_bytes") - metric("go_memstats_heap_released_bytes")) >> 10
	v.programs = metric("coderunner_running") + metric("coderunner_waiting")
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
					v.onDisk += int(info.Size() >> 10)
				}
			}
			return nil
		})
	}
	return v
}

// heapProfile is the variable that has a server of the soak collect its garbage at SIGUSR2
// and then write what is left into the file that it names.
const heapProfile = "CODERUNNER_TEST_HEAP"

func init() {
	file := os.Getenv(heapProfile)
	if file == "" {
		return
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR2)
	go func() {
		for range asked {
			debug.FreeOSMemory()
			var profile strings.Builder
			_ = pprof.Lookup("heap").WriteTo(&profile, 0) // a Builder takes all
			if err := renameio.WriteFile(file, []byte(profile.String()), 0o600); err != nil {
				panic(err)
			}
		}
	}()
}

// atRest waits until a server does nothing, has it collect its garbage, and looks.
// The profile of its heap is kept under a name.
func atRest(t *testing.T, s *httpServer, token, profile, name string, dirs ...string) (v vitals) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	quiet := func(before vitals) bool {
		v = look(t, s, token, dirs...)
		return v.programs == 0 && v.goroutines == before.goroutines && v.processes == before.processes && v.descriptors == before.descriptors
	}
	for deadline := time.Now().Add(30 * time.Second); !quiet(v) && time.Now().Before(deadline); {
		time.Sleep(time.Second) // processes and connections that were left go, one by one
	}
	_ = s.cmd.Process.Signal(syscall.SIGUSR2) // look finds out if it is gone
	for !exists(profile) {
		v = look(t, s, token, dirs...)
		time.Sleep(100 * time.Millisecond)
	}
	if keep := os.Getenv("CODERUNNER_SOAK_PROFILES"); keep != "" {
		if text, err := os.ReadFile(profile); err != nil || os.WriteFile(filepath.Join(keep, name), text, 0o600) != nil {
			t.Errorf("keep the profile %s", name)
		}
	}
	if err := os.Remove(profile); err != nil {
		t.Fatal(err)
	}
	return look(t, s, token, dirs...)
}

// TestSoak has 16 clients call for CODERUNNER_SOAK (such as 30m), and looks whether
// what the server uses stays flat.
//
// In the first third all that has a bound fills up to it. After each third the clients
// rest and the server collects its garbage: what it then has is no matter of chance, and
// after the last third it must be what it was after the second. While the clients call,
// the mean of the last third must not be far above that of the second. Profiles of the heap
// at rest are kept in the directory CODERUNNER_SOAK_PROFILES, for go tool pprof -diff_base.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("CODERUNNER_SOAK"))
	if err != nil {
		t.Skip("set CODERUNNER_SOAK to a time")
	}
	sessions, temp, profile := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "heap")
	tokens := []string{"one-0123456789abcdef", "two-0123456789abcdef", "three-0123456789abc", "four-0123456789abcd"}
	// A busy machine may take minutes for what takes milliseconds.
	s := startHTTP(t, []string{"CODE_RUNNER_SESSION_DIR=" + sessions, "TMPDIR=" + temp, "CODE_RUNNER_SESSION_HISTORY=5",
		"CODE_RUNNER_TIMEOUT=10m", heapProfile + "=" + profile,
		"CODE_RUNNER_HTTP_TOKEN=a=" + tokens[0] + ",b=" + tokens[1] + ",c=" + tokens[2] + ",d=" + tokens[3]})
	clients := make([]*soaker, 16)
	for i := range clients {
		clients[i] = &soaker{httpClient: httpClient{url: s.url, token: tokens[i%4]}, name: i, random: rand.New(rand.NewPCG(1, uint64(i))), counters: map[string]int{}}
	}
	var wg sync.WaitGroup
	for _, k := range clients {
		wg.Go(func() {
			if err := k.fill(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	t.Log(vitalsHead)
	var calls, wrong atomic.Int64
	var busy, rests [3]vitals // means, and what is left
	for third, begun := 0, time.Now(); third < 3; third++ {
		ctx, cancel := context.WithTimeout(t.Context(), length/3)
		defer cancel()
		for _, k := range clients {
			wg.Go(func() {
				for ctx.Err() == nil {
					calls.Add(1)
					// A call that was begun is let end: the client must know what its sessions are.
					if err := k.step(t.Context()); err != nil && wrong.Add(1) < 20 {
						t.Errorf("client %d: %v", k.name, err)
					}
				}
			})
		}
		const looks = 10
		every := time.NewTicker(length / 3 / (looks + 1))
		for range looks {
			<-every.C
			v := look(t, s, tokens[0], sessions, temp)
			v.at, v.calls = time.Since(begun), calls.Load()
			t.Log(v)
			for i, n := range v.judged() {
				*busy[third].judged()[i].value += *n.value / looks
			}
		}
		every.Stop()
		wg.Wait()
		rests[third] = atRest(t, s, tokens[0], profile, fmt.Sprintf("rest%d", third+1), sessions, temp)
		rests[third].at, rests[third].calls = time.Since(begun), calls.Load()
		t.Logf("%v at rest", rests[third])
	}
	if wrong.Load() > 0 {
		t.Errorf("%d calls went wrong", wrong.Load())
	}
	for i, early := range busy[1].judged() {
		if late := *busy[2].judged()[i].value; late > *early.value+*early.value/5+4*early.slack {
			t.Errorf("%s under load grows: %d, then %d", early.name, *early.value, late)
		}
	}
	for i, early := range rests[1].judged() {
		if late := *rests[2].judged()[i].value; late > *early.value+early.slack {
			t.Errorf("%s at rest grows: %d, then %d", early.name, *early.value, late)
		}
	}
}

// vital is one of the vitals, with how much more of it than before is no leak.
type vital struct {
	name  string
	value *int
	slack int
}

func (v *vitals) judged() []vital {
	return []vital{
		{"memory (KiB)", &v.memory, 16 << 10}, {"Go's objects (KiB)", &v.heap, 4 << 10}, {"memory beside Go's heap (KiB)", &v.beside, 4 << 10},
		{"goroutines", &v.goroutines, 4},
		{"descriptors", &v.descriptors, 8}, {"threads", &v.threads, 8}, {"processes", &v.processes, 2}, {"disk (KiB)", &v.onDisk, v.onDisk / 8},
	}
}
